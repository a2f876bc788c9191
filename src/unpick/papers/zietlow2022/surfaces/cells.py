"""What is trained for figures 2.1 to 2.3: linear and nonlinear, AE and VAE, on one cloud."""

from collections.abc import Sequence

from unpick.data.bent import Bent
from unpick.models import MLP, ModelConfig
from unpick.objectives import AE, BetaVAE
from unpick.study.study import Cell, Scale
from unpick.training import Adam, RunConfig

BENT = Bent()
NETWORKS = {
    "linear": MLP((), "tanh", (), "tanh"),
    "nonlinear": MLP((50, 50), "tanh", (50, 50), "tanh"),
}


def cells(scale: Scale) -> Sequence[Cell]:
    """Every network as AE and as VAE, for 20 000 steps, which the linear VAE needs to align."""
    made: list[Cell] = []
    if scale == "paper":  # the thesis gives neither its cloud nor its networks
        return made
    for kind, network in NETWORKS.items():
        for objective, posterior in ((AE(), "delta"), (BetaVAE(0.02), "diagonal")):
            model = ModelConfig(2, posterior, "gaussian", network)  # type: ignore[arg-type]
            config = RunConfig(BENT, model, objective, Adam(3e-3), 20_000)
            column = f"{kind} {'AE' if posterior == 'delta' else 'VAE'}"
            made.append(Cell(BENT.name, column, config, 3 if scale == "quick" else 10))
    return made
