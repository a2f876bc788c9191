"""Matrices to try claims on; almost degenerate ones too."""

from typing import Literal, get_args

import numpy as np
from jaxtyping import Float

Array = np.ndarray
Kind = Literal["plain", "scaled", "parallel", "flat", "close", "equal", "orthogonal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NUMBERS: tuple[Kind, ...] = ("plain", "scaled", "close", "equal")  # those of `positive`
GENERAL: tuple[Kind, ...] = ("plain", "scaled", "parallel", "flat")  # distinct singular values


def decoder(draw: np.random.Generator, kind: Kind) -> Float[Array, "p d"]:
    """A matrix with 2 to 5 columns and more rows than columns.

    plain: Gaussian entries. scaled: columns of lengths 0.001 to 1000. parallel: two columns at an
    angle of about 1e-4. flat: the last singular value 1e-7 of the first. close: singular values
    that differ by about 1e-6. equal: all singular values the same. orthogonal: columns that are
    orthogonal, in any order.
    """
    d = int(draw.integers(2, 6))
    p = d + int(draw.integers(1, 4))
    m = draw.normal(size=(p, d))
    if kind == "scaled":
        return m * 10 ** draw.uniform(-3, 3, d)
    if kind == "parallel":
        m[:, 1] = m[:, 0] + 1e-4 * m[:, 1]
        return m
    if kind == "plain":
        return m
    values = {
        "flat": np.geomspace(1, 1e-7, d),
        "close": 1 + 1e-6 * draw.uniform(size=d),
        "equal": np.ones(d),
        "orthogonal": np.exp(draw.normal(size=d)),
    }[kind]
    basis = orthonormal(draw, p, d) * values
    return basis if kind == "orthogonal" else basis @ rotation(draw, d).T


def square(draw: np.random.Generator, kind: Kind) -> Float[Array, "d d"]:
    """A non-singular square matrix of that kind."""
    m = decoder(draw, kind)
    _, values, vt = np.linalg.svd(m, full_matrices=False)
    return rotation(draw, len(values)) @ np.diag(values) @ vt


def covariance(draw: np.random.Generator, kind: Kind) -> Float[Array, "d d"]:
    """A positive definite matrix."""
    m = decoder(draw, kind)
    return m.T @ m


def positive(draw: np.random.Generator, kind: Kind) -> Float[Array, "k"]:
    """Two to six positive numbers: any, of sizes far apart, almost equal, or equal."""
    k = int(draw.integers(2, 7))
    if kind == "equal":
        return np.full(k, float(np.exp(draw.normal())))
    if kind == "close":
        return 1 + 1e-6 * draw.uniform(size=k)
    return np.exp(draw.normal(size=k) * (7 if kind == "scaled" else 1))


def rotation(draw: np.random.Generator, d: int) -> Float[Array, "d d"]:
    """An orthogonal matrix, uniform (Haar)."""
    q, r = np.linalg.qr(draw.normal(size=(d, d)))
    return q * np.sign(np.diag(r))


def orthonormal(draw: np.random.Generator, p: int, d: int) -> Float[Array, "p d"]:
    """Columns that are orthonormal, uniform."""
    return rotation(draw, p)[:, :d]
