"""Table 3.4 and figure 3.5 of Zietlow (2022): equal singular values leave the axes open."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from matplotlib.figure import Figure

from unpick.data.synthetic import SynthLin
from unpick.papers.zietlow2022.chapter3 import ASSUMED, NOTES, SEEDS, setting
from unpick.papers.zietlow2022.published import published
from unpick.papers.zietlow2022.restarts import degenerate_squares
from unpick.probe import latent_means
from unpick.study.study import Cell, Claim, Drawing, Results, Scale, Study
from unpick.study.verdict import Verdict, decide_all

RATIOS = (1.0, 1.2, 1.5)


def cells(scale: Scale) -> Sequence[Cell]:
    """`synth-lin` with one side of the square stretched by each ratio."""
    base = setting("synth-lin", "beta-vae", scale)
    assert isinstance(base.data, SynthLin)
    return [
        Cell(
            f"ratio {ratio}",
            "beta-VAE",
            replace(base, data=replace(base.data, ratio=ratio)),
            SEEDS[scale]["synth-lin"],
            published("thesis-3.4", str(ratio), "beta-vae"),
            NOTES["synth-lin"],
        )
        for ratio in RATIOS
    ]


def improves(results: Results) -> Verdict:
    """DtO falls and DS rises from each ratio to the next."""
    dto, ds = _means(results, "DtO"), _means(results, "DS")
    if len(dto) < len(RATIOS):
        return Verdict(None, "")
    comparisons = {}
    for (low, a), (high, b) in pairwise(zip(RATIOS, results.outcomes, strict=True)):
        for measure, (more, less) in {"DtO": (a, b), "DS": (b, a)}.items():
            comparisons[f"{measure} from {low} to {high}"] = more.above(less, measure)
    summary = " ".join(f"{a:.3f}/{b:.2f}" for a, b in zip(dto, ds, strict=True))
    evidence = f"DtO/DS at ratio {', '.join(map(str, RATIOS))}: {summary}"
    return decide_all(comparisons, evidence, complete=True)


def collapses(results: Results) -> Verdict:
    """The spread at 1.5 is less than a third of that at 1.0."""
    if len(results.outcomes) < len(RATIOS) or min(len(o.runs) for o in results.outcomes) < 2:
        return Verdict(None, "")
    first, last = results.outcomes[0], results.outcomes[-1]
    pairs = [(first.deviation(m), last.deviation(m)) for m in ("DtO", "DS")]
    summary = ", ".join(
        f"{m} {a:.3f} to {b:.3f}" for m, (a, b) in zip(("DtO", "DS"), pairs, strict=True)
    )
    return Verdict(all(b < a / 3 for a, b in pairs), f"standard deviation of {summary}")


def _means(results: Results, measure: str) -> list[float]:
    return [outcome.mean(measure) for outcome in results.outcomes]


def draw(results: Results) -> Figure | None:
    """Figure 3.5."""
    if not results.outcomes:
        return None
    datasets = [outcome.cell.config.data.load() for outcome in results.outcomes]
    square = datasets[0].values  # the same for every ratio
    assert square is not None
    codes = {
        outcome.cell.row: latent_means(outcome.runs[:4], dataset)
        for outcome, dataset in zip(results.outcomes, datasets, strict=True)
    }
    return degenerate_squares(square, codes)


STUDY = Study(
    name="thesis-3.4",
    title="Degenerate singular values",
    source="Zietlow (2022), table 3.4 and figure 3.5",
    about=f"""The theorem fixes the latent axes only if the singular values of the decoder differ.
Here the two sides of the square of synth-lin have the ratio 1.0, 1.2 and 1.5. At 1.0 every
direction has the same variance and nothing, for the beta-VAE as for PCA, tells one from another.

How far a ratio of 1.2 gets within the 600 epochs depends on how fast the latent space turns, and
so on what the thesis leaves open (batch size, centring, the factor before the squared error): see
the study thesis-3.3-open. {ASSUMED}""",
    cells=cells,
    measures=("DtO", "DS"),
    claims=(
        Claim("DtO falls and DS rises with the ratio.", improves),
        Claim(
            "At ratio 1.5 the spread over restarts has collapsed (to less than a third).",
            collapses,
        ),
    ),
    drawings=(
        Drawing(
            "thesis-3.5",
            "Latent representations of the square",
            "Figure 3.5: on top the square, below what four restarts make of it, for each ratio. "
            "Lines along the first factor are blue, along the second orange.",
            draw,
        ),
    ),
)
