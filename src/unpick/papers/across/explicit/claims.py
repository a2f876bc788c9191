"""Claims about alignment on purpose, as checks of results."""

from collections.abc import Callable, Sequence

import numpy as np

from unpick.geometry.orthogonality import haar_distance
from unpick.papers.across.explicit.methods import EXACT
from unpick.study.comparison import Comparison, Values, above, group, weigh
from unpick.study.study import Results
from unpick.study.verdict import Verdict, decide_all

CLOUDS, DEGENERATE = ("synth-lin", "synth-nonlin"), "synth-lin, ratio 1"
IMAGES = ("sprites", "rooms")
ALIGNED = 0.5 * haar_distance(2)  # DtO from which a cloud counts as aligned: half of chance
LEAST = 0.9  # share of the beta-VAE's DS that counts as as much
COST = 0.01  # of the data's deviation, which alignment may add to the error


def score(results: Results, cloud: str, method: str, name: str) -> Values | None:
    """A score of every seed at the end; `steps to align` is the logarithm of a number of steps."""
    found = results.computed.get(cloud, {}).get(method)
    if found is None:
        return None
    course = np.array(found["DtO"], dtype=float)
    if name == "DtO":
        return course[-1]
    if name == "steps to align":
        return np.log10(settled(found["steps"], course))
    return np.array(found[name], dtype=float)


def settled(steps: Sequence[int], course: np.ndarray) -> Values:
    """The first step from which a seed's DtO stays below half of chance; the last if none."""
    later_worst = np.maximum.accumulate(np.nan_to_num(course, nan=np.inf)[::-1])[::-1]
    first = (later_worst < ALIGNED).argmax(0)
    never = ~(later_worst < ALIGNED).any(0)
    return np.where(never, steps[-1], np.array(steps)[first]).astype(float)


def compare(
    results: Results,
    name: str,
    smaller: str,
    larger: str,
    clouds: Sequence[str] = CLOUDS,
    slack: float = 0.0,
) -> Verdict:
    """A method has a smaller mean of a score than another, plus a slack, on every cloud."""
    comparisons, evidence = dict[str, Comparison](), []
    for cloud in clouds:
        found, other = (score(results, cloud, each, name) for each in (smaller, larger))
        if found is not None and other is not None:
            comparisons[cloud] = above(other + slack, found)
            evidence.append(f"{cloud} {mean(found, name)} ({larger} {mean(other, name)})")
    text = f"{name}: {'; '.join(evidence)}"
    return decide_all(comparisons, text, complete=len(comparisons) == len(clouds))


def mean(values: Values, name: str) -> str:
    """The mean and the deviation over seeds; of steps their geometric mean."""
    if name == "steps to align":
        return f"{10 ** np.nanmean(values):.0f}"
    return f"{np.nanmean(values):.3f} ± {np.nanstd(values, ddof=1):.3f}"


def aligns(results: Results, method: str) -> Verdict:
    """DtO ends below that of the AE."""
    return compare(results, "DtO", method, "AE")


def faster(results: Results, method: str) -> Verdict:
    """Fewer steps until DtO stays below half of chance than for the beta-VAE."""
    return compare(results, "steps to align", method, "beta-VAE")


def cheap(results: Results, method: str) -> Verdict:
    """Reconstruction is at most a hundredth of the data's deviation worse than the AE's."""
    return compare(results, "error", method, "AE", slack=COST)


def diagonal_is_the_cause(results: Results, clouds: Sequence[str] = CLOUDS) -> Verdict:
    """Without noise the diagonal covariance aligns better than the full one."""
    return compare(results, "DtO", "deterministic", "deterministic, full", clouds)


def exact_hessian(results: Results) -> Verdict:
    """The exact Hessian reconstructs as well as the Gauss-Newton form."""
    return compare(results, "error", EXACT, "deterministic", ("synth-nonlin",), COST)


def not_rescued(results: Results, method: str) -> Verdict:
    """With equal singular values a method has a lower DS than with a ratio of 2."""
    found = [score(results, cloud, method, "DS") for cloud in ("synth-lin", DEGENERATE)]
    if found[0] is None or found[1] is None:
        return Verdict(None, "")
    text = f"DS at ratio 2 and 1: {mean(found[0], 'DS')} and {mean(found[1], 'DS')}"
    return decide_all({method: above(found[0], found[1])}, text, complete=True)


def disentangles(results: Results, method: str) -> Verdict:
    """DS is at least nine tenths of the beta-VAE's."""
    return compare_scores(results, method, lambda own, other: above(own, LEAST * other))


def steadier(results: Results, method: str) -> Verdict:
    """Restarts scatter less in DS than the beta-VAE's: distances from the median are smaller."""
    away = lambda scores: np.abs(scores - np.nanmedian(scores))  # noqa: E731
    return compare_scores(results, method, lambda own, other: above(away(other), away(own)))


def compare_scores(
    results: Results, method: str, test: Callable[[Values, Values], Comparison]
) -> Verdict:
    """Test the DS of a method against the beta-VAE's on both clouds."""
    comparisons, evidence = dict[str, Comparison](), []
    for cloud in CLOUDS:
        own, other = (score(results, cloud, each, "DS") for each in (method, "beta-VAE"))
        if own is not None and other is not None:
            comparisons[cloud] = test(own, other)
            evidence.append(f"{cloud} {mean(own, 'DS')} (beta-VAE {mean(other, 'DS')})")
    text = f"DS: {'; '.join(evidence)}"
    return decide_all(comparisons, text, complete=len(comparisons) == len(CLOUDS))


def contrast_alone(results: Results) -> Verdict:
    """On a linear decoder the contrast makes columns orthogonal and leaves the axes free."""
    values = {
        (method, name): score(results, "synth-lin", method, name)
        for method in ("AE", "IMA AE", "budget AE")
        for name in ("DtO", "DS")
    }
    known = {key: value for key, value in values.items() if value is not None}
    if len(known) < len(values):
        return Verdict(None, "")
    comparisons = {
        "DtO below the AE's": above(known["AE", "DtO"], known["IMA AE", "DtO"]),
        "DS below the budget AE's": above(known["budget AE", "DS"], known["IMA AE", "DS"]),
    }
    said = ", ".join(f"{method} {name} {mean(v, name)}" for (method, name), v in known.items())
    return decide_all(comparisons, said, complete=True)


# --- Images


def cell(results: Results, row: str, method: str, name: str) -> Values | None:
    """The values of a measure, one a seed."""
    outcome = results.rows().get(row, {}).get(method)
    return None if outcome is None else outcome.values.get(name)


def compare_images(
    results: Results,
    name: str,
    smaller: str,
    larger: str,
    twin: str = "original",
    share: float = 1.0,
) -> Verdict:
    """A method has a smaller mean of a measure than another, or than a share of it, on both."""
    comparisons, evidence = dict[str, Comparison](), []
    for data in IMAGES:
        found, other = (cell(results, f"{data}, {twin}", m, name) for m in (smaller, larger))
        if found is not None and other is not None:
            comparisons[data] = above(other, share * found)
            pair = f"{smaller} {mean(found, name)}, {larger} {mean(other, name)}"
            evidence.append(f"{data}: {pair}")
    text = f"{name}: {'; '.join(evidence)}"
    return decide_all(comparisons, text, complete=len(comparisons) == len(IMAGES))


def images_align(results: Results, method: str) -> Verdict:
    """DtO over chance is below that of the AE."""
    return compare_images(results, "DtO / chance", method, "AE")


def images_disentangle(results: Results, method: str) -> Verdict:
    """MIG is above that of the AE."""
    return compare_images(results, "MIG", "AE", method)


def images_as_well(results: Results, method: str) -> Verdict:
    """MIG is at least nine tenths of the beta-VAE's."""
    return compare_images(results, "MIG", "beta-VAE", method, share=LEAST)


def ends_higher(results: Results, method: str) -> Verdict:
    """On the twins MIG is above the beta-VAE's."""
    return compare_images(results, "MIG", "beta-VAE", method, "perturbed")


def diagonal_aligns_images(results: Results) -> Verdict:
    """DtO over chance is lower with the diagonal covariance than with the full one."""
    return compare_images(results, "DtO / chance", "beta-VAE", "full covariance")


def losses(results: Results, data: str, methods: Sequence[str]) -> list[tuple[Values, Values]]:
    """MIG on the original and on the twin, by method; nothing unless all of it is there."""
    pairs = [
        [cell(results, f"{data}, {twin}", method, "MIG") for twin in ("original", "perturbed")]
        for method in methods
    ]
    found = [(a, b) for a, b in pairs if a is not None and b is not None]
    return found if len(found) == len(methods) else []


def misled(results: Results) -> Verdict:
    """The beta-VAE loses MIG on the perturbed twins."""
    comparisons, evidence = dict[str, Comparison](), []
    for data in IMAGES:
        for original, perturbed in losses(results, data, ["beta-VAE"]):
            comparisons[data] = above(original, perturbed)
            evidence.append(f"{data}: {mean(original, 'MIG')} and {mean(perturbed, 'MIG')}")
    text = f"MIG of the beta-VAE, original and perturbed: {'; '.join(evidence)}"
    return decide_all(comparisons, text, complete=len(comparisons) == len(IMAGES))


def loses_less(results: Results, method: str) -> Verdict:
    """On the twins less MIG is lost than by the beta-VAE."""
    comparisons, evidence = dict[str, Comparison](), []
    for data in IMAGES:
        if found := losses(results, data, ["beta-VAE", method]):
            (a, b), (c, d) = found
            signs = (1.0, -1.0, -1.0, 1.0)
            comparisons[data] = weigh([*zip(signs, map(group, (a, b, c, d)), strict=True)])
            lost = (np.nanmean(first) - np.nanmean(last) for first, last in found)
            evidence.append(f"{data}: beta-VAE {next(lost):+.3f}, {method} {next(lost):+.3f}")
    text = f"lost MIG: {'; '.join(evidence)}"
    return decide_all(comparisons, text, complete=len(comparisons) == len(IMAGES))
