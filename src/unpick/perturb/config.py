"""The whole recipe of a perturbed twin: equal configs give the same twin, up to rounding."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal

from unpick.data import DATASETS, Noisy, Original, OwnData, Perturbed
from unpick.data.twins import check_epsilon
from unpick.names import check_choices
from unpick.objectives import BetaVAE
from unpick.training import RunConfig
from unpick.training.config import check_rate, to_json, without_paths

RestartScore = Literal["mig", "udr"]


@dataclass(frozen=True)
class PerturbConfig:
    """A perturbed twin of the data of `base`, after Zietlow (2022), sections 4.2.4 and 4.3.1.

    Attributes:
        base: A beta-VAE on the original data; its seed is that of the first restart.
        epsilon: Largest change of a pixel; the thesis has 0.1 on dSprites, 0.175 on Shapes3D.
        restarts: Models among which the most and the least disentangled are chosen.
        choose: Score to choose by: MIG, or UDR, which needs no factors.
        ensemble: Models on each side; the thesis has 4 on Shapes3D.
        steps: Batches on which the change is trained.
        batch: Observations a batch.
        samples: Latents drawn for each observation.
        decoder_batches: Batches that train the decoders before each batch for the change.
        learning_rate: Of Adam, for the change.
        decoder_rate: Of Adam, for the decoders; the thesis has one rate for both. With few steps,
            decoders must learn faster than the change, or it exploits that they lag behind.
        compress: Widths of the hidden layers between the factors and the one neuron.
        levels: Number of values of the neuron at which the change is tabulated.
        seed: Of the change's first weights, of batches and of latent noise.
        literal: Train the change by the printed objective alone. Otherwise the neuron is
            batch-normalised and the gradient leaves out what all images share; without these two
            additions all images may get the same change.
    """

    base: RunConfig
    epsilon: float = 0.1
    restarts: int = 10
    choose: RestartScore = "mig"
    ensemble: int = 1
    steps: int = 20_000
    batch: int = 64
    samples: int = 5
    decoder_batches: int = 3
    learning_rate: float = 1e-4
    decoder_rate: float = 1e-4
    compress: tuple[int, ...] = (256, 256)
    levels: int = 512
    seed: int = 0
    literal: bool = False

    def __post_init__(self) -> None:
        check_choices(self)
        check_epsilon(self.epsilon)
        check_rate(self.learning_rate, "learning_rate of the change")
        check_rate(self.decoder_rate, "decoder_rate")
        two = 3 if self.choose == "udr" else 2  # restarts are compared with each other
        least = {"steps": 1, "batch": 2, "samples": 1, "decoder_batches": 1, "levels": 2}
        least |= {"ensemble": 1, "restarts": max(two, 2 * self.ensemble)}
        for name, value in least.items():
            if (got := getattr(self, name)) < value:
                what = f"{name} of the change" if name in ("steps", "batch") else name
                raise ValueError(f"{what} must be at least {value}, got {got}")
        if type(self.base.data) not in DATASETS.values():
            raise ValueError(f"base must be of an original data set, got {self.base.data.name}")
        if not isinstance(self.base.objective, BetaVAE):
            raise ValueError(f"base must be a beta-vae, got {self.base.objective.name}")

    @property
    def original(self) -> Original:
        """The data set of which a twin is made."""
        assert not isinstance(self.base.data, Noisy | Perturbed | OwnData)
        return self.base.data

    def is_made(self) -> bool:
        """Whether the twin lies in its default folder."""
        twin = self.data()
        return (twin.folder / twin.file).exists()

    def candidates(self) -> list[RunConfig]:
        """The restarts to choose from."""
        return [replace(self.base, seed=self.base.seed + k) for k in range(self.restarts)]

    def identity(self) -> str:
        """Twelve hexadecimal digits that name the twin; paths of data do not count."""
        document = without_paths(to_json(self))
        if not self.literal:  # twins that were made before there was a choice keep their name
            del document["literal"]
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:12]

    def data(self, path: str = "") -> Perturbed:
        """The twin as a data set, in the folder `path` or in its default folder."""
        return Perturbed(self.original, self.identity(), path)
