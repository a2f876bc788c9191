"""What Bhowal et al. (2024, appendix A.8.6) say of principal axes, as predicates."""

import numpy as np
from jaxtyping import Float

from unpick.papers.bhowal2024.pca.readings import SETS, Survey
from unpick.study.study import Verdict

Array = np.ndarray
KNOWN = 0.9  # R^2 of a position that is told


def scale_to(errors: Float[Array, "k"], printed: Float[Array, "k"]) -> tuple[Array, float]:
    """Errors in the unit that fits the printed ones best, and the misfit.

    Root mean square of what differs, as a share of the mean printed error.
    """
    fitted = (errors @ printed) / (errors @ errors) * errors
    return fitted, float(np.sqrt(np.square(fitted - printed).mean()) / printed.mean())


def totals(printed: Float[Array, "k"]) -> tuple[float, float]:
    """The error of no axes at all, from each of the two sets that do not begin with the first.

    Errors of projections add up: E(1..a) + E(a..b) - E(1..b) is the error of no axes.
    """
    e = dict(zip(SETS, printed.tolist(), strict=True))
    return (
        e["first 2000"] + e["2000 to 3000"] - e["first 3000"],
        e["first 2500"] + e["2500 to 3000"] - e["first 3000"],
    )


def more_axes(found: Survey) -> Verdict:
    """The error of the first k axes falls with k."""
    errors = found.errors["falling variance"][:4]
    told = ", ".join(f"{name} {e:.2g}" for name, e in zip(SETS, errors, strict=False))
    return Verdict(bool((np.diff(errors) < 0).all()), f"squared error an image: {told}")


def without_first(found: Survey, printed: Float[Array, "k"]) -> Verdict:
    """The first 2000 axes cost ten times as much to leave out as all that follow."""
    errors, table = (
        dict(zip(SETS, e.tolist(), strict=True))
        for e in (found.errors["falling variance"], printed)
    )
    later, first = "2000 to 3000", "first 2000"
    evidence = f"squared error of axes {later} {errors[later]:.1f}, of the {first} "
    evidence += f"{errors[first]:.2f}, of the mean image alone {found.variances.sum():.1f}; in "
    evidence += f"the table {table[later]:.2f} and {table[first]:.2f}"
    return Verdict(errors[later] > 10 * errors[first], evidence)


def important_first(found: Survey) -> Verdict:
    """Factors that account for more variance are told better by the first ten axes."""
    told = found.predicted["first 10"]
    names = sorted(told, key=lambda name: -found.alone[name])
    evidence = ", ".join(f"{n} {found.alone[n]:.1%} ({told[n]:.2f})" for n in names)
    values = np.array([told[name] for name in names])
    holds = bool((np.diff(values) < 0.01).all())  # x and y are alike
    return Verdict(holds, f"share of variance (predicted from the first 10 axes): {evidence}")


def blank(found: Survey) -> Verdict:
    """The first 1500 axes leave more than 90 % of the variance."""
    total = found.variances.sum()
    shares = {way: errors[0] / total for way, errors in found.errors.items()}
    evidence = f"the first 1500 axes of falling variance leave {shares['falling variance']:.1%} "
    evidence += f"of the variance, those of rising variance {shares['rising variance']:.2%}"
    return Verdict(bool(shares["falling variance"] > 0.9), evidence)


def only_position(found: Survey) -> Verdict:
    """Position is told from the first 1500 axes, the shape less than half as well as from all."""
    first, whole = found.predicted["first 1500"], found.predicted["the images"]
    told = ", ".join(f"{name} {first[name]:.2f} ({whole[name]:.2f})" for name in first)
    holds = min(first["x"], first["y"]) > KNOWN and first["shape"] < whole["shape"] / 2
    return Verdict(holds, f"predicted from the first 1500 axes (from the images): {told}")


def middle_position(found: Survey) -> Verdict:
    """Position is told from axes 1500 to 2500."""
    later, first = found.predicted["1500 to 2500"], found.predicted["first 10"]
    evidence = f"with {found.held['1500 to 2500']:.2%} of the variance they predict x to "
    evidence += f"{later['x']:.2f}, y to {later['y']:.2f}; but the first 10 axes, with "
    evidence += f"{found.held['first 10']:.0%}, to {first['x']:.2f} and {first['y']:.2f}"
    return Verdict(min(later["x"], later["y"]) > KNOWN, evidence)


def no_late_position(found: Survey) -> Verdict:
    """Less than half of what there is to tell of the position is told from axes 2500 to 3000."""
    last = found.predicted["2500 to 3000"]
    evidence = f"with {found.held['2500 to 3000']:.4%} of the variance they predict x to "
    evidence += f"{last['x']:.2f}, y to {last['y']:.2f}"
    return Verdict(max(last["x"], last["y"]) < 0.5, evidence)


def falling_order(printed: Float[Array, "k"]) -> Verdict:
    """Every 500 axes hold no more variance than any 500 before them."""
    held = -np.diff(printed[:4])
    first = max(totals(printed)) - printed[0]
    evidence = f"by the printed errors the first 1500 axes hold at most {first:.2f}, the next "
    evidence += f"three times 500 hold {', '.join(f'{value:.2f}' for value in held)}, the rest "
    evidence += f"{printed[3]:.2f}"
    return Verdict(bool(first / 3 >= held[0] and (np.diff(held) <= 0).all()), evidence)


def pixel_order(found: Survey, printed: Float[Array, "k"]) -> Verdict:
    """Pixels in reading order fit best, twice as well as any order of axes."""
    misfit = {way: scale_to(errors, printed)[1] for way, errors in found.errors.items()}
    evidence = f"misfit {', '.join(f'{way} {value:.0%}' for way, value in misfit.items())}; "
    low, high = sorted(totals(printed))
    evidence += f"the printed errors agree with each other to {high / low - 1:.0%}"
    others = [value for way, value in misfit.items() if way != "pixels"]
    return Verdict(2 * misfit["pixels"] < min(others), evidence)
