"""Figure 3.7 of Zietlow (2022): a line search over beta, and a rule that needs no labels."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from unpick.data.synthetic import SynthLin, SynthNonlin
from unpick.objectives import BetaVAE
from unpick.papers.zietlow2022.beta_search.figures import BetaPanel, beta_search
from unpick.papers.zietlow2022.chapter3 import CLOUDS, NOTES, Data, printed_beta, setting
from unpick.study.comparison import above
from unpick.study.study import Cell, Claim, Drawing, Outcome, Results, Scale, Study, Verdict
from unpick.study.sweep import COLLAPSED, complete_sweep, sweep, sweep_table

SHORTER: Mapping[Data, int] = {"synth-lin": 3, "synth-nonlin": 12}  # at standard scale
AS_GOOD = 0.01  # of DS: what comes so near to the best is as good
FACTORS: Mapping[Data, int] = {"synth-lin": 2, "synth-nonlin": 2, "sprites": 5}
# Another draw of the network, one that hardly skews the factors.
STRAIGHT = "synth-nonlin, draw 6"
ROWS: Mapping[str, Data] = {
    "synth-lin": "synth-lin",
    "synth-nonlin": "synth-nonlin",
    STRAIGHT: "synth-nonlin",
    "sprites": "sprites",
}
GRID: Mapping[str, tuple[float, ...]] = {
    "synth-lin": tuple(10 ** (k / 3) for k in range(-18, 2)),
    "synth-nonlin": tuple(10 ** (k / 3) for k in range(-15, 0)),
    STRAIGHT: tuple(10 ** (k / 3) for k in range(-10, 0)),
    "sprites": (1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0),
}


def cells(scale: Scale) -> Sequence[Cell]:
    """A range of betas on each data set; at `quick` on two of them."""
    entries: list[Cell] = []
    for row, data in ROWS.items():
        if scale == "quick" and row not in CLOUDS:
            continue
        config, note = setting(data, "beta-vae", scale), NOTES[data]
        if data != "sprites" and scale == "standard":
            config = replace(config, steps=config.steps // SHORTER[data])
        if row == STRAIGHT:
            config, note = replace(config, data=SynthNonlin(data_seed=6)), "not in the thesis"
        seeds = {"quick": 3, "standard": 5 if row in CLOUDS else 3, "paper": 10}[scale]
        for small in GRID[row]:
            large = 4 * small if data == "sprites" else small  # for as many pixels as published
            beta = large if scale == "paper" else small
            each = replace(config, objective=BetaVAE(beta))
            entries.append(
                Cell(row, column(beta), each, seeds, note=note, paper_column=column(large))
            )
    return entries


def column(beta: float) -> str:
    """The heading of a beta."""
    return f"beta {beta:.2g}"


def rule(search: Mapping[float, Outcome]) -> float | None:
    """The practitioner's beta: where a latent's mean posterior variance first reaches one.

    Zietlow (2022), section 3.3.6; it needs no labels. None if no beta of the search gets there.
    """
    for beta, outcome in search.items():
        if outcome.mean("largest variance") >= COLLAPSED:
            return beta
    return None


def best(search: Mapping[float, Outcome]) -> list[float]:
    """The beta with the highest DS, and those that are as good."""
    top = max(search, key=lambda beta: search[beta].mean("DS"))
    least = search[top].mean("DS") - AS_GOOD
    return [top, *(b for b, o in search.items() if b != top and o.mean("DS") >= least)]


def plateau(results: Results) -> Verdict:
    """On synth-lin DS is almost 1 over at least a decade of beta, and lower on both sides."""
    search = complete_sweep(results, "synth-lin")
    if not search:
        return Verdict(None, "")
    high = [beta for beta, outcome in search.items() if outcome.mean("DS") >= 0.97]
    if not high:
        top = max(outcome.mean("DS") for outcome in search.values())
        return Verdict(False, f"the highest DS is {top:.2f}")
    flat = all(b in high for b in search if high[0] <= b <= high[-1])
    within = min(search) < high[0] and high[-1] < max(search)
    summary = f"DS is at least 0.97 for beta from {high[0]:.2g} to {high[-1]:.2g}"
    return Verdict(flat and within and high[-1] > 10 * high[0], summary)


def thresholds(data: SynthLin) -> tuple[float, ...]:
    """Where a linear VAE loses its latents: beta = 2 variance of a principal component.

    With the squared error beta is twice the variance of the noise, and a component that varies
    less than the noise is not worth its KL (Lucas et al. 2019).
    """
    return 1 / 6, data.ratio**2 / 6


def discrete(results: Results) -> Verdict:
    """On synth-lin latents are lost one by one, at the betas that the linear VAE predicts."""
    search = complete_sweep(results, "synth-lin")
    if not search:
        return Verdict(None, "")
    data = next(iter(search.values())).cell.config.data
    assert isinstance(data, SynthLin)
    limits = sorted(thresholds(data))
    expected = {beta: sum(beta < limit for limit in limits) for beta in search}
    wrong = [b for b, o in search.items() if o.mean("active") != expected[b]]
    places = ", ".join(f"{limit:.3g}" for limit in limits)
    evidence = f"predicted at beta {places}; active latents differ from that at {len(wrong)} betas"
    return Verdict(not wrong, f"{evidence} of {len(search)}")


def rule_works(row: str, results: Results) -> Verdict:
    """The rule's beta is within a factor of three of one of the best.

    It holds if a beta that near is decided to be as good as the best one, and fails if all of them
    are decided to be worse.
    """
    search = complete_sweep(results, row)
    if not search:
        return Verdict(None, "")
    found, good = rule(search), best(search)
    if found is None or found == min(search):
        return Verdict(False, f"{'no' if found is None else 'at every beta a'} latent is lost")
    off = min(max(found / beta, beta / found) for beta in good)
    spread = f"{min(good):.2g}" + (f" to {max(good):.2g}" if len(good) > 1 else "")
    top = search[good[0]].values["DS"]
    near = {b: o.values["DS"] for b, o in search.items() if max(found / b, b / found) <= 3}
    worse = {beta: above(top, ds) for beta, ds in near.items()}
    closest = min(worse, key=lambda beta: worse[beta].difference)
    evidence = f"{found:.2g}, best {spread} (a factor of {off:.2g}); DS at the best less that "
    evidence += f"at {closest:.2g} (95 % interval): {worse[closest]}"
    if all(outcome.mean("active") < FACTORS[ROWS[row]] for outcome in search.values()):
        evidence += "; over-pruned at every beta of the search"
    if any(above(ds, top - AS_GOOD).holds for ds in near.values()):
        return Verdict(True, evidence)
    fails = all(each.holds for each in worse.values())
    return Verdict(False if fails else None, evidence, undecided=not fails)


def draw(results: Results) -> Figure | None:
    """Figure 3.7."""
    panels = []
    for row, data in ROWS.items():
        search = sweep(results, row)
        if not search:
            continue
        config = next(iter(search.values())).cell.config
        ds, dto, active = (sweep_table(search, measure) for measure in ("DS", "DtO", "active"))
        panels.append(
            BetaPanel(
                title=row,
                beta=np.array(list(search)),
                ds=ds,
                dto=np.where(active < 2, np.nan, dto),
                active=active,
                factors=FACTORS[data],
                chance=next(iter(search.values())).mean("chance"),
                published_beta=printed_beta(data, results.scale),
                rule_beta=rule(search),
                best_beta=best(search)[0],
                thresholds=thresholds(config.data) if isinstance(config.data, SynthLin) else (),
            )
        )
    return beta_search(panels) if panels else None


STUDY = Study(
    name="beta-search",
    title="A line search over beta",
    source="Zietlow (2022), figure 3.7 and section 3.3.6",
    about="""With a small beta the KL term is too weak to turn the latent space in time; with a
large one latents are given up, one after the other, and the model is over-pruned: fewer
latents are in use than there are factors. Between the two DS has a plateau.

Who has no labels can raise beta until the mean posterior variance of a latent reaches one (here
0.95), as section 3.3.6 advises as a tip: the best beta is likely of that order of magnitude,
depending on the number of latents. We ask for a factor of three. Best is the beta with the highest
DS, and any other within 0.01 of it. DtO means nothing where fewer than two latents are active.

The search has as many latents as factors, as the thesis's table 3.1. So the rule waits until a
latent is lost that is needed. With spare latents, which the tip may have in mind, one of those
should collapse first, at a smaller beta. That was not tried, so what fails here is the rule for a
latent space of the right size.

The rule finds where a latent is lost, so it is near the best beta only if DS stays on its plateau
up to there. For the linear cloud it does. For the nonlinear one DS falls long before, since more
noise asks for a smoother decoder than the data have; it falls less for a network that hardly skews
the factors (draw 6, searched beside the one of the other tables), but it falls there too.""",
    cells=cells,
    measures=("DS", "DtO", "active", "largest variance"),
    claims=(
        Claim("On synth-lin DS forms a plateau near 1 over more than a decade of beta.", plateau),
        Claim(
            "Beyond it latents are lost in discrete steps, where the linear VAE loses them.",
            discrete,
        ),
        *(
            Claim(
                f"On {row}, without spare latents, the rule (raise beta until a posterior "
                "variance reaches one) lands within a factor of three of the best beta.",
                partial(rule_works, row),
            )
            for row in ROWS
        ),
    ),
    drawings=(
        Drawing(
            "thesis-3.7",
            "DS and DtO against beta",
            "Figure 3.7: shaded where fewer latents are active than there are factors; dashed the "
            "published beta, dotted the rule's.",
            draw,
        ),
    ),
)
