"""What the page asks for, as plain values that JSON can hold. Nothing here knows about HTTP."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from unpick.diagnosis.figures import as_images
from unpick.explorer.pictures import rounded, show, show_changes
from unpick.explorer.subject import Subject, prior_draw
from unpick.geometry import decoder_jacobians, haar_distance
from unpick.geometry.orthogonality import nearest_signed_permutation, signed_permutation_distance
from unpick.geometry.singular import gram, singular_directions
from unpick.metrics import mutual_information_gap
from unpick.probe.codes import encode_all
from unpick.probe.trace import without_trace

STEPS = 9  # of a traversal
REACH = 2.5  # deviations that a slider covers to either side
ROWS = 16  # latents shown as traversals and Jacobian columns, at most
PLANE = 7  # steps of each side of a plane of two latents
CLOUD = 800  # points of a scatter or a cloud
COLUMNS = 200  # values of an observation that is no image, at most
FEWEST = 30  # observations from which information about factors is estimated
VALUES = 20  # of a factor up to which its values count as they are


def describe(subject: Subject) -> dict[str, Any]:
    """What the page must know about a model before anything is drawn."""
    probe = subject.probe
    images = as_images(probe.observations[:1])
    size = int(np.prod(probe.shape))
    return {
        "name": subject.name,
        "kind": "image" if images is not None else "cloud" if size <= 3 else "table",
        "shape": list(probe.shape),
        "columns": column_names(subject)[:COLUMNS],
        "observations": len(probe),
        "order": subject.order,
        "active": subject.active.tolist(),
        "centre": rounded(subject.centre),
        "spread": rounded(subject.spread),
        "variance": None if subject.mean_variance is None else rounded(subject.mean_variance),
        "reach": rounded(reach(subject)),
        "factors": list(probe.factor_names) if probe.factors is not None else [],
        "likelihood": probe.likelihood,
        "beta": probe.beta,
        "python": subject.python,
    }


def column_names(subject: Subject) -> list[str]:
    """What the values of an observation are called: by the user, or by their place."""
    data = subject.probe.dataset
    known = subject.columns or (() if data is None else data.columns)
    return [*known] or [f"value {k + 1}" for k in range(math.prod(subject.probe.shape))]


def reach(subject: Subject) -> Float[Tensor, "d"]:
    """How far a slider goes to either side of the latent's centre."""
    spread = subject.spread
    if subject.mean_variance is not None:
        spread = spread.clamp(min=1.0)  # the prior's, so that passive latents move as well
    return REACH * spread.clamp(min=1e-3)


def start(subject: Subject, row: int | None, seed: int = 0) -> dict[str, Any]:
    """A point to start from: the code of an observation, or a draw from the prior."""
    probe = subject.probe
    if row is None:
        z = prior_draw(subject, seed)
        return {"z": rounded(z), "row": None, "original": None, **decoded(subject, z)}
    if not 0 <= row < len(probe):
        raise ValueError(f"row must lie in 0..{len(probe) - 1}, got {row}")
    z = probe.mean[row].cpu().double()
    found = {
        "z": rounded(z),
        "row": row,
        "original": show(probe, probe.observations[row, None])[0],
    }
    if probe.variance is not None:
        found["width"] = rounded(probe.variance[row].cpu().sqrt())
    if probe.factors is not None:
        named = zip(probe.factor_names, probe.factors[row], strict=True)
        found["values"] = {name: float(value) for name, value in named}
    return found | decoded(subject, z)


def decoded(subject: Subject, z: Float[Tensor, "d"]) -> dict[str, Any]:
    """What the decoder makes of one latent point."""
    return {"decoded": show(subject.probe, subject.decode(z[None]))[0]}


def traversals(subject: Subject, z: Float[Tensor, "d"]) -> dict[str, Any]:
    """One latent at a time over its reach, the others at z, important latents first.

    `width` is the posterior's standard deviation along the moved latent, where the decoded
    observation is encoded again: how finely the model tells its values apart there.
    """
    order = subject.order[:ROWS]
    places = torch.linspace(-1, 1, STEPS, dtype=torch.float64)
    points = z.repeat(len(order), STEPS, 1)
    for k, latent in enumerate(order):
        points[k, :, latent] = subject.centre[latent] + places * reach(subject)[latent]
    moved = subject.decode(points.flatten(0, 1))
    frames = show(subject.probe, moved)
    given = moved.numpy() if isinstance(subject.probe.x, np.ndarray) else moved
    with without_trace(subject.probe.encode):
        codes = encode_all(subject.probe.encode, given)
    rows = []
    for k, latent in enumerate(order):
        part = slice(k * STEPS, (k + 1) * STEPS)
        line = {"latent": latent, "at": rounded(points[k, :, latent]), "frames": frames[part]}
        if codes.variance is not None:
            line["width"] = rounded(codes.variance[part, latent].cpu().sqrt(), 3)
        rows.append(line)
    return {"rows": rows}


def geometry(subject: Subject, z: Float[Tensor, "d"]) -> dict[str, Any]:
    """The decoder at one point: Jacobian columns, singular values and directions, DtO."""
    probe, order = subject.probe, subject.order[:ROWS]
    with without_trace(probe.decode):
        jacobian = decoder_jacobians(probe.decoder, z[None].to(probe.mean)).cpu().double()
    columns = jacobian[0].T[order].float().reshape(len(order), *probe.shape)
    found: dict[str, Any] = {
        "order": order,
        "columns": show_changes(probe, columns),
        "lengths": rounded(jacobian[0].norm(dim=0)[order]),
        "active": [],
    }
    active = [k for k in order if subject.active[k]]
    if len(active) < 2 or subject.alignment is None:
        return found
    values, v = singular_directions(gram(jacobian[:, :, active]))
    nearest = nearest_signed_permutation(v)
    unit = torch.nn.functional.normalize(jacobian[0][:, active], dim=0)
    cosines = (unit.T @ unit).abs()
    cosines.fill_diagonal_(-1)
    first, second = divmod(int(cosines.argmax()), len(active))
    return found | {
        "active": active,
        "singular": rounded(values[0]),
        "directions": rounded((v @ nearest.mT)[0].abs(), 3),
        "here": float(signed_permutation_distance(v)[0]),
        "overall": subject.alignment.mean,
        "chance": haar_distance(len(active)),
        "pair": [active[first], active[second]],
        "cosine": float(cosines.max()),
    }


def plane(subject: Subject, z: Float[Tensor, "d"], pair: Sequence[int]) -> dict[str, Any]:
    """Decoded observations over a plane of two latents, the others at z."""
    _check_latents(subject, pair)
    if len(set(pair)) != 2:
        raise ValueError(f"a plane needs two different latents, got {list(pair)}")
    places = torch.linspace(-1, 1, PLANE, dtype=torch.float64)
    points = z.repeat(PLANE, PLANE, 1)
    a, b = (subject.centre[k] + places * reach(subject)[k] for k in pair)
    points[..., pair[0]], points[..., pair[1]] = a[None, :], b.flip(0)[:, None]
    return {
        "pair": list(pair),
        "frames": show(subject.probe, subject.decode(points.flatten(0, 1))),
        "side": PLANE,
    }


def linear(subject: Subject, z: Float[Tensor, "d"], latent: int, step: float) -> dict[str, Any]:
    """A step along a latent as the Jacobian predicts it, and as the decoder does it."""
    _check_latents(subject, [latent])
    moved = z.clone()
    moved[latent] += step
    before, after = subject.decode(torch.stack([z, moved]))
    with without_trace(subject.probe.decode):
        slope = decoder_jacobians(subject.probe.decoder, z[None].to(subject.probe.mean))
    change = step * slope[0, :, latent].cpu().float().reshape(before.shape)
    missed = float((after - before - change).square().sum())
    total = float((after - before).square().sum())
    return {
        "predicted": show(subject.probe, (before + change)[None])[0],
        "actual": show(subject.probe, after[None])[0],
        "missed": missed / total if total > 0 else 0.0,
    }


def information(subject: Subject) -> dict[str, Any]:
    """Mutual information of latents and factors, as a share of each factor's entropy."""
    probe = subject.probe
    if probe.factors is None:
        raise ValueError("the factors of these data are not known")
    if len(probe) < FEWEST or probe.latents < 2:
        raise ValueError(
            f"information about factors needs {FEWEST} observations and two latents, "
            f"here are {len(probe)} and {probe.latents}"
        )
    codes, factors = probe.mean.cpu().double().numpy(), probe.factors
    varied = np.flatnonzero(np.ptp(factors, axis=0) > 0)
    many = max(len(np.unique(factors[:, k])) for k in varied) > VALUES
    gap = mutual_information_gap(codes, factors[:, varied], factor_bins=VALUES if many else None)
    shares = (gap.matrix / gap.entropies)[subject.order]
    names = [probe.factor_names[int(k)] for k in varied]
    return {"latents": subject.order, "factors": names, "shares": rounded(shares, 3)}


def scatter(subject: Subject, latent: int, other: int, factor: str) -> dict[str, Any]:
    """Codes along two latents, with the value of a factor for each."""
    _check_latents(subject, [latent, other])
    probe = subject.probe
    if probe.factors is None or factor not in probe.factor_names:
        raise ValueError(f"factor must be one of {list(probe.factor_names)}, got {factor!r}")
    codes = probe.mean[:CLOUD].cpu()
    values = probe.factors[:CLOUD, list(probe.factor_names).index(factor)]
    return {
        "x": rounded(codes[:, latent], 4),
        "y": rounded(codes[:, other], 4),
        "values": rounded(values, 4),
    }


def cloud(subject: Subject, z: Float[Tensor, "d"]) -> dict[str, Any]:
    """A point cloud with the curves that single latents draw through the decoded point."""
    rows = traversals(subject, z)["rows"]
    seen = subject.probe.observations[:CLOUD].flatten(1)
    curves = [{"latent": row["latent"], "points": row["frames"]} for row in rows]
    return {"points": rounded(seen, 4), "curves": curves}


def match(subject: Subject, other: Subject) -> dict[str, Any]:
    """For each latent of a model the one of another that varies alike over the same data.

    Latents are matched one to one by the largest sum of absolute correlations.
    """
    if subject.probe.shape != other.probe.shape:
        raise ValueError(f"{subject.name} and {other.name} have data of different shapes")
    with without_trace(other.probe.encode):
        theirs = encode_all(other.probe.encode, subject.probe.x).mean.cpu().double().numpy()
    ours = subject.probe.mean.cpu().double().numpy()
    spread = [np.maximum(codes.std(0), 1e-12) for codes in (ours, theirs)]
    unit = [(c - c.mean(0)) / s for c, s in zip((ours, theirs), spread, strict=True)]
    correlation = unit[0].T @ unit[1] / len(ours)
    rows, columns = linear_sum_assignment(-np.abs(correlation))
    pairs: list[dict[str, Any] | None] = [None] * len(correlation)
    for a, b in zip(rows, columns, strict=True):
        value = float(correlation[a, b])
        pairs[a] = {"latent": int(b), "sign": math.copysign(1.0, value), "r": abs(value)}
    return {"pairs": pairs}


def words(subject: Subject) -> dict[str, Any]:
    """The sentences of the diagnosis."""
    findings = subject.diagnosis.findings
    return {"findings": [{"title": f.title, "text": f.text, "mark": f.mark} for f in findings]}


def _check_latents(subject: Subject, latents: Sequence[int]) -> None:
    for latent in latents:
        if not 0 <= latent < subject.probe.latents:
            last = subject.probe.latents - 1
            raise ValueError(f"latents must lie in 0..{last}, got {latent}")
