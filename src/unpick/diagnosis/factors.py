"""Which latents hold which factors, in words."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Real

from unpick.diagnosis.findings import Finding
from unpick.metrics import mutual_information_gap
from unpick.metrics.inputs import looks_continuous
from unpick.metrics.scorecard import BINS

SHUFFLES = 3  # to find how much information counting finds in noise
HELD = 0.15  # share of a factor's entropy that a latent holds if it holds the factor at all
COMPARABLE = 1 / 3  # of the largest share, for a second one to count
NAMED = 2  # of a kind that a sentence names


def information_shares(
    codes: Float[np.ndarray, "n d"], factors: Real[np.ndarray, "n k"]
) -> Float[np.ndarray, "d k"]:
    """Mutual information as a share of a factor's entropy, less what shuffled factors show."""
    ranks = factors.argsort(axis=0).argsort(axis=0) * BINS // len(factors)
    continuous = [looks_continuous(column) for column in factors.T]
    labels = np.where(continuous, ranks, factors)
    rng = np.random.default_rng(0)
    found = mutual_information_gap(codes, labels)
    noise = [
        mutual_information_gap(codes, labels[rng.permutation(len(labels))]).matrix
        for _ in range(SHUFFLES)
    ]
    return np.maximum(found.matrix - np.mean(noise, axis=0), 0) / found.entropies


def describe_factors(shares: Float[np.ndarray, "d k"], names: Sequence[str]) -> Finding:
    """Say which latents mix factors, which factors are spread, and which are in no latent.

    Example:
        >>> describe_factors(np.array([[0.9, 0.8], [0.0, 0.0]]), ["hue", "size"]).text
        'Latent 0 mixes hue and size.'
    """
    held = shares >= HELD
    by_latent = held & (shares >= COMPARABLE * shares.max(axis=1, keepdims=True))
    by_factor = held & (shares >= COMPARABLE * shares.max(axis=0, keepdims=True))
    mixed = [
        f"latent {j} mixes {_join([names[int(k)] for k in np.flatnonzero(row)])}"
        for j, row in enumerate(by_latent)
        if row.sum() > 1
    ]
    spread = [
        f"factor {names[k]} is spread over latents {_join([*map(str, np.flatnonzero(column))])}"
        for k, column in enumerate(by_factor.T)
        if column.sum() > 1
    ]
    missing = [names[k] for k, column in enumerate(held.T) if not column.any()]
    said = [*_some(mixed), *_some(spread)]
    if missing:
        said.append(f"no single latent holds {_join(missing, 'or')}")
    if not said:
        own = f"each of the {len(names)} factors has a latent of its own"
        own = own if len(names) > 1 else f"one latent holds {names[0]}"
        return Finding("Factors", "good", _sentence([own]))
    return Finding("Factors", "bad" if mixed or missing else "note", _sentence(said))


def _some(parts: Sequence[str]) -> list[str]:
    more = len(parts) - NAMED
    return [*parts[:NAMED], *([f"{more} more like it"] if more > 0 else [])]


def _join(words: Sequence[str], last: str = "and") -> str:
    if len(words) > 4:
        words = [*words[:3], f"{len(words) - 3} more"]
    return f" {last} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _sentence(parts: Sequence[str]) -> str:
    text = "; ".join(parts)
    return text[0].upper() + text[1:] + "."
