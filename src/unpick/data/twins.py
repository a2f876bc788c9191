"""Twins of a data set: the same observations and factors, with a small change of every pixel.

A noisy twin adds uniform noise. A perturbed twin adds a change that was optimised to mislead
methods that rely on the local structure of the data (Zietlow 2022, chapter 4; made by
`unpick.perturb`). The change of an observation is fixed, and no pixel moves by more than epsilon.
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

from unpick.data.cache import atomic_write, data_folder, note_use
from unpick.data.catalogue import DATASETS, Original
from unpick.data.dataset import DataDamaged, DataMissing, Dataset, Store
from unpick.data.files import FileConfig, expect, report_damage
from unpick.data.own import OwnData
from unpick.names import pick

BANK = 2**22  # random numbers that the noise of all images is taken from
DOCUMENT, CHANGE = "twin.json", "change.safetensors"


def reflect(x: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Reflect values in [-1, 2] at 0 and 1 into [0, 1].

    x - 2 relu(x - 1) + 2 relu(-x) (Zietlow 2022, section 4.3.1). A pixel in [0, 1] moves by at
    most the change that is added to it.

    Example:
        >>> reflect(torch.tensor([-0.25, 0.5, 1.25])).tolist()
        [0.25, 0.5, 0.75]
    """
    return torch.minimum(x.abs(), 2 - x)


@dataclass(frozen=True, eq=False)
class ChangedStore:
    """Observations of another store, each plus one of `rows`, reflected into [0, 1]."""

    original: Store
    rows: Float[Tensor, "l p"]  # may be overlapping windows of one long tensor
    row: Int[Tensor, "n"]  # index into `rows` for each observation

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

    The noise of an image is a window, at a random offset, of one long vector of random numbers.
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
        """Draw the noise. It is added when images are read."""
        dataset = load_pixels(self.original)
        generator = torch.Generator().manual_seed(self.seed)
        size = torch.Size(dataset.shape).numel()
        bank = torch.rand(BANK + size, generator=generator).mul_(2).sub_(1).mul_(self.epsilon)
        starts = torch.randint(BANK, (len(dataset),), generator=generator)
        return apply_change(dataset, self.name, bank.unfold(0, size, 1), starts)


@dataclass(frozen=True)
class Perturbed:
    """A perturbed twin in a folder, made by `unpick perturb` (Zietlow 2022, section 4.2.4).

    The changes form a one-parameter family. The folder stores the family at a number of levels
    (`table`) and the level of every observation. This defines the twin exactly.
    """

    file: ClassVar[str] = DOCUMENT
    original: Original
    recipe: str  # `PerturbConfig.identity()` of the configuration that made it
    path: str = ""  # the folder; '' is its default place in `data_folder()`

    @property
    def name(self) -> str:
        """As in the names of runs."""
        return f"{self.original.name}-perturbed"

    @property
    def folder(self) -> Path:
        """The folder of the twin."""
        if self.path:
            return Path(self.path).expanduser()
        return data_folder() / "twins" / f"{self.original.name}-{self.recipe}"

    def load(self) -> Dataset:
        """Read the change; raises `DataDamaged` unless it is complete and within epsilon."""
        document, file = read_document(self.folder), self.folder / CHANGE
        check_original(self.folder, document, self.original)
        if document["identity"] != self.recipe:
            raise DataDamaged(
                f"{self.folder} holds a twin made in another way: {document['identity']}, "
                f"not {self.recipe}"
            )
        if not file.is_file():
            raise DataDamaged(f"{self.folder} holds no {CHANGE}; make the twin again")
        with report_damage(file):
            check_file_size(file, 2**33)
            content = file.read_bytes()
            expect(file, "its sha256", hashlib.sha256(content).hexdigest(), document["sha256"])
            tensors = safetensors.torch.load(content)
            table, level = tensors["table"], tensors["level"].long()
        note_use(f"{self.folder.name}/{CHANGE}", document["sha256"])
        dataset, epsilon = load_pixels(self.original), torch.tensor(document["epsilon"])
        expect(file, "the shape of a change", tuple(table.shape[1:]), dataset.shape)
        expect(file, "the shape of the levels", tuple(level.shape), (len(dataset),))
        if not (table.isfinite().all() and table.abs().max() <= epsilon):
            raise DataDamaged(f"{file}: the change is not within {document['epsilon']}")
        if not 0 <= level.min() <= level.max() < len(table):
            raise DataDamaged(f"{file}: a level lies outside 0..{len(table) - 1}")
        return apply_change(dataset, self.name, table.flatten(1), level)


def select_twin(
    original: Original | OwnData, perturbed: str | Path = "", noisy: float = 0.0
) -> Original | Noisy | Perturbed | OwnData:
    """Config of the original, of its perturbed twin, or of its noisy twin.

    Args:
        original: The data set.
        perturbed: Folder of a perturbed twin; '' for none.
        noisy: Epsilon of a noisy twin; 0 for none.
    """
    if perturbed and noisy:
        raise ValueError(f"perturbed and noisy exclude each other, got {perturbed} and {noisy}")
    if not perturbed and not noisy:
        return original
    if isinstance(original, OwnData):
        raise ValueError(f"twins are of data sets by name, and {original.path} is your own")
    if noisy:
        return Noisy(original, noisy)
    folder = Path(perturbed).expanduser()
    document = read_document(folder)
    check_original(folder, document, original)
    usual = Perturbed(original, document["identity"])
    if folder.resolve() == usual.folder.resolve():
        return usual
    return replace(usual, path=str(folder.resolve()))


def read_twin(folder: Path, path: str = "") -> Perturbed:
    """Config of the perturbed twin in a folder; the folder says which data set it is a twin of.

    Args:
        folder: A folder made by `unpick perturb`.
        path: Files of the original, if they are not in their default place.
    """
    with report_damage(folder / DOCUMENT):
        options = dict(read_document(folder)["original"])
        original = pick(DATASETS, options.pop("name"), "data set")(**options)
    if path and not isinstance(original, FileConfig):
        raise ValueError(f"path is of data in files, and {original.name} is rendered; got {path}")
    found = select_twin(replace(original, path=path) if path else original, folder)
    assert isinstance(found, Perturbed)
    return found


def save_twin(
    config: Perturbed,
    epsilon: float,
    table: Float[Tensor, "l ..."],
    level: Int[Tensor, "n"],
    **more: Any,  # noqa: ANN401
) -> None:
    """Write a perturbed twin. twin.json is written last and marks the folder as complete.

    Args:
        config: The original, the recipe and the folder.
        epsilon: The largest change allowed.
        table: The change at every level.
        level: The level of every observation.
        more: Further fields of twin.json.
    """
    content = safetensors.torch.save({"table": table.contiguous(), "level": level.int()})
    document = {
        "original": describe(config.original),
        "identity": config.recipe,
        "epsilon": epsilon,
        "sha256": hashlib.sha256(content).hexdigest(),
        **more,
    }
    document["digest"] = document_digest(document)
    with atomic_write(config.folder / CHANGE) as file:
        file.write(content)
    with atomic_write(config.folder / DOCUMENT) as file:
        file.write(json.dumps(document, indent=1, allow_nan=False).encode())


def read_document(folder: Path) -> dict[str, Any]:
    """The content of twin.json in a twin's folder."""
    file = folder / DOCUMENT
    if not file.is_file():
        raise DataMissing(f"{folder} holds no {DOCUMENT}; make a twin with `unpick perturb`")
    check_file_size(file, 2**26)
    with report_damage(file):
        document = dict(json.loads(file.read_text()))
        missing = {"original", "identity", "epsilon", "sha256"} - {*document}
    expect(file, "the list of missing fields", sorted(missing), [])
    epsilon = document["epsilon"]
    if isinstance(epsilon, bool) or not isinstance(epsilon, float | int):
        raise DataDamaged(f"{file}: epsilon is no number but {epsilon!r}")
    with report_damage(file):
        check_epsilon(epsilon)
    return document


def check_original(folder: Path, document: dict[str, Any], original: Original) -> None:
    """Raise unless the folder holds a twin of this data set, as it was written."""
    if "digest" in document and document["digest"] != document_digest(document):
        raise DataDamaged(f"{folder / DOCUMENT} does not match its digest")
    if document["original"] != (wanted := describe(original)):
        got = document["original"]
        raise DataDamaged(f"{folder} is a twin of another data set: of {got}, not of {wanted}")


def document_digest(document: dict[str, Any]) -> str:
    """A sha256 over twin.json; those of earlier versions have none."""
    content = {name: value for name, value in document.items() if name != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def describe(original: Original) -> dict[str, Any]:
    """Name and options of a data set as JSON values, without the path of its files.

    Example:
        >>> from unpick.data.sprites import Sprites
        >>> describe(Sprites(32))
        {'name': 'sprites', 'size': 32, 'rows': 32}
    """
    options = {name: value for name, value in asdict(original).items() if name != "path"}
    return json.loads(json.dumps({"name": original.name, **options}))


def load_pixels(original: Original) -> Dataset:
    """Load a data set; raises unless its values lie in [0, 1]."""
    dataset = original.load()
    some = dataset.observe(torch.arange(0, len(dataset), max(1, len(dataset) // 256)))
    if not 0 <= some.min() <= some.max() <= 1:
        raise ValueError(f"twins are of data in [0, 1], and {original.name} leaves it")
    return dataset


def apply_change(
    dataset: Dataset, name: str, rows: Float[Tensor, "l p"], row: Int[Tensor, "n"]
) -> Dataset:
    """The data set with a change added to each observation."""
    return Dataset(name, ChangedStore(dataset.store, rows, row), dataset.factors, dataset.values)


def check_file_size(file: Path, most: int) -> None:
    """Raise if this is no regular file, or larger than any of its kind is."""
    if not file.is_file():
        raise DataDamaged(f"{file} is missing or no regular file")
    if (size := file.stat().st_size) > most:
        raise DataDamaged(f"{file} has {size} bytes, more than {most}")


def check_epsilon(epsilon: float) -> None:
    """Raise unless epsilon lies in (0, 1]."""
    if not 0 < epsilon <= 1:
        raise ValueError(f"epsilon must lie in (0, 1], got {epsilon}")
