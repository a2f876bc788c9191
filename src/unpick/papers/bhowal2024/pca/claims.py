"""What Bhowal et al. (2024, appendix A.8.6) say of principal axes, as predicates."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from unpick.papers.bhowal2024.pca.readings import SETS, Survey, survey_of
from unpick.papers.bhowal2024.published import published
from unpick.study.study import Check, Results, Verdict

Array = np.ndarray
KNOWN = 0.9  # R^2 from which a position counts as captured
PRINTED = np.array([published("bhowal-pca", "dsprites", name)["loss"].mean for name in SETS])


def on_survey(check: Callable[[Survey], Verdict]) -> Check:
    """The same check as a function of the study's results."""

    def of_results(results: Results) -> Verdict:
        return check(survey_of(results))

    return of_results


def scale_to(errors: Float[Array, "k"], printed: Float[Array, "k"]) -> tuple[Array, float]:
    """Errors in the unit that fits the printed ones best, and the misfit.

    Root mean square difference, as a share of the mean printed error.
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


def more_axes(survey: Survey) -> Verdict:
    """The error of the first k axes falls with k."""
    errors = survey.errors["falling variance"][:4]
    listed = ", ".join(f"{name} {e:.2g}" for name, e in zip(SETS, errors, strict=False))
    return Verdict(bool((np.diff(errors) < 0).all()), f"squared error an image: {listed}")


def without_first(survey: Survey, printed: Float[Array, "k"] = PRINTED) -> Verdict:
    """Leaving out the first 2000 axes costs ten times as much as leaving out all others."""
    errors, table = (
        dict(zip(SETS, e.tolist(), strict=True))
        for e in (survey.errors["falling variance"], printed)
    )
    later, first = "2000 to 3000", "first 2000"
    evidence = f"squared error of axes {later} {errors[later]:.1f}, of the {first} "
    evidence += f"{errors[first]:.2f}, of the mean image alone {survey.total:.1f}; in "
    evidence += f"the table {table[later]:.2f} and {table[first]:.2f}"
    return Verdict(errors[later] > 10 * errors[first], evidence)


def important_first(survey: Survey) -> Verdict:
    """The first ten axes predict factors that account for more variance better."""
    predicted = survey.predicted["first 10"]
    names = sorted(predicted, key=lambda name: -survey.alone[name])
    evidence = ", ".join(f"{n} {survey.alone[n]:.1%} ({predicted[n]:.2f})" for n in names)
    values = np.array([predicted[name] for name in names])
    holds = bool((np.diff(values) < 0.01).all())  # x and y are alike
    return Verdict(holds, f"share of variance (predicted from the first 10 axes): {evidence}")


def blank(survey: Survey) -> Verdict:
    """The first 1500 axes leave more than 90 % of the variance."""
    shares = {order: errors[0] / survey.total for order, errors in survey.errors.items()}
    evidence = f"the first 1500 axes of falling variance leave {shares['falling variance']:.1%} "
    evidence += f"of the variance, those of rising variance {shares['rising variance']:.2%}"
    return Verdict(bool(shares["falling variance"] > 0.9), evidence)


def only_position(survey: Survey) -> Verdict:
    """The first 1500 axes predict position, and the shape less than half as well as all do."""
    first, whole = survey.predicted["first 1500"], survey.predicted["the images"]
    listed = ", ".join(f"{name} {first[name]:.2f} ({whole[name]:.2f})" for name in first)
    holds = min(first["x"], first["y"]) > KNOWN and first["shape"] < whole["shape"] / 2
    return Verdict(holds, f"predicted from the first 1500 axes (from the images): {listed}")


def middle_position(survey: Survey) -> Verdict:
    """Axes 1500 to 2500 predict the position."""
    later, first = survey.predicted["1500 to 2500"], survey.predicted["first 10"]
    evidence = f"with {survey.held['1500 to 2500']:.2%} of the variance they predict x to "
    evidence += f"{later['x']:.2f}, y to {later['y']:.2f}; but the first 10 axes, with "
    evidence += f"{survey.held['first 10']:.0%}, to {first['x']:.2f} and {first['y']:.2f}"
    return Verdict(min(later["x"], later["y"]) > KNOWN, evidence)


def no_late_position(survey: Survey) -> Verdict:
    """Axes 2500 to 3000 predict less than half of the variance of the position."""
    last = survey.predicted["2500 to 3000"]
    evidence = f"with {survey.held['2500 to 3000']:.4%} of the variance they predict x to "
    evidence += f"{last['x']:.2f}, y to {last['y']:.2f}"
    return Verdict(max(last["x"], last["y"]) < 0.5, evidence)


def in_sight(axes: str, survey: Survey) -> Verdict:
    """What these axes draw can be seen: they hold 10 % of the variance, more than a blank image.

    A picture is what the paper judges by; `predicted` asks what could be computed from one.
    """
    held = survey.held[axes]
    return Verdict(bool(held >= 0.1), f"they hold {held:.2g} of the variance")


def out_of_sight(axes: str, survey: Survey) -> Verdict:
    """They hold less."""
    seen = in_sight(axes, survey)
    return replace(seen, holds=not seen.holds)


def falling_order(printed: Float[Array, "k"] = PRINTED) -> Verdict:
    """Every 500 axes hold no more variance than any 500 before them."""
    held = -np.diff(printed[:4])
    first = max(totals(printed)) - printed[0]
    evidence = f"by the printed errors the first 1500 axes hold at most {first:.2f}, the next "
    evidence += f"three times 500 hold {', '.join(f'{value:.2f}' for value in held)}, the rest "
    evidence += f"{printed[3]:.2f}"
    return Verdict(bool(first / 3 >= held[0] and (np.diff(held) <= 0).all()), evidence)


def pixel_order(survey: Survey, printed: Float[Array, "k"] = PRINTED) -> Verdict:
    """Pixels in reading order fit best, twice as well as any order of axes."""
    misfit = {order: scale_to(errors, printed)[1] for order, errors in survey.errors.items()}
    evidence = f"misfit {', '.join(f'{order} {value:.0%}' for order, value in misfit.items())}; "
    low, high = sorted(totals(printed))
    evidence += f"the printed errors agree with each other to {high / low - 1:.0%}"
    others = [value for order, value in misfit.items() if order != "pixels"]
    return Verdict(2 * misfit["pixels"] < min(others), evidence)
