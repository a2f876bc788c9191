"""A forecast in words."""

from collections.abc import Sequence

from unpick.forecasting.pairs import OPEN
from unpick.forecasting.result import FactorForecast, Forecast, PairForecast
from unpick.pages import Note
from unpick.pages.page import Mark

NAMED = 4  # pairs that a sentence names
JAGGED = 0.5  # share of a squared length that survives averaging; less is told
SURE = 3.0  # times the stake at which restarts differ: the data decide firmly


def describe(found: Forecast) -> tuple[Note, ...]:
    """The findings, the most important first."""
    if not found.factors:
        return (_neighbourhoods(found), _without_factors())
    notes = [_outlook(found)]
    notes += [_pairs(found)] if found.pairs else []
    notes += [_circles(circles)] if (circles := _names(found, "periodic")) else []
    notes += [_classes(classes)] if (classes := _names(found, "categorical")) else []
    notes += [_order(found), *_axes(found), _variance(found), *_jumps(found), *_scores(found)]
    return (*notes, _trust(found)) if found.pairs else tuple(notes)


def _outlook(found: Forecast) -> Note:
    """The bottom line: who is told apart, who is mixed, where restarts differ."""
    blurred = {name for p in found.pairs if p.fate != "told apart" for name in (p.first, p.second)}
    apart = [f.name for f in found.factors if f.kind == "ordered" and f.name not in blurred]
    if not found.pairs:
        return _note(
            "Outlook", "note", "Fewer than two factors have an order, so there is no pair to mix."
        )
    parts = []
    if apart:
        parts.append(f"A VAE is likely to give a latent of its own to {join(apart)}.")
    for fate, text in (
        ("mixed", "It is likely to mix"),
        ("open", "Restarts will differ on"),
    ):
        pairs = [p for p in found.pairs if p.fate == fate]
        if pairs:
            parts.append(f"{text} {name_pairs(pairs)}.")
    mark: Mark = "good" if not blurred else "bad"
    return _note("Outlook", mark, " ".join(parts))


def _pairs(found: Forecast) -> Note:
    """Why: cosines and lengths."""
    lengths = ", ".join(
        f"{f.name} {f.length:.3g}"
        for f in sorted(found.factors, key=lambda f: -(f.length or 0))
        if f.length is not None
    )
    text = f"An observation moves per standard deviation of a factor by: {lengths}."
    worst = max(found.pairs, key=lambda p: p.confusion)
    text += f" The pair at most risk is {_reason(worst)}"
    blurred = [p for p in found.pairs if p.fate != "told apart"]
    mark: Mark = "note" if blurred else "good"
    return _note("Directions", mark, text)


def _reason(pair: PairForecast) -> str:
    """Cosine, lengths, angle and stake of one pair."""
    where = (
        "the cheapest axes are the factors' own"
        if abs(pair.angle) < 1
        else f"the cheapest axes lie {abs(pair.angle):.0f} degrees from the factors' own"
    )
    how = "too little to decide" if pair.fate == "open" else "enough to decide"
    if pair.fate != "open" and pair.stake < SURE * OPEN:
        how = "just enough to decide"
    return (
        f"{pair.first} and {pair.second}: their lengths lie within 20 % of each other at "
        f"{pair.close:.0%} of the points, their directions have a cosine of {pair.cosine:.2f}, "
        f"{where}, and {pair.stake:.2g} nats are at stake, which is {how}."
    )


def _circles(names: Sequence[str]) -> Note:
    return _note(
        "Circles",
        "note",
        f"{join(names)} {'returns' if len(names) == 1 else 'return'} to the start, so there is no "
        "axis: expect a circle in two latents (a polar embedding, with another factor as the "
        "radius), or one latent that cuts the circle open. A circle scores low on MIG, "
        "whatever else is well.",
    )


def _classes(names: Sequence[str]) -> Note:
    return _note(
        "Classes",
        "note",
        f"The values of {join(names)} have no order, so there is no direction to align with. "
        "Classes end up anywhere along latents that also hold other factors; no forecast is made "
        "of which.",
    )


def _order(found: Forecast) -> Note:
    """Savings per nat, and betas to try."""
    assert found.betas is not None
    rows = sorted(found.factors, key=lambda f: -f.saving)
    listed = ", ".join(f"{f.name} {f.saving:.3g}" for f in rows)
    low, high = found.betas
    text = (
        f"As beta grows, factors disappear in this order: {', '.join(found.order)}. What each "
        f"saves per nat, {found.likelihood}: {listed}. Try beta from {low:.2g} to {high:.2g}, "
        "beside a loss that is summed over the values of an observation"
    )
    if len(found.shape) == 3:
        text += "; at twice the pixels a side it is four times that"
    return _note("Beta", "note", f"{text}.")


def _axes(found: Forecast) -> list[Note]:
    """The generator's own DtO."""
    if found.dto is None or found.chance is None:
        return []
    share = found.dto / found.chance
    mark: Mark = "good" if share < 0.3 else "note" if share < 0.6 else "bad"
    word = {"good": "close to", "note": "partly", "bad": "far from"}[mark]
    text = (
        f"The factors' directions are {word} the principal directions of the data at the same "
        f"point: distance to orthogonality {found.dto:.2f}, {share:.0%} of a random rotation's "
        f"{found.chance:.2f}."
    )
    text = text.replace("are partly the", "are in part the")
    return [_note("Axes", mark, text)]


def _variance(found: Forecast) -> Note:
    """PCA of the whole set against the local directions."""
    spectra = found.spectra
    directed = sum(f.length is not None for f in found.factors)
    where = f"of the map from {directed} factors at a point" if directed else "in a neighbourhood"
    local = ", ".join(f"{each:.3g}" for each in spectra.local_deviations[:5])
    whole = ", ".join(f"{each:.3g}" for each in spectra.global_deviations[:5])
    text = (
        f"{spectra.global_components} principal components hold 90 % of the variance of all "
        f"observations, {spectra.local_components:.1f} that {where}. Standard deviations of all "
        f"observations: {whole}; {where}: {local}."
    )
    # Only a grid has all that varies among its factors.
    whole_grid = all(factor.values for factor in found.factors)
    if whole_grid and spectra.global_components > 2 * max(1.0, spectra.local_components):
        text += " The data are strongly curved: global PCA says little about the latents."
    return _note("Global and local variance", "note", text)


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
    return [_note("Jumps", "note", text)]


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
    return [_note("Scores", "note", text)]


def _trust(found: Forecast) -> Note:
    """What came true so far; docs/results/forecast.md has the numbers."""
    text = "On 12 point clouds the forecasts of who is mixed, DtO and MIG ranked as measured."
    mark: Mark = "note"
    if len(found.shape) == 3:
        mark = "bad"
        text = (
            "On images only the order in which factors disappear came true so far. Who is mixed, "
            "DtO and MIG did not: short factors shared latents with long ones, which this "
            "forecast does not see."
        )
    return _note("How far to trust this", mark, f"{text} See the study `forecast`.")


def _neighbourhoods(found: Forecast) -> Note:
    """What local PCA says without factors."""
    spectra = found.spectra
    lead = ", ".join(f"{each:.3g}" for each in spectra.local_deviations[:5])
    text = (
        f"{spectra.global_components} principal components hold 90 % of the variance of all "
        f"observations, and {spectra.local_components:.1f} hold 90 % of that of a neighbourhood "
        f"of 40. Standard deviations in a neighbourhood: {lead}. "
    )
    blurred = spectra.close > 0.5
    text += f"The two longest directions lie within 20 % of each other at {spectra.close:.0%} of "
    text += "the points: " + (
        "latents may lie at any angle to them, and restarts will differ."
        if blurred
        else "most points tell them apart."
    )
    return _note("Neighbourhoods", "bad" if blurred else "note", text)


def _without_factors() -> Note:
    return _note(
        "What this cannot tell",
        "note",
        "Local PCA shows how many directions vary and whether their lengths differ, so whether "
        "latent axes are determined at all. Without factors nobody knows what these directions "
        "mean, whether two factors share one, or which will be mixed. Neighbours in a small "
        "sample lie far apart: their directions blur what a VAE sees. Columns of a table can be "
        "named as factors (--factors).",
    )


def _names(found: Forecast, kind: str) -> list[str]:
    return [factor.name for factor in found.factors if factor.kind == kind]


def name_pairs(pairs: Sequence[PairForecast]) -> str:
    """The first pairs, the most confused first, and how many more."""
    ranked = sorted(pairs, key=lambda p: -p.confusion)
    listed = [f"{p.first} with {p.second} ({p.confusion:.2f})" for p in ranked[:NAMED]]
    more = len(ranked) - len(listed)
    return ", ".join([*listed, f"{more} more pairs"] if more else listed)


def join(words: Sequence[str]) -> str:
    """Words with commas and an and.

    Example:
        >>> join(["x", "y", "scale"])
        'x, y and scale'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def factor_text(factor: FactorForecast) -> str:
    """Name and kind, for labels."""
    return factor.name if factor.kind == "ordered" else f"{factor.name} ({factor.kind})"


def _note(title: str, mark: Mark, text: str) -> Note:
    return Note(text, title, mark, literal=True)
