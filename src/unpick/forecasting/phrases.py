"""Phrases that several findings, tables and pictures share."""

from collections.abc import Sequence

from unpick.forecasting.result import FactorForecast, Forecast, PairForecast
from unpick.pages import Note
from unpick.pages.page import Mark

NAMED = 4  # pairs that a sentence names


def note(title: str, mark: Mark, text: str) -> Note:
    """A finding; its words may be the user's, so they are literal."""
    return Note(text, title, mark, literal=True)


def join(words: Sequence[str]) -> str:
    """Words with commas and an and.

    Example:
        >>> join(["x", "y", "scale"])
        'x, y and scale'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def name_pairs(pairs: Sequence[PairForecast]) -> str:
    """The first pairs, the most confused first, and how many more."""
    ranked = sorted(pairs, key=lambda p: -p.confusion)
    return _listed(
        [f"{p.first} with {p.second} (confusion {p.confusion:.2f} of 1)" for p in ranked]
    )


def name_doubts(pairs: Sequence[PairForecast]) -> str:
    """The first pairs, the most doubtful first, with how often the points agree."""
    ranked = sorted(pairs, key=lambda p: p.sureness)
    return _listed(
        [f"{p.first} with {p.second} ({p.fate} in {p.sureness:.0%} of them)" for p in ranked]
    )


def name_correlations(pairs: Sequence[PairForecast]) -> str:
    """The first pairs, the most correlated first."""
    ranked = sorted(pairs, key=lambda p: -abs(p.correlation))
    return _listed([f"{p.first} with {p.second} ({p.correlation:.2f})" for p in ranked])


def _listed(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join([*names[:NAMED], f"{more} more pairs"] if more > 0 else names)


def directed(found: Forecast) -> list[FactorForecast]:
    """The factors with a direction."""
    return [f for f in found.factors if f.length is not None and not f.noise]


def factor_text(factor: FactorForecast) -> str:
    """Name and kind, for labels."""
    return factor.name if factor.kind == "ordered" else f"{factor.name} ({factor.kind})"
