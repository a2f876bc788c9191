"""Global variance against local variance: PCA of all observations and of neighbourhoods."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.data import Dataset

ROWS = 2000  # observations of the global PCA
CENTRES, NEAREST = 100, 40  # neighbourhoods without factors, and observations in each
MOST = 0.9  # share of the variance that counts as most of it
CLOSE = 1.2  # ratio of lengths below which two directions are not told apart


@dataclass(frozen=True)
class Spectra:
    """Standard deviations along principal directions, largest first.

    Attributes:
        global_deviations: Of all observations.
        local_deviations: With factors, of the generator's linear map at a point, per unit of the
            factors' deviations; without, of the observations in a neighbourhood. Root mean squares
            over points.
        global_components: How many hold 90 % of the variance of all observations.
        local_components: How many hold 90 % of the local variance, on average over points.
        close: Share of points whose two longest local directions lie within 20 % of each other.
        nearest: Observations in a neighbourhood; None with factors.
    """

    global_deviations: tuple[float, ...]
    local_deviations: tuple[float, ...]
    global_components: int
    local_components: float
    close: float
    nearest: int | None


def compare_spectra(
    dataset: Dataset, gram: Float[Tensor, "n d d"] | None, generator: torch.Generator
) -> Spectra:
    """PCA of the whole set beside local PCA.

    Args:
        dataset: The observations.
        gram: J^T J of the generator; None if no factor has a direction, and local directions
            are those of nearest neighbours among 2000 observations.
        generator: Draws observations.
    """
    rows = torch.randperm(len(dataset), generator=generator)[:ROWS]
    x = dataset.observe(rows).flatten(1).double()
    if (x == x[0]).all():
        raise ValueError(
            f"observations of {dataset.name} must vary, {len(x)} of them are equal: there is "
            "nothing to forecast"
        )
    whole = principal_variances(x - x.mean(0))
    local = neighbourhoods(x) if gram is None else torch.linalg.eigvalsh(gram).flip(-1)
    local = local.clamp(min=0)
    pairs = local[local[:, 1] > 0] if local.shape[1] > 1 else local[:0]
    close = float((pairs[:, 0] < CLOSE**2 * pairs[:, 1]).double().mean()) if len(pairs) else 0.0
    shown = max(10, local.shape[1])
    return Spectra(
        tuple(whole.sqrt()[:shown].tolist()),
        tuple(local.mean(0).sqrt()[:shown].tolist()),
        int(holding_most(whole[None])),
        float(holding_most(local).double().mean()),
        close,
        min(NEAREST, len(x)) if gram is None else None,
    )


def principal_variances(centred: Float[Tensor, "n p"]) -> Float[Tensor, "d"]:
    """Variances along principal directions, largest first."""
    n, p = centred.shape
    square = centred @ centred.T if n < p else centred.T @ centred
    return torch.linalg.eigvalsh(square / n).clamp(min=0).flip(0)


def holding_most(variances: Float[Tensor, "n d"]) -> Float[Tensor, "n"]:
    """How many of the largest hold 90 %; 0 without variance.

    Example:
        >>> holding_most(torch.tensor([[8.0, 1.5, 0.5], [0.0, 0.0, 0.0]]))
        tensor([2., 0.])
    """
    whole = variances.sum(1, keepdim=True)
    shares = variances.cumsum(1) / whole.clamp(min=1e-300)
    return (whole[:, 0] > 0) * (1.0 + (shares < MOST - 1e-9).sum(1))


def neighbourhoods(x: Float[Tensor, "n p"]) -> Float[Tensor, "m d"]:
    """Variances along the principal directions of the nearest neighbours of some points."""
    nearest = min(NEAREST, len(x))
    found = []
    for centre in x[:CENTRES]:
        apart = x - centre  # exactly 0 for equal rows
        near = apart[apart.square().sum(1).argsort()[:nearest]]
        found.append(principal_variances(near - near.mean(0)))
    return torch.stack(found)
