"""Cosines, lengths and rotations of a matrix's columns."""

import numpy as np
from jaxtyping import Float

Array = np.ndarray


def cosines(m: Float[Array, "p d"]) -> Float[Array, "d d"]:
    """Cosines between columns; a zero column is orthogonal to all others."""
    lengths = np.linalg.norm(m, axis=0)
    unit = m / np.where(lengths > 0, lengths, 1.0)
    return np.asarray(unit.T @ unit)


def largest_cosine(m: Float[Array, "p d"]) -> float:
    """The largest absolute cosine between two columns."""
    return float(np.abs(np.tril(cosines(m), -1)).max())


def mixing(v: Float[Array, "d d"]) -> float:
    """How far an orthogonal matrix is from a signed permutation, which gives 0."""
    return float(np.minimum(np.abs(v), np.abs(1 - np.abs(v))).max())


def plane_turn(d: int, i: int, j: int, angle: float) -> Float[Array, "d d"]:
    """The rotation of coordinates i and j by an angle in radians."""
    turn = np.eye(d)
    turn[[i, j], [i, j]] = np.cos(angle)
    turn[i, j], turn[j, i] = -np.sin(angle), np.sin(angle)
    return turn


def turned(m: Float[Array, "p 2"], degrees: float) -> Float[Array, "p 2"]:
    """M R^T: a decoder whose latent space is turned counter-clockwise."""
    a = np.radians(degrees)
    return m @ np.array([[np.cos(a), np.sin(a)], [-np.sin(a), np.cos(a)]])


def column_product(m: Float[Array, "p d"]) -> float:
    """Product of the columns' lengths."""
    return float(np.linalg.norm(m, axis=0).prod())
