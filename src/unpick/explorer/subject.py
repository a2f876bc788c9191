"""A model to look at: its probe, its latents in order of importance, and a name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from unpick.diagnosis import Diagnosis, diagnose
from unpick.geometry import DistanceToOrthogonality, distance_to_orthogonality
from unpick.models.likelihood import Likelihood
from unpick.probe import Probe, probe_run
from unpick.probe.checks import as_observations, check_model
from unpick.probe.latents import Latents, latents_of
from unpick.probe.models import read_model
from unpick.probe.trace import modules_of, without_trace
from unpick.runs import read

SAMPLES = 1000  # observations of a model, at most
POINTS = 100  # Jacobians behind what is said about all the data


@dataclass(frozen=True, eq=False)
class Subject:
    """One model on the page. It is loaded when it is first looked at, and never changed.

    Attributes:
        name: As the page calls it.
        load: Gives the model and the observations to look at.
        python: Lines of Python that give `probe` again, for "copy as Python".
        columns: Names of the columns of a table, if they are known.
    """

    name: str
    load: Callable[[], Probe]
    python: str = "# probe = Probe(encode, decode, x)"
    columns: Sequence[str] = ()

    @cached_property
    def probe(self) -> Probe:
        """The model and its observations, loaded once."""
        return self.load()

    @cached_property
    def spread(self) -> Float[Tensor, "d"]:
        """Standard deviation of each latent's means over the observations."""
        return self.probe.mean.std(0, correction=0).cpu().double()

    @cached_property
    def centre(self) -> Float[Tensor, "d"]:
        """Mean of each latent's means."""
        return self.probe.mean.mean(0).cpu().double()

    @cached_property
    def mean_variance(self) -> Float[Tensor, "d"] | None:
        """Mean posterior variance of each latent; None for an autoencoder."""
        variance = self.probe.variance
        return None if variance is None else variance.mean(0).cpu().double()

    @cached_property
    def _latents(self) -> Latents:
        return latents_of(self.probe, POINTS)

    @property
    def active(self) -> Bool[Tensor, "d"]:
        """The latents in use, judged as `diagnose` does."""
        return self._latents.active

    @property
    def order(self) -> list[int]:
        """Latents by importance: the most precise first, or the widest without variances."""
        return self._latents.order

    @cached_property
    def alignment(self) -> DistanceToOrthogonality | None:
        """DtO of the active latents over some of the data; None if fewer than two are active."""
        if self.active.sum() < 2:
            return None
        return distance_to_orthogonality(self.probe.first(POINTS).jacobians, active=self.active)

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What `unpick.diagnose` says of the model."""
        probe = self.probe
        assert probe.decode is not None
        return diagnose(
            probe.encode,
            probe.decode,
            probe.x,
            likelihood=probe.likelihood,
            beta=probe.beta,
            points=POINTS,
            report=None,
            show=False,
        )

    def decode(self, z: Float[Tensor, "m d"]) -> Float[Tensor, "m ..."]:
        """Mean observations on the CPU, in the shape of the data."""
        with without_trace(self.probe.decode):
            found = self.probe.decoder(z.to(self.probe.mean)).cpu().float()
        return found.reshape(len(z), *self.probe.shape)


def subject_of_folder(path: Path) -> Subject:
    """A finished run, with the first observations of its test part."""
    python = (
        "from pathlib import Path\n\nfrom unpick.probe import probe_run\n"
        f"from unpick.runs import read\n\nprobe = probe_run(read(Path({str(path)!r})))"
    )
    return Subject(path.name, partial(_probe_folder, path), python)


def _probe_folder(path: Path) -> Probe:
    run = read(path)
    if run is None:
        raise ValueError(f"{path.name} is not finished")
    if not run.config.objective.decodes:
        raise ValueError(f"{path.name}: {run.config.objective.name} has no decoder to look at")
    return probe_run(run, samples=SAMPLES)


def subject_of_model(
    name: str,
    model: Any,  # noqa: ANN401
    decode: Callable[[Any], Any] | None = None,
    x: Any = None,  # noqa: ANN401
    factors: Any = None,  # noqa: ANN401
    factor_names: Sequence[str] = (),
    categorical: Sequence[bool] | None = None,
    likelihood: Likelihood = "gaussian",
    columns: Sequence[str] = (),
) -> tuple[Subject, Sequence[str]]:
    """Anybody's model, read as `diagnose` reads it; and what was assumed about it.

    Args:
        name: As the page calls it.
        model: A model with encode and decode, or an encoder beside `decode`.
        decode: Its decoder, if it stands apart.
        x: Observations.
        factors: Their generative factors, if they are known, as numbers.
        factor_names: Names of the factors.
        categorical: Which factors are classes.
        likelihood: What the decoder's output is the mean of.
        columns: Names of the columns of x; those of a data frame are known.
    """
    columns = columns or [str(column) for column in getattr(x, "columns", ())]
    x = as_observations(x)[:SAMPLES]
    for network in modules_of((model, decode)):
        network.eval()
    with without_trace(model, decode):
        read = read_model(model, decode, x)
    known = None
    if factors is not None:
        known = np.asarray(torch.as_tensor(factors).cpu(), dtype=float)[:SAMPLES]
        known = known[:, None] if known.ndim == 1 else known
        factor_names = factor_names or [f"factor {k}" for k in range(known.shape[1])]
    scaled = read.scale.apply(torch.as_tensor(x))
    probe = Probe(read.encode, read.decode, scaled, known, factor_names, categorical, likelihood)
    check_model(probe)
    return Subject(name, lambda: probe, columns=columns), read.assumed


def prior_draw(subject: Subject, seed: int) -> Float[Tensor, "d"]:
    """A point drawn from the prior; for an autoencoder from a Gaussian around its codes."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(len(subject.spread), generator=generator, dtype=torch.float64)
    if subject.mean_variance is not None:
        return noise
    return subject.centre + subject.spread * noise
