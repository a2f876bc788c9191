"""Pictures of a twin, written beside it."""

from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data.twins import ChangedStore
from unpick.perturb.contest import Contest
from unpick.plots import house_style
from unpick.plots.twins import change_family, contest_curves, twin_sheet

SHOWN = 12  # images on the sheet


def draw_pictures(
    contest: Contest, table: Float[Tensor, "l ..."], level: Int[Tensor, "n"], folder: Path
) -> list[Path]:
    """Write losses.png and, if the observations are images, images.png and family.png."""
    dataset, epsilon = contest.dataset, contest.config.epsilon
    folder.mkdir(parents=True, exist_ok=True)
    with house_style():
        figures = {"losses": contest_curves(contest.log)}
        if len(dataset.shape) == 3:
            some = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0))[:SHOWN]
            twin = ChangedStore(dataset.store, table.flatten(1), level)
            figures |= {
                "images": twin_sheet(dataset.observe(some), twin.read(some), epsilon),
                "family": change_family(table, level, epsilon),
            }
        for name, figure in figures.items():
            figure.savefig(folder / f"{name}.png", dpi=150)
    return [folder / f"{name}.png" for name in figures]
