"""What is asked of the perturbation beyond the thesis's tables, as predicates on results."""

from collections.abc import Mapping

import numpy as np
from scipy.stats import pearsonr

from unpick.papers.zietlow2022.thesis_4.cells import (
    PLACES,
    find_longer,
    find_outcome,
    read_twin_report,
)
from unpick.papers.zietlow2022.thesis_4.claims import format_p
from unpick.papers.zietlow2022.thesis_4.settings import NAMES, SETTINGS, Data, Twin
from unpick.study.comparison import LEVEL, Comparison, Group, above, group, weigh
from unpick.study.published import Printed
from unpick.study.study import Results
from unpick.study.verdict import Verdict, decide_all

HALF = 0.5


def drops(results: Results) -> Verdict:
    """Every variational method loses at least half as much MIG as published."""
    texts, comparisons = [], {}
    for data, method in PLACES:
        found = [find_outcome(results, data, twin, method) for twin in ("original", "perturbed")]
        outcomes = [outcome for outcome in found if outcome is not None]
        printed = [outcome.cell.published.get("MIG") for outcome in outcomes]
        known = [each for each in printed if each is not None]
        if len(outcomes) < 2 or len(known) < 2:
            continue
        name = f"{NAMES[method]} on {data}"
        before, after = (group(outcome.values["MIG"]) for outcome in outcomes)
        was, became = (_printed_group(each) for each in known)
        parts = [(1.0, before), (-1.0, after), (-HALF, was), (HALF, became)]
        comparisons[name] = weigh(parts)
        ours, theirs = before.mean - after.mean, was.mean - became.mean
        texts.append(f"{name}: {ours:.2f} (published {theirs:.2f})")
    return decide_all(comparisons, "; ".join(texts), complete=len(comparisons) == len(PLACES))


def _printed_group(printed: Printed) -> Group:
    """A printed mean with its error, from the printed deviation over restarts."""
    assert printed.restarts is not None
    return Group(printed.mean, printed.error**2, printed.restarts - 1.0)


def louder_takes_less(results: Results) -> Verdict:
    """On noise of the variance of the change the beta-VAE keeps more MIG than on the change."""
    texts, comparisons = [], dict[str, Comparison]()
    wanted = [data for data, chosen in SETTINGS[results.scale].items() if chosen.louder]
    for data in wanted:
        louder, perturbed = (
            find_outcome(results, data, twin, "beta-vae") for twin in ("louder", "perturbed")
        )
        if louder is None or perturbed is None:
            continue
        comparisons[data] = above(louder.values["MIG"], perturbed.values["MIG"])
        texts.append(f"{data}: {louder.mean('MIG'):.2f}, perturbed {perturbed.mean('MIG'):.2f}")
    return _decide(comparisons, texts, wanted)


def lasts(results: Results) -> Verdict:
    """Trained longer, the beta-VAE has less than half of its MIG on the perturbed twin, too."""
    texts, comparisons = [], dict[str, Comparison]()
    wanted = {
        f"{data} x {times}": (data, times)
        for data, chosen in SETTINGS[results.scale].items()
        for times in chosen.longer
    }
    for name, (data, times) in wanted.items():
        before, after = (find_longer(results, data, t, times) for t in ("original", "perturbed"))
        if before is None or after is None:
            continue
        halved = [(HALF, group(before.values["MIG"])), (-1.0, group(after.values["MIG"]))]
        comparisons[name] = weigh(halved)
        texts.append(f"{name}: {before.mean('MIG'):.2f} to {after.mean('MIG'):.2f}")
    return _decide(comparisons, texts, wanted)


def turned(data: Data, twin: Twin, results: Results) -> Verdict:
    """Over restarts, MIG of the beta-VAE falls as DtO of its active latents grows."""
    outcome = find_outcome(results, data, twin, "beta-vae")
    if outcome is None or "DtO / chance" not in outcome.values:
        return Verdict(None, "")
    pairs = np.stack([outcome.values["MIG"], outcome.values["DtO / chance"]])
    pairs = pairs[:, np.isfinite(pairs).all(0)]
    if pairs.shape[1] < 3 or not pairs.std(1).all():
        return Verdict(None, f"{pairs.shape[1]} restarts, too few for a correlation")
    r, p = pearsonr(*pairs)
    text = f"correlation {r:+.2f} over {pairs.shape[1]} restarts ({format_p(p)})"
    decided = bool(p < LEVEL)
    return Verdict(bool(r < 0) if decided else None, text, not decided)


def literal_halves(results: Results) -> Verdict:
    """A change that is trained by the printed objective alone takes more than half of the MIG."""
    texts, comparisons = [], dict[str, Comparison]()
    wanted = [data for data, chosen in SETTINGS[results.scale].items() if chosen.tries_literal]
    for data in wanted:
        before, after = (
            find_outcome(results, data, twin, "beta-vae") for twin in ("original", "literal")
        )
        if before is None or after is None:
            continue
        halved = [(HALF, group(before.values["MIG"])), (-1.0, group(after.values["MIG"]))]
        comparisons[data] = weigh(halved)
        text = f"{data}: {before.mean('MIG'):.2f} to {after.mean('MIG'):.2f}"
        varying = read_twin_report(data, results.scale, literal=True).get("varying")
        if varying is not None:
            text += f", {varying:.0%} of the change differs between images"
        texts.append(text)
    return _decide(comparisons, texts, wanted)


def _decide(
    comparisons: Mapping[str, Comparison],
    texts: list[str],
    wanted: list[Data] | Mapping[str, tuple[Data, int]],
) -> Verdict:
    if not wanted:
        return Verdict(None, "not tried at this scale")
    return decide_all(comparisons, "; ".join(texts), complete=len(comparisons) == len(wanted))
