"""A forecast in words."""

from collections.abc import Sequence

from unpick.forecasting.pairs import OPEN
from unpick.forecasting.phrases import (
    directed,
    join,
    name_correlations,
    name_doubts,
    name_pairs,
    note,
)
from unpick.forecasting.result import Forecast, PairForecast
from unpick.forecasting.variance_words import neighbourhoods, variance, without_factors
from unpick.pages import Note
from unpick.pages.page import Mark

JAGGED = 0.5  # share of a squared length that survives averaging; less is told
FIRM = 3.0  # times the stake at which restarts differ: the data decide firmly
SURE = 0.9  # share of bootstrap samples with the same fate; less is in doubt
CORRELATED = 0.3  # correlation of two factors that is told


def describe(found: Forecast) -> tuple[Note, ...]:
    """The findings, the most important first."""
    if not found.factors:
        return (neighbourhoods(found), without_factors())
    notes = [_outlook(found), *_noise(found), *_correlated(found)]
    notes += [_pairs(found)] if found.pairs else []
    notes += [_circles(circles)] if (circles := _names(found, "periodic")) else []
    notes += [_classes(classes)] if (classes := _names(found, "categorical")) else []
    notes += [_order(found), *_axes(found), variance(found), *_jumps(found), *_scores(found)]
    return (*notes, _trust(found)) if found.pairs else tuple(notes)


def _outlook(found: Forecast) -> Note:
    """The bottom line: who is told apart, who is mixed, where restarts differ."""
    if not found.pairs:
        return note(
            "Outlook",
            "note",
            "Fewer than two factors have a direction, so there is no pair to mix.",
        )
    blurred = {name for p in found.pairs if p.fate != "told apart" for name in (p.first, p.second)}
    apart = [f.name for f in directed(found) if f.kind == "ordered" and f.name not in blurred]
    images = len(found.shape) == 3
    parts = []
    if images:
        parts.append(
            "This is a question, not an answer: on images the study `forecast` has refuted "
            "forecasts of who is mixed so far."
        )
    if apart:
        gives = "By its directions alone, a VAE would" if images else "A VAE is likely to"
        parts.append(f"{gives} give a latent of its own to {join(apart)}.")
    for fate, text in (
        ("mixed", "It would mix" if images else "It is likely to mix"),
        ("open", "Restarts would differ on" if images else "Restarts will differ on"),
    ):
        pairs = [p for p in found.pairs if p.fate == fate]
        if pairs:
            parts.append(f"{text} {name_pairs(pairs)}.")
    doubtful = [p for p in found.pairs if p.sureness < SURE]
    if doubtful:
        parts.append(
            f"In doubt, by bootstrap samples of the points: {name_doubts(doubtful)}. "
            "More points (--jacobians) may decide."
        )
    mark: Mark = "note" if images or (doubtful and not blurred) else "bad" if blurred else "good"
    return note("Outlook", mark, " ".join(parts))


def _noise(found: Forecast) -> list[Note]:
    """Factors whose directions are not told from noise."""
    names = [f.name for f in found.factors if f.noise]
    if not names:
        return []
    one = len(names) == 1
    text = (
        f"{join(names)} {'is' if one else 'are'} not told from noise: what "
        f"{'it changes' if one else 'each of them changes'} in an observation may be chance. "
        f"Nothing is foretold of {'it' if one else 'them'}, and what "
        f"{'it saves' if one else 'they save'} counts as 0. More observations may tell more."
    )
    return [note("Noise", "bad", text)]


def _correlated(found: Forecast) -> list[Note]:
    """Pairs of correlated factors."""
    pairs = [p for p in found.pairs if abs(p.correlation) >= CORRELATED]
    if not pairs:
        return []
    text = (
        f"Factors are correlated: {name_correlations(pairs)}. Latents are uncorrelated, so a VAE "
        "cannot give each of two correlated factors a latent of its own. It takes uncorrelated "
        "combinations, such as their sum and their difference. Pairs are judged as such "
        "combinations."
    )
    return [note("Correlation", "bad", text)]


def _pairs(found: Forecast) -> Note:
    """Why: cosines and lengths."""
    lengths = ", ".join(
        f"{f.name} {f.length:.3g}" for f in sorted(directed(found), key=lambda f: -(f.length or 0))
    )
    text = f"An observation moves per standard deviation of a factor by: {lengths}."
    worst = max(found.pairs, key=lambda p: p.confusion)
    text += f" The pair at most risk is {_reason(worst)}"
    blurred = any(p.fate != "told apart" for p in found.pairs)
    mark: Mark = "note" if blurred or len(found.shape) == 3 else "good"
    return note("Directions", mark, text)


def _reason(pair: PairForecast) -> str:
    """Cosine, lengths, angle and stake of one pair."""
    where = (
        "the cheapest axes are the factors' own"
        if abs(pair.angle) < 1
        else f"the cheapest axes lie {abs(pair.angle):.0f} degrees from the factors' own"
    )
    how = "too little to decide" if pair.fate == "open" else "enough to decide"
    if pair.fate != "open" and pair.stake < FIRM * OPEN:
        how = "just enough to decide"
    return (
        f"{pair.first} and {pair.second}: their lengths lie within 20 % of each other at "
        f"{pair.close:.0%} of the points, their directions have a cosine of {pair.cosine:.2f}, "
        f"{where}, and {pair.stake:.2g} nats are at stake, which is {how}."
    )


def _circles(names: Sequence[str]) -> Note:
    return note(
        "Circles",
        "note",
        f"{join(names)} {'returns' if len(names) == 1 else 'return'} to the start, so there is no "
        "axis: expect a circle in two latents (a polar embedding, with another factor as the "
        "radius), or one latent that cuts the circle open. A circle scores low on MIG, "
        "whatever else is well.",
    )


def _classes(names: Sequence[str]) -> Note:
    return note(
        "Classes",
        "note",
        f"The values of {join(names)} have no order, so there is no direction to align with. "
        "Classes end up anywhere along latents that also hold other factors; no forecast is made "
        "of which.",
    )


def _order(found: Forecast) -> Note:
    """Savings per nat, and betas to try."""
    if found.betas is None:
        return note("Beta", "note", "No factor is known to save anything: no beta is suggested.")
    rows = sorted((f for f in found.factors if not f.noise), key=lambda f: -f.saving)
    listed = ", ".join(f"{f.name} {f.saving:.3g}" for f in rows)
    low, high = found.betas
    text = (
        f"As beta grows, factors disappear in this order: {', '.join(found.order)}. What each "
        f"saves per nat, {found.likelihood}: {listed}. Try beta from {low:.2g} to {high:.2g}, "
        "beside a loss that is summed over the values of an observation"
    )
    if len(found.shape) == 3:
        text += "; at twice the pixels a side it is four times that"
    return note("Beta", "note", f"{text}.")


def _axes(found: Forecast) -> list[Note]:
    """The generator's own DtO."""
    if found.dto is None or found.chance is None:
        return []
    share = found.dto / found.chance
    mark: Mark = "good" if share < 0.3 else "note" if share < 0.6 else "bad"
    word = {"good": "close to", "note": "partly", "bad": "far from"}[mark]
    mixed = any(abs(p.correlation) >= CORRELATED for p in found.pairs)
    whose = "uncorrelated combinations of the factors" if mixed else "the factors"
    text = (
        f"The directions of {whose} are {word} the principal directions of the data at the same "
        f"point: distance to orthogonality {found.dto:.2f}, {share:.0%} of a random rotation's "
        f"{found.chance:.2f}."
    )
    text = text.replace("are partly the", "are in part the")
    return [note("Axes", mark, text)]


def _jumps(found: Forecast) -> list[Note]:
    """Factors whose plain differences are mostly jumps."""
    jagged = [
        f.name
        for f in found.factors
        if f.length is not None and f.one_step and f.length**2 < JAGGED * f.one_step**2
    ]
    if not jagged:
        return []
    text = (
        f"More than half of what one step of {join(jagged)} does cancels between neighbouring "
        "observations: pixels jump, or there is noise. Lengths then depend on how far one looks. "
        f"Plain differences over one step give a DtO of {found.one_step_dto or 0:.2f}."
    )
    return [note("Jumps", "note", text)]


def _scores(found: Forecast) -> list[Note]:
    """Ranges of DtO and MIG."""
    ahead = found.prediction
    if ahead is None or ahead.dto is None or ahead.mig is None:
        return []
    text = (
        f"A well-trained beta-VAE at beta {ahead.beta:.2g} should have a distance to "
        f"orthogonality of {ahead.dto[0]:.0%} to {ahead.dto[1]:.0%} of chance and a MIG of "
        f"{ahead.mig[0]:.2f} to {ahead.mig[1]:.2f}. This is what ideal codes would have; "
        "models that are trained too briefly or pruned too hard fall outside."
    )
    return [note("Scores", "note", text)]


def _trust(found: Forecast) -> Note:
    """What came true so far; docs/results/forecast.md has the numbers."""
    text = (
        "On 12 synthetic point clouds the forecasts of who is mixed, DtO and MIG ranked as "
        "measured (rank correlations 0.62 to 0.66). No table of real data was tried."
    )
    mark: Mark = "note"
    if len(found.shape) == 3:
        mark = "bad"
        text = (
            "On images only the order in which factors disappear came true so far. Who is mixed, "
            "DtO and MIG did not: short factors shared latents with long ones, which this "
            "forecast does not see."
        )
    return note("How far to trust this", mark, f"{text} See the study `forecast`.")


def _names(found: Forecast, kind: str) -> list[str]:
    return [f.name for f in found.factors if f.kind == kind and not f.noise]
