"""What Zietlow (2022) does not say about tables 3.3 and 3.4, and what each choice gives."""

from collections.abc import Sequence
from dataclasses import replace

from unpick.data.synthetic import SynthLin, SynthNonlin
from unpick.models.likelihood import Likelihood
from unpick.objectives import BetaVAE
from unpick.studies.chapter3 import EPOCH, setting
from unpick.studies.published import published
from unpick.studies.study import Cell, Scale, Study
from unpick.training import preset

# What stands before the squared error, as the factor by which it raises beta.
FACTORS = {"squared error": 1.0, "half of it": 2.0, "mean over coordinates": 3.0}
DRAWS = 4  # of the network that bends the square


def cells(scale: Scale) -> Sequence[Cell]:
    """Point clouds as published in all that is said; then the digits' likelihood."""
    entries = []
    seeds = 3 if scale == "quick" else 10
    for ratio, table, row in ((2.0, "thesis-3.3", "synth-lin"), (1.2, "thesis-3.4", "1.2")):
        printed = published(table, row, "beta-vae")
        for centred in (False, True):
            for name, factor in FACTORS.items():
                config = replace(
                    preset("synth-lin"),
                    data=SynthLin(ratio, centred),
                    objective=BetaVAE(1e-4 * factor),
                )
                column = f"{'centred' if centred else 'as it is'}, {name}"
                entries.append(Cell(f"synth-lin, ratio {ratio}", column, config, seeds, printed))
    if scale == "quick":
        return entries
    printed = published("thesis-3.3", "synth-nonlin", "beta-vae")
    bent = setting("synth-nonlin", "beta-vae", scale)
    if scale == "standard":
        bent = replace(bent, steps=bent.steps // 6)
    for draw in range(DRAWS):
        config = replace(bent, data=SynthNonlin(data_seed=draw))
        entries.append(Cell("synth-nonlin", f"draw {draw}", config, 5, printed))
    digits = preset("mnist")
    if scale == "standard":
        digits = replace(digits, steps=30 * EPOCH)
    printed = published("thesis-3.3", "mnist", "vae")
    likelihoods: dict[str, Likelihood] = {"Bernoulli": "bernoulli", "squared error": "gaussian"}
    for name, likelihood in likelihoods.items():
        config = replace(digits, model=replace(digits.model, likelihood=likelihood))
        entries.append(Cell("mnist", f"VAE, {name}", config, 2, printed))
    return entries


STUDY = Study(
    name="thesis-3.3-open",
    title="What tables 3.3 and 3.4 leave open",
    source="Zietlow (2022), tables 3.3 and 3.4",
    about="""TODO""",
    cells=cells,
    measures=("DtO", "DS", "Delta_KL"),
)
