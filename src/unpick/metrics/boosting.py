"""Fast gradient boosting for DCI: like scikit-learn's, but not every cut is tried."""

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Real, UInt
from torch import Tensor
from torch.nn.functional import embedding_bag, one_hot

DEPTH, RATE = 3, 0.1  # scikit-learn's defaults, like the 100 rounds below
BINS = 256


@dataclass(frozen=True, eq=False)
class Boosted:
    """The importances and the predictions of a boosted classifier.

    Attributes:
        importances: Share of the latents in the decrease of the squared error; all 0 if no split
            was possible.
        fitted: The class predicted for each code it was fitted to.
        predicted: The same of the new codes.
    """

    importances: Float[np.ndarray, "d"]
    fitted: Int[np.ndarray, "n"]
    predicted: Int[np.ndarray, "m"]


@dataclass(frozen=True, eq=False)
class Sorted:
    """Codes as ranks, and the rows to fit in their order, cut into bins.

    Attributes:
        ranks: Of every latent and row, those to fit before the new ones; equal codes rank alike.
        order: The rows to fit, sorted.
        last: Whether the next row in this order has another rank, so that a cut can be made.
        ends: How many rows the bins up to this one have.
    """

    ranks: UInt[np.ndarray, "d rows"]
    order: Int[np.ndarray, "d n"]
    last: Bool[np.ndarray, "d n"]
    ends: Int[np.ndarray, "d b"]

    def histogram(self, values: Float[np.ndarray, "n t"]) -> Float[Tensor, "d b t"]:
        """Sums over the rows of each bin, of one value a row for every tree."""
        d, n = self.order.shape
        starts = np.insert(self.ends[:, :-1], 0, 0, axis=1) + n * np.arange(d)[:, None]
        rows, table, bags = (torch.from_numpy(a) for a in (self.order, values, starts))
        sums = embedding_bag(rows.flatten(), table, bags.flatten(), mode="sum")
        return sums.unflatten(0, self.ends.shape)


def sort_codes(
    codes: Real[np.ndarray, "n d"], new: Real[np.ndarray, "m d"], bins: int = BINS
) -> Sorted:
    """Rank each latent; a new code gets the rank of the nearest one.

    Args:
        codes: What to learn from.
        new: What to classify.
        bins: How many bins a latent is cut into, with as many rows in each as equal codes allow.

    Example:
        >>> found = sort_codes(np.array([[0.0], [5.0], [1.0], [1.0]]), np.array([[2.9], [3.1]]))
        >>> found.ranks.tolist(), found.order.tolist(), found.ends.tolist()
        ([[0, 2, 1, 1, 1, 2]], [[0, 2, 3, 1]], [[1, 3, 4, 4]])
    """
    if bins < 2:
        raise ValueError(f"bins must be at least 2, got {bins}")
    n, d = codes.shape
    bins = min(bins, n)
    ranks = np.empty((d, n + len(new)), np.int64)
    last, ends = np.zeros((d, n), bool), np.full((d, bins), n)
    for j, column in enumerate(codes.T):
        # In float32, like scikit-learn, so that equal codes are the same there and here.
        values, counts = np.unique(column.astype(np.float32), return_counts=True)
        middles = (values[1:].astype(float) + values[:-1]) / 2
        ranks[j] = np.searchsorted(middles, np.concatenate([column, new[:, j]]).astype(np.float32))
        cuts = counts.cumsum()[:-1]  # how many rows can be cut off
        last[j, cuts - 1] = True
        if len(cuts) >= bins:
            wanted = np.searchsorted(cuts, np.arange(1, bins) * n / bins)
            cuts = np.unique(cuts[wanted.clip(max=len(cuts) - 1)])
        ends[j, : len(cuts)] = cuts
    order = np.argsort(ranks[:, :n], axis=1, kind="stable")
    return Sorted(ranks.astype(np.min_scalar_type(ranks.max())), order, last, ends)


def boost(
    codes: Sorted,
    labels: Int[np.ndarray, "n"],
    *,
    rounds: int = 100,
    rng: np.random.Generator | None = None,
) -> Boosted:
    """A proxy for scikit-learn's `GradientBoostingClassifier()`, for the same importances.

    The same steps (Friedman 2001, algorithm 6): in every round a tree of depth 3 for the residual
    of every class, or one tree for two classes; splits by variance reduction; Newton leaves;
    learning rate 0.1. The trees of all classes grow side by side. What differs is that not every
    cut of every latent is tried (see `best_split`), and that sums are float32. Where a latent has
    no more different values than bins all cuts are tried, and only ties tell the two apart.

    Args:
        codes: From `sort_codes`.
        labels: The class of each code to fit.
        rounds: How many times a tree is added for each class.
        rng: Chooses between splits that are equally good.
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}")
    values, labels = np.unique(labels, return_inverse=True)
    if len(values) < 2:
        raise ValueError(f"labels must have at least 2 classes, got {len(values)}")
    rng = rng or np.random.default_rng(0)
    n, several = len(labels), len(values) > 2
    y = one_hot(torch.from_numpy(labels)).float().T.contiguous()
    y = y if several else y[1:]
    shrink = RATE * (len(values) - 1) / len(values) if several else RATE
    prior = y.mean(1, keepdim=True)
    scores = (prior.log() if several else prior.logit()).repeat(1, codes.ranks.shape[1])
    shares = np.zeros(len(codes.ranks))
    for _ in range(rounds):
        p = scores[:, :n].softmax(0) if several else scores[:, :n].sigmoid()
        residual = y - p
        leaf, decreases = grow(codes, np.ascontiguousarray(residual.T.numpy()), rng)
        shares += decreases
        scores += (shrink * newton(leaf[:, :n], residual, p * (1 - p))).gather(1, leaf)
    winners = values[(scores.argmax(0) if several else (scores[0] > 0).long()).numpy()]
    return Boosted(shares / (shares.sum() or 1), winners[:n], winners[n:])


def grow(
    codes: Sorted, residual: Float[np.ndarray, "n t"], rng: np.random.Generator
) -> tuple[Int[Tensor, "t rows"], Float[np.ndarray, "d"]]:
    """Grow one tree a residual: the leaf (0 to 7) of every row, and the decrease by latent."""
    n, trees = residual.shape
    leaf = np.zeros((trees, codes.ranks.shape[1]), np.uint8)
    decreases = np.zeros(len(codes.ranks))

    def split(inside: np.ndarray, sums: Tensor, counts: Tensor, levels: int) -> None:
        latent, row, decrease = best_split(codes, residual, inside, sums, counts, rng)
        np.add.at(decreases, latent, decrease)
        beyond = codes.ranks[latent] > codes.ranks[latent, row][:, None]
        right = inside & beyond
        np.bitwise_or(leaf, right * np.uint8(2 ** (levels - 1)), out=leaf)
        if levels == 1:
            return
        left = inside & ~beyond
        # The right part is what remains of the node: only the left one is summed.
        members = np.ascontiguousarray(left[:, :n].T)
        left_sums = codes.histogram(members * residual)
        left_counts = codes.histogram(members.astype(np.float32))
        split(left, left_sums, left_counts, levels - 1)
        split(right, sums - left_sums, counts - left_counts, levels - 1)

    sums = codes.histogram(residual)
    counts = torch.from_numpy(np.diff(codes.ends, axis=1, prepend=0)).float()
    split(np.ones(leaf.shape, bool), sums, counts[:, :, None].expand(sums.shape), DEPTH)
    return torch.from_numpy(leaf).long(), decreases


def best_split(
    codes: Sorted,
    residual: Float[np.ndarray, "n t"],
    inside: Bool[np.ndarray, "t rows"],
    sums: Float[Tensor, "d b t"],
    counts: Float[Tensor, "d b t"],
    rng: np.random.Generator,
) -> tuple[Int[np.ndarray, "t"], Int[np.ndarray, "t"], Float[np.ndarray, "t"]]:
    """The latent to split by, the last row of the left part, and the decrease, in every tree.

    First the best cut between bins is found for each latent. Then all cuts are tried in four bins:
    on both sides of that one, and where the node begins and ends, because a single row at the
    edge of a node is often what is cut off. Equally good latents are drawn from. The decrease is 0
    if no cut leaves rows on both sides.
    """
    part, size = sums.cumsum(1).numpy(), counts.cumsum(1).numpy()
    total, rows = part[0, -1], size[0, -1]
    (d, b, trees), n = part.shape, len(residual)
    coarse = reduction(part, size, total, rows).argmax(1)
    begin, end = (size > 0).argmax(1), (size == rows).argmax(1)
    bins = np.stack([coarse, (coarse + 1).clip(max=b - 1), begin, end], axis=1)  # (d, 4, t)
    latent, tree = np.arange(d)[:, None, None], np.arange(trees)
    # The last rows of these bins, as many as a bin has on average: (d, 4, t, w).
    at = codes.ends[latent, bins][..., None] + np.arange(-math.ceil(n / b), 0)
    there, at = at >= 0, at.clip(0) + n * latent[..., None]
    row = codes.order.take(at)
    member = inside.take(row + inside.shape[1] * tree[:, None]) & there
    value = residual.take(trees * row + tree[:, None]) * member
    part, size = (
        known[latent, bins, tree][..., None] + _sums_before_the_end(steps)
        for known, steps in ((part, value), (size, member.astype(np.float32)))
    )
    total, rows = total[:, None], rows[:, None]
    allowed = there & codes.last.take(at) & (size > 0) & (size < rows)
    decrease = reduction(part, size, total, rows) * allowed
    step = decrease.argmax(3)
    top = np.take_along_axis(decrease, step[..., None], 3)[..., 0]
    peak = top.max(1)
    winner = ((peak == peak.max(0)) * rng.random(peak.shape)).argmax(0)
    where = (winner, top.argmax(1)[winner, tree], tree)
    return winner, row[(*where, step[where])], top[where]


def _sums_before_the_end(steps: Float[np.ndarray, "*rest w"]) -> Float[np.ndarray, "*rest w"]:
    """What has to be added to a sum at the end of a bin to get it after each of its rows."""
    sums = torch.from_numpy(steps).cumsum(-1).numpy()
    return sums - sums[..., -1:]


def reduction(
    part: Float[np.ndarray, "*cuts"],
    size: Float[np.ndarray, "*cuts"],
    total: Float[np.ndarray, "..."],
    rows: Float[np.ndarray, "..."],
) -> Float[np.ndarray, "*cuts"]:
    """What a cut into n and m rows of means a and b takes off the squares: nm (a - b)^2 / (n + m).

    Args:
        part: Sum left of the cut.
        size: Rows left of the cut.
        total: Sum on both sides.
        rows: Rows on both sides.
    """
    apart = part - size * (total / rows.clip(1))
    apart *= apart
    apart *= rows
    apart /= (size * (rows - size)).clip(1)
    return apart


def newton(
    leaf: Int[Tensor, "t n"], residual: Float[Tensor, "t n"], curvature: Float[Tensor, "t n"]
) -> Float[Tensor, "t leaves"]:
    """The value of every leaf: its residuals over its curvatures, 0 where nothing is left."""
    empty = torch.zeros(len(leaf), 2**DEPTH)
    above = empty.scatter_add(1, leaf, residual)
    below = empty.scatter_add(1, leaf, curvature)
    return torch.where(below > 1e-30, above / below, 0.0)
