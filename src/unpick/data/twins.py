"""Twins of a data set: the same observations and factors, every pixel off by a little.

A noisy twin has uniform noise; a perturbed one has a change that was optimised against methods
that lean on the local structure of the data (Zietlow 2022, chapter 4; made by `unpick.perturb`).
The change an observation gets is fixed, and no pixel moves by more than epsilon.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import safetensors.torch
import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.cache import data_folder, written_whole
from unpick.data.catalogue import DATASETS, Original
from unpick.data.dataset import DataDamaged, DataMissing, Dataset, Store
from unpick.data.files import FileConfig, expect, reading
from unpick.names import pick

BANK = 2**22  # numbers from which the noise of all images is taken
DOCUMENT, CHANGE = "twin.json", "change.safetensors"


def reflect(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Values in [-1, 2] reflected into [0, 1]: what left over a border comes back by as much.

    x - 2 relu(x - 1) + 2 relu(-x) of Zietlow (2022), section 4.3.1. An observation in [0, 1] plus
    a change moves by no more than the change.

    Example:
        >>> reflect(torch.tensor([-0.25, 0.5, 1.25])).tolist()
        [0.25, 0.5, 0.75]
    """
    return torch.minimum(x.abs(), 2 - x)


@dataclass(frozen=True, eq=False)
class Changed:
    """Observations of another store, each plus a row of `rows`, reflected into [0, 1]."""

    original: Store
    rows: Float[Tensor, "l p"]  # may be overlapping windows of one long tensor
    row: Int[Tensor, "n"]  # which of them each observation gets

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one observation."""
        return self.original.shape

    def __len__(self) -> int:
        return len(self.original)

    def read(self, indices: Int[Tensor, "n"]) -> Float[Tensor, "n ..."]:
        """Observations as float32 in [0, 1]."""
        x = self.original.read(indices)
        change = self.rows.index_select(0, self.row.index_select(0, indices)).view_as(x)
        return reflect(change.add_(x))


@dataclass(frozen=True)
class Noisy:
    """Uniform noise in [-epsilon, epsilon] on every pixel (Zietlow 2022, section 4.3.3).

    The noise of an image is a window at a random place of one long row of random numbers.
    """

    original: Original
    epsilon: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)

    @property
    def name(self) -> str:
        """As in the names of runs."""
        return f"{self.original.name}-noisy"

    def load(self) -> Dataset:
        """Draw the noise; the images are changed when they are read."""
        dataset = pixels(self.original)
        generator = torch.Generator().manual_seed(self.seed)
        size = torch.Size(dataset.shape).numel()
        bank = torch.rand(BANK + size, generator=generator).mul_(2).sub_(1).mul_(self.epsilon)
        starts = torch.randint(BANK, (len(dataset),), generator=generator)
        return changed(dataset, self.name, bank.unfold(0, size, 1), starts)


@dataclass(frozen=True)
class Perturbed:
    """A twin in a folder, made by `unpick perturb` (Zietlow 2022, section 4.2.4).

    The change is one of a one-parameter family, so the folder is small: the family at a number of
    levels (`table`) and the level of every observation. That is the twin, not an approximation.
    """

    file: ClassVar[str] = DOCUMENT
    original: Original
    recipe: str  # what names the way it was made: `PerturbConfig.identity()`
    path: str = ""  # the folder; '' is its own in the folder of rendered data

    @property
    def name(self) -> str:
        """As in the names of runs."""
        return f"{self.original.name}-perturbed"

    @property
    def folder(self) -> Path:
        """Where it lies."""
        if self.path:
            return Path(self.path).expanduser()
        return data_folder() / "twins" / f"{self.original.name}-{self.recipe}"

    def load(self) -> Dataset:
        """Read the change and check that it is whole, and within epsilon; DataDamaged if not."""
        document, file = read_document(self.folder), self.folder / CHANGE
        check_original(self.folder, document, self.original)
        if document["identity"] != self.recipe:
            raise DataDamaged(
                f"{self.folder} holds a twin made in another way: {document['identity']}, "
                f"not {self.recipe}"
            )
        with reading(file):
            content = file.read_bytes()
            expect(file, "its sha256", hashlib.sha256(content).hexdigest(), document["sha256"])
            tensors = safetensors.torch.load(content)
            table, level = tensors["table"], tensors["level"].long()
        dataset, epsilon = pixels(self.original), torch.tensor(document["epsilon"])
        expect(file, "the shape of a change", tuple(table.shape[1:]), dataset.shape)
        expect(file, "the shape of the levels", tuple(level.shape), (len(dataset),))
        if not (table.isfinite().all() and table.abs().max() <= epsilon):
            raise DataDamaged(f"{file}: the change is not within {document['epsilon']}")
        if not 0 <= level.min() <= level.max() < len(table):
            raise DataDamaged(f"{file}: a level lies outside 0..{len(table) - 1}")
        return changed(dataset, self.name, table.flatten(1), level)


def twin(
    original: Original, perturbed: str | Path = "", noisy: float = 0.0
) -> Original | Noisy | Perturbed:
    """The data set itself, or its twin: the one in the folder `perturbed`, or one with noise."""
    if perturbed and noisy:
        raise ValueError(f"perturbed and noisy exclude each other, got {perturbed} and {noisy}")
    if noisy:
        return Noisy(original, noisy)
    if not perturbed:
        return original
    folder = Path(perturbed).expanduser()
    document = read_document(folder)
    check_original(folder, document, original)
    usual = Perturbed(original, document["identity"])
    if folder.resolve() == usual.folder.resolve():
        return usual
    return replace(usual, path=str(folder.resolve()))


def twin_in(folder: Path, path: str = "") -> Perturbed:
    """The perturbed twin in a folder, whatever it is a twin of.

    Args:
        folder: As `unpick perturb` makes it.
        path: Where the files of the original are, if they have a place of their own.
    """
    with reading(folder / DOCUMENT):
        options = dict(read_document(folder)["original"])
        original = pick(DATASETS, options.pop("name"), "data set")(**options)
    if path and not isinstance(original, FileConfig):
        raise ValueError(f"path is of data in files, and {original.name} is rendered; got {path}")
    found = twin(replace(original, path=path) if path else original, folder)
    assert isinstance(found, Perturbed)
    return found


def save_twin(
    config: Perturbed,
    epsilon: float,
    table: Float[Tensor, "l ..."],
    level: Int[Tensor, "n"],
    **more: Any,  # noqa: ANN401
) -> None:
    """Write a twin; twin.json comes last and marks that it is whole.

    Args:
        config: What it is a twin of, its recipe and its folder.
        epsilon: The largest change allowed.
        table: The change at every level.
        level: Of every observation.
        more: What else twin.json shall tell.
    """
    content = safetensors.torch.save({"table": table.contiguous(), "level": level.int()})
    document = {
        "original": describe(config.original),
        "identity": config.recipe,
        "epsilon": epsilon,
        "sha256": hashlib.sha256(content).hexdigest(),
        **more,
    }
    with written_whole(config.folder / CHANGE) as file:
        file.write(content)
    with written_whole(config.folder / DOCUMENT) as file:
        file.write(json.dumps(document, indent=1, allow_nan=False).encode())


def read_document(folder: Path) -> dict[str, Any]:
    """What a twin's folder says of itself."""
    file = folder / DOCUMENT
    if not file.is_file():
        raise DataMissing(f"{folder} holds no {DOCUMENT}; make a twin with `unpick perturb`")
    with reading(file):
        document = json.loads(file.read_text())
        missing = {"original", "identity", "epsilon", "sha256"} - {*document}
    expect(file, "the list of missing fields", sorted(missing), [])
    if not isinstance(document["epsilon"], float | int):
        raise DataDamaged(f"{file}: epsilon is no number but {document['epsilon']!r}")
    return document


def check_original(folder: Path, document: dict[str, Any], original: Original) -> None:
    """Raise unless the twin in this folder is one of that data set."""
    if document["original"] != (wanted := describe(original)):
        got = document["original"]
        raise DataDamaged(f"{folder} is a twin of another data set: of {got}, not of {wanted}")


def describe(original: Original) -> dict[str, Any]:
    """Its name and options as plain JSON values, without the place of its files.

    Example:
        >>> from unpick.data.sprites import Sprites
        >>> describe(Sprites(32))
        {'name': 'sprites', 'size': 32, 'rows': 32}
    """
    options = {name: value for name, value in asdict(original).items() if name != "path"}
    return json.loads(json.dumps({"name": original.name, **options}))


def pixels(original: Original) -> Dataset:
    """The data set, if its values lie in [0, 1]."""
    dataset = original.load()
    some = dataset.observe(torch.arange(0, len(dataset), max(1, len(dataset) // 256)))
    if not 0 <= some.min() <= some.max() <= 1:
        raise ValueError(f"twins are of data in [0, 1], and {original.name} leaves it")
    return dataset


def changed(
    dataset: Dataset, name: str, rows: Float[Tensor, "l p"], row: Int[Tensor, "n"]
) -> Dataset:
    """The same data set with the change of each observation."""
    return Dataset(name, Changed(dataset.store, rows, row), dataset.factors, dataset.values)


def check_epsilon(epsilon: float) -> None:
    """Raise unless it makes sense."""
    if not 0 < epsilon <= 1:
        raise ValueError(f"epsilon must lie in (0, 1], got {epsilon}")
