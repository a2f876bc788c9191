"""What is measured on finished runs: codes and Jacobians on the test part, then the scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import Dataset, split
from unpick.geometry import decoder_jacobians, distance_to_orthogonality
from unpick.metrics import disentanglement_score
from unpick.models import Autoencoder
from unpick.runs import Run, load_together

JACOBIANS = 1000  # test observations at which the decoder is linearised


@dataclass(frozen=True, eq=False)
class Measured:
    """Scores of several runs of one configuration, a value a seed.

    Attributes:
        dto: Distance to orthogonality.
        chance: Its expectation for a randomly turned latent space.
        ds: Disentanglement score, where the data set has factors.
    """

    dto: Float[Tensor, "s"]
    chance: float
    ds: Float[Tensor, "s"] | None


def measure(runs: Sequence[Run], dataset: Dataset) -> Measured:
    """DtO and DS of each run on the test part of its data."""
    model, test = load_together(runs), split(dataset).test
    codes = encode(model, dataset.observe(test))
    distances = [
        distance_to_orthogonality(decoder_jacobians(decoder(run), codes[s, :JACOBIANS]))
        for s, run in enumerate(runs)
    ]
    ds = None
    if dataset.factors:
        factors = dataset.factor_values(test).numpy()
        classes = [factor.categorical for factor in dataset.factors]
        scores = [disentanglement_score(c.numpy(), factors, classes).score for c in codes]
        ds = torch.tensor(scores)
    dto = torch.tensor([distance.mean for distance in distances])
    return Measured(dto, distances[0].chance, ds)


def encode(model: Autoencoder, x: Float[Tensor, "n ..."]) -> Float[Tensor, "s n d"]:
    """The latent means that each member gives the same observations."""
    with torch.no_grad():
        return model.encode(x.expand(model.members, *x.shape)).mean


def decoder(run: Run) -> Callable[[Tensor], Tensor]:
    """The mean decoder of a run, as a function of latents (n, d)."""
    model = run.model()
    return lambda z: model.decode_mean(z[None])[0]
