"""What is read off VAEs for figure 2 of Allen (2024): what merges, and how posteriors overlap."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, split
from unpick.data.synthetic import Circles
from unpick.models import Model
from unpick.models.posterior import Diagonal
from unpick.probe.keeping import kept
from unpick.probe.measures import posterior
from unpick.runs import Run
from unpick.study.sweep import COLLAPSED

# Points lie on small circles, these in groups, and the groups about one centre.
LEVELS = ("points", "circles", "groups")
PAIRED = 600  # test points whose posteriors are compared, two by two
DRAWN = 300  # latents at which the decoder is compared with averages of the data
VERSION = 1  # of the readings: one more makes the kept ones old


def readings(run: Run, load: Callable[[], Dataset]) -> dict[str, float]:
    """What a run gives; kept in its folder.

    `active` counts latents with a mean posterior variance below 0.95; `variance 1`, ... are these
    means, the smallest first. On the circles also, for each level, the share of its variance that
    reconstructions of mean codes keep, and the `overlap` of posteriors within it; and how far
    the decoder is `off average` and `off point`, see `distances`.

    Args:
        run: A finished one.
        load: Gives its data set; not called if the readings are there.
    """
    return kept(run, "overlap.json", {"version": VERSION}, lambda: take(run, load()))


def take(run: Run, dataset: Dataset) -> dict[str, float]:
    """The same, measured on the test part."""
    model, parts = run.model(), split(dataset)
    x = dataset.observe(parts.test)
    mean, variance = posterior(model, x)
    assert variance is not None
    means = variance.mean(0).sort().values
    values = {"active": float((means < COLLAPSED).sum())}
    values |= {f"variance {k}": float(each) for k, each in enumerate(means, 1)}
    if isinstance(run.config.data, Circles):
        labels = circle_labels(dataset)
        mine = labels[parts.test]
        with torch.no_grad():
            values |= shares(model.decode_mean(mean[None])[0], x, mine)
        q = Diagonal(mean[:PAIRED], variance[:PAIRED].log())
        values |= {f"overlap, {k}": v for k, v in overlaps(q, mine[:PAIRED]).items()}
        values |= distances(model, dataset.observe(parts.train))
    return values


def circle_labels(dataset: Dataset) -> Int[Tensor, "n 2"]:
    """The small circle of every point, and its group."""
    assert dataset.values is not None
    group, circle = dataset.values[:, :2].long().T
    return torch.stack([group * (1 + int(circle.max())) + circle, group], 1)


def deviations(
    x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]
) -> dict[str, Float[Tensor, "n p"]]:
    """Of points from their circle's mean, of that from its group's, of that from the whole's."""
    circle, group = (_means(x, column) for column in labels.T)
    return dict(zip(LEVELS, (x - circle, circle - group, group - x.mean(0)), strict=True))


def _means(x: Float[Tensor, "n p"], labels: Int[Tensor, "n"]) -> Float[Tensor, "n p"]:
    """Of all with the same label, at each."""
    sums = torch.zeros(int(labels.max()) + 1, x.shape[1]).to(x).index_add(0, labels, x)
    return (sums / torch.bincount(labels)[:, None].clamp(min=1))[labels]


def shares(
    reconstruction: Float[Tensor, "n p"], x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]
) -> dict[str, float]:
    """Variance of the reconstruction by variance of the data, at each level."""
    ours, theirs = deviations(reconstruction, labels), deviations(x, labels)
    return {
        level: float(ours[level].square().sum() / theirs[level].square().sum()) for level in LEVELS
    }


def thresholds(x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]) -> dict[str, float]:
    r"""The beta at which each level merges by the rule of the linear VAE: 2 \lambda.

    \lambda is the largest variance, over directions, of what is to merge: points about their
    circle's centre, about their group's, about the mean. A linear VAE has no other choice than
    the last (Lucas et al. 2019). A nonlinear one can treat each circle as data of its own: with a
    decoder that is free to place its outputs, clusters split in two at the same beta (Rose 1998,
    whose temperature is beta).
    """
    within = torch.stack(list(deviations(x, labels).values())).cumsum(0).double()
    return {
        level: 2 * float(torch.linalg.eigvalsh(torch.cov(each.T, correction=0))[-1])
        for level, each in zip(LEVELS, within, strict=True)
    }


def overlaps(q: Diagonal, labels: Int[Tensor, "n 2"]) -> dict[str, float]:
    r"""Mean Bhattacharyya coefficient of two posteriors: 1 if they are equal, 0 if disjoint.

    .. math:: \int \sqrt{q_1 q_2} = \prod_j \sqrt{\frac{2 \sigma_{1j} \sigma_{2j}}{
              \sigma_{1j}^2 + \sigma_{2j}^2}}
              \exp\left(-\frac{(\mu_{1j} - \mu_{2j})^2}{
              4 (\sigma_{1j}^2 + \sigma_{2j}^2)}\right)

    `points`: of two points on one small circle; `circles`: on two circles of one group; `groups`:
    in two groups.
    """
    mean, variance = q.mean.double(), q.variance.double()
    total = variance[:, None] + variance
    scale = 2 * (variance[:, None] * variance).sqrt() / total
    logs = 0.5 * scale.log() - (mean[:, None] - mean).square() / (4 * total)
    coefficient = logs.sum(2).exp()
    same_circle, same_group = (column[:, None] == column for column in labels.T)
    pairs = {
        "points": same_circle & ~torch.eye(len(mean)).bool(),
        "circles": same_group & ~same_circle,
        "groups": ~same_group,
    }
    return {level: float(coefficient[pairs[level]].mean()) for level in LEVELS}


def distances(model: Model, x: Float[Tensor, "n p"]) -> dict[str, float]:
    r"""How far the decoder is from the average of the data, weighted by their posteriors.

    .. math:: \sum_i \frac{q(z|x_i)}{\sum_j q(z|x_j)} x_i

    is what minimises the squared error at z. Root mean square over latents drawn from posteriors,
    in units of the data's deviation. Beside it, `off point`, the distance from the point whose
    posterior z is drawn from.
    """
    mean, variance = posterior(model, x)
    assert variance is not None
    noise = torch.randn(DRAWN, mean.shape[1], generator=torch.Generator().manual_seed(0))
    z = mean[:DRAWN] + variance[:DRAWN].sqrt() * noise
    q = Diagonal(mean.expand(len(z), -1, -1), variance.log().expand(len(z), -1, -1))
    average = q.log_prob(z[:, None].expand_as(q.mean)).softmax(1) @ x
    with torch.no_grad():
        decoded = model.decode_mean(z[None])[0]
    deviation = (x - x.mean(0)).square().sum(1).mean()
    return {
        name: float(((decoded - other).square().sum(1).mean() / deviation).sqrt())
        for name, other in (("off average", average), ("off point", x[:DRAWN]))
    }
