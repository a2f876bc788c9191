"""Beta-VAEs over a range of betas, among which the rule has to choose without labels."""

from collections.abc import Sequence

from unpick.data import DataConfig
from unpick.data.bent import Bent
from unpick.data.heads import Heads
from unpick.data.shapes3d import Shapes3D
from unpick.data.sprites import Sprites
from unpick.data.synthetic import LinearGaussian, SynthLin, SynthNonlin
from unpick.models import MLP, ModelConfig
from unpick.objectives import BetaVAE
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig

BETAS = (1e-4, 3.2e-4, 1e-3, 3.2e-3, 1e-2, 3.2e-2, 0.1, 0.32, 1.0, 4.0)
NETWORK = MLP((64, 64), "tanh", (64, 64), "tanh")
NOTE = "settings of our own: two layers of 64 tanh units, Adam at 3e-3, batches of 128"


def cells(scale: Scale) -> Sequence[Cell]:
    """Every data set at every beta; more latents than factors where there is room for them."""
    if scale == "paper":
        return []
    points, steps, seeds = (800, 300, 2) if scale == "quick" else (3000, 3000, 3)
    data: dict[str, tuple[DataConfig, int]] = {
        "linear-gaussian": (LinearGaussian(noise=0.3, points=points), 5),
        "synth-lin": (SynthLin(centred=True, points=points), 3),
        "bent": (Bent(points=points), 3),
        "synth-nonlin, seed 6": (SynthNonlin(points=points, data_seed=6), 4),
        "synth-nonlin, seed 7": (SynthNonlin(points=points, data_seed=7), 4),
    }
    if scale == "standard":
        # With 16 rows x varies more than y, so that variance tells them apart.
        data |= {"sprites": (Sprites(32, rows=16), 8), "shapes3d": (Shapes3D(16), 8)}
        # Added later, to decide what seven data sets had left undecided.
        two, six = (3.0, 2.8, 1.0), (4.0, 3.9, 2.0, 1.9, 1.0, 0.6)
        data |= {
            "linear-gaussian, two alike": (LinearGaussian(two, noise=0.3, points=points), 5),
            "linear-gaussian, six sources": (LinearGaussian(six, noise=0.3, points=points), 8),
            "synth-lin, ratio 1.5": (SynthLin(1.5, centred=True, points=points), 3),
            "synth-nonlin, seed 1": (SynthNonlin(points=points, data_seed=1), 4),
            "synth-nonlin, seed 2": (SynthNonlin(points=points, data_seed=2), 4),
            "heads": (Heads(16), 8),
        }
    return [
        Cell(
            row,
            f"beta {beta:.2g}",
            RunConfig(
                config,
                ModelConfig(latents, network=NETWORK),
                BetaVAE(beta),
                Adam(3e-3),
                steps,
                128,
            ),
            seeds,
            note=NOTE,
        )
        for row, (config, latents) in data.items()
        for beta in BETAS
    ]
