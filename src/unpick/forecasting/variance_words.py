"""Global and local variance in words, with factors and without."""

from unpick.forecasting.phrases import directed, note
from unpick.forecasting.result import Forecast
from unpick.forecasting.spectra import Spectra
from unpick.pages import Note
from unpick.pages.page import Mark

SELDOM = 0.2  # share of points with two long directions alike, below which most tell them apart


def variance(found: Forecast) -> Note:
    """PCA of the whole set against the local directions."""
    spectra, count = found.spectra, len(directed(found))
    factors = "1 factor" if count == 1 else f"{count} factors"
    where = f"of the map from {factors} at a point" if count else "in a neighbourhood"
    local = ", ".join(f"{each:.3g}" for each in spectra.local_deviations[:5])
    whole = ", ".join(f"{each:.3g}" for each in spectra.global_deviations[:5])
    text = (
        f"{_components(spectra)} 90 % of the variance of all "
        f"observations, {spectra.local_components:.1f} that {where}. Standard deviations of all "
        f"observations: {whole}; {where}: {local}."
    )
    # Only a grid has all that varies among its factors.
    whole_grid = all(factor.values for factor in found.factors)
    if whole_grid and spectra.global_components > 2 * max(1.0, spectra.local_components):
        text += " The data are strongly curved: global PCA says little about the latents."
    return note("Global and local variance", "note", text)


def neighbourhoods(found: Forecast) -> Note:
    """What local PCA says without factors."""
    spectra = found.spectra
    lead = ", ".join(f"{each:.3g}" for each in spectra.local_deviations[:5])
    mark, verdict = _compare_longest(spectra)
    text = (
        f"{_components(spectra)} 90 % of the variance of all "
        f"observations, and {spectra.local_components:.1f} hold 90 % of that of a neighbourhood "
        f"of {spectra.nearest}. Standard deviations in a neighbourhood: {lead}. {verdict}"
    )
    return note("Neighbourhoods", mark, text)


def _components(spectra: Spectra) -> str:
    count = spectra.global_components
    return "1 principal component holds" if count == 1 else f"{count} principal components hold"


def _compare_longest(spectra: Spectra) -> tuple[Mark, str]:
    """Whether the two longest local directions differ in length."""
    if sum(each > 0 for each in spectra.local_deviations) < 2:
        return "note", "A neighbourhood has fewer than two directions, so there are none to mix."
    text = (
        f"The two longest directions lie within 20 % of each other at {spectra.close:.0%} of the "
        "points: "
    )
    if spectra.close > 0.5:
        return "bad", text + "latents may lie at any angle to them, and restarts will differ."
    if spectra.close > SELDOM:
        return "note", text + "the other points tell them apart, and restarts may differ."
    return "note", text + "most points tell them apart."


def without_factors() -> Note:
    """What local PCA cannot say."""
    return note(
        "What this cannot tell",
        "note",
        "Local PCA shows how many directions vary and whether their lengths differ, so whether "
        "latent axes are determined at all. Without factors nobody knows what these directions "
        "mean, whether two factors share one, or which will be mixed. Neighbours in a small "
        "sample lie far apart: their directions blur what a VAE sees. Columns of a table can be "
        "named as factors (--factors).",
    )
