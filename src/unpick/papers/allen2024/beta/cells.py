"""The runs of `allen-beta`: a range of betas on circles, and of linear VAEs on planted data."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from unpick.data.synthetic import Circles, LinearGaussian
from unpick.objectives import BetaVAE
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig, preset

GRID: Mapping[str, tuple[float, ...]] = {
    "circles": (0.01, 0.03, 0.1, 0.2, 0.4, 1.0, 2.0, 4.0, 8.0, 12.0, 24.0),
    "linear-gaussian": (0.03, 0.1, 0.15, 0.3, 1.0, 1.6, 2.6, 6.0, 14.0, 24.0),
}
CIRCLES = Circles()
PLANTED = LinearGaussian((3.0, 1.0, 0.3), points=10_000)
LINEAR_LATENTS = 4  # one more than there are planted directions
STEPS: Mapping[tuple[str, Scale], int] = {
    ("circles", "quick"): 5000,
    ("circles", "standard"): 15_000,
    ("linear-gaussian", "quick"): 10_000,
    ("linear-gaussian", "standard"): 10_000,
}


def cells(scale: Scale) -> Sequence[Cell]:
    """Every beta of both rows; none at scale `paper`, which gives no networks for its figure."""
    if scale == "paper":
        return []
    return [
        Cell(row, f"beta {beta:g}", config(row, beta, scale), 1 if scale == "quick" else 3)
        for row, betas in GRID.items()
        for beta in betas
    ]


def config(row: str, beta: float, scale: Scale) -> RunConfig:
    """One run of a row."""
    base = preset(row)
    if row == "linear-gaussian":
        base = replace(base, data=PLANTED, model=replace(base.model, latents=LINEAR_LATENTS))
    else:
        base = replace(base, data=CIRCLES)
    steps = STEPS[row, scale]
    return replace(base, objective=BetaVAE(beta), optimiser=Adam(3e-3), steps=steps)
