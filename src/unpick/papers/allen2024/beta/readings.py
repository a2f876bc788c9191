"""Measures for figure 2 of Allen (2024): which points merge, and how posteriors overlap."""

from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from unpick.data import Dataset, split
from unpick.data.synthetic import Circles
from unpick.models.posterior import Diagonal
from unpick.probe import Measure, Probe
from unpick.study.sweep import COLLAPSED

# Points lie on small circles, these in groups, and the groups about one centre.
LEVELS = ("points", "circles", "groups")
PAIRED = 600  # test points whose posteriors are compared, two by two
DRAWN = 300  # latents at which the decoder is compared with averages of the data


def latent_use(probe: Probe) -> dict[str, float]:
    """`active` latents, of mean posterior variance below 0.95, and `variance 1`, ..., ascending.

    The latter are the mean posterior variances.
    """
    assert probe.variance is not None
    means = probe.variance.mean(0).sort().values
    variances = {f"variance {k}": float(each) for k, each in enumerate(means, 1)}
    return {"active": float((means < COLLAPSED).sum())} | variances


def merging(probe: Probe) -> dict[str, float]:
    """On circles: what reconstructions keep, how posteriors overlap, what the decoder averages.

    For each level the share of its variance that reconstructions of mean codes keep, and the
    `overlap` of posteriors within it; how far reconstructions are `off centre` of their circle and
    group, see `from_centres`; how far the decoder is `off average` and `off point`, see
    `distances`.
    """
    dataset = probe.dataset
    if dataset is None or dataset.name != Circles.name:
        return {}
    assert probe.variance is not None
    parts = split(dataset)
    labels = circle_labels(dataset)
    mine = labels[parts.test[: len(probe)]]
    values = shares(probe.reconstructions, probe.observations, mine)
    every = dataset.observe(torch.arange(len(dataset)))
    values |= from_centres(probe.reconstructions, mine, every, labels)
    few = probe.first(PAIRED)
    assert few.variance is not None
    q = Diagonal(few.mean, few.variance.log())
    values |= {f"overlap, {k}": v for k, v in overlaps(q, mine[:PAIRED]).items()}
    return values | distances(replace(probe, x=dataset.observe(parts.train)))


READINGS: tuple[Measure, ...] = (latent_use, merging)


def circle_labels(dataset: Dataset) -> Int[Tensor, "n 2"]:
    """The small circle of every point, and its group."""
    assert dataset.values is not None
    group, circle = dataset.values[:, :2].long().T
    return torch.stack([group * (1 + int(circle.max())) + circle, group], 1)


def deviations(
    x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]
) -> dict[str, Float[Tensor, "n p"]]:
    """Points less their circle's mean, that less its group's mean, that less the overall mean."""
    circle, group = (_centres(x, column)[column] for column in labels.T)
    return dict(zip(LEVELS, (x - circle, circle - group, group - x.mean(0)), strict=True))


def _centres(x: Float[Tensor, "n p"], labels: Int[Tensor, "n"]) -> Float[Tensor, "k p"]:
    """The mean of all rows with a label, by label."""
    sums = torch.zeros(int(labels.max()) + 1, x.shape[1]).to(x).index_add(0, labels, x)
    return sums / torch.bincount(labels)[:, None].clamp(min=1)


def shares(
    reconstruction: Float[Tensor, "n p"], x: Float[Tensor, "n p"], labels: Int[Tensor, "n 2"]
) -> dict[str, float]:
    """Variance of the reconstruction by variance of the data, at each level."""
    ours, theirs = deviations(reconstruction, labels), deviations(x, labels)
    return {
        level: float(ours[level].square().sum() / theirs[level].square().sum()) for level in LEVELS
    }


def from_centres(
    reconstruction: Float[Tensor, "n p"],
    mine: Int[Tensor, "n 2"],
    x: Float[Tensor, "m p"],
    labels: Int[Tensor, "m 2"],
) -> dict[str, float]:
    """Distance of reconstructions from the centre of their circle, and of their group.

    As a share of the mean distance of the data from that centre, which is the radius. `off
    centre, LEVEL` is the mean, `most off centre, LEVEL` the largest.

    Args:
        reconstruction: Of some points.
        mine: Their labels.
        x: All points.
        labels: Of all of them.
    """
    values = {}
    for level, of_point, of_all in zip(LEVELS[1:], mine.T, labels.T, strict=True):
        centres = _centres(x, of_all)
        radius = (x - centres[of_all]).norm(dim=1).mean()
        far = (reconstruction - centres[of_point]).norm(dim=1) / radius
        values[f"off centre, {level}"] = float(far.mean())
        values[f"most off centre, {level}"] = float(far.max())
    return values


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


def distances(probe: Probe) -> dict[str, float]:
    r"""How far the decoder is from the average of the data, weighted by their posteriors.

    .. math:: \sum_i \frac{q(z|x_i)}{\sum_j q(z|x_j)} x_i

    is what minimises the squared error at z. Root mean square over latents drawn from posteriors,
    in units of the data's deviation. Beside it, `off point`, the distance from the point whose
    posterior z is drawn from.
    """
    x, mean, variance = probe.observations, probe.mean, probe.variance
    assert variance is not None
    noise = torch.randn(DRAWN, mean.shape[1], generator=torch.Generator().manual_seed(0))
    z = mean[:DRAWN] + variance[:DRAWN].sqrt() * noise
    q = Diagonal(mean.expand(len(z), -1, -1), variance.log().expand(len(z), -1, -1))
    average = q.log_prob(z[:, None].expand_as(q.mean)).softmax(1) @ x
    with torch.no_grad():
        decoded = probe.decoder(z)
    deviation = (x - x.mean(0)).square().sum(1).mean()
    return {
        name: float(((decoded - other).square().sum(1).mean() / deviation).sqrt())
        for name, other in (("off average", average), ("off point", x[:DRAWN]))
    }
