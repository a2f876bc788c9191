"""The beta-TCVAE: total correlation weighed apart from the rest of the KL."""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor

from unpick.models.posterior import LOG_2PI, Diagonal, Family
from unpick.names import check_choices, unknown_choice
from unpick.objectives.terms import Pass, Term, Terms

Estimator = Literal["weighted", "stratified"]


@dataclass(frozen=True)
class BetaTCVAE:
    r"""Chen et al. (2018), eq. 4.

    .. math:: -\log p(x|z) + \alpha I_q(x; z) + \beta TC(z) + \gamma \sum_j KL(q(z_j) \| p(z_j))

    With alpha = beta = gamma = 1 the three terms telescope to log q(z|x) - log p(z), whatever the
    estimate of q(z). See `aggregate_log_density` for the two estimators and their constant.
    """

    name: ClassVar[str] = "beta-tcvae"
    posteriors: ClassVar[tuple[Family, ...]] = ("diagonal",)
    decodes: ClassVar[bool] = True
    beta: float = 6.0  # weight of the total correlation
    alpha: float = 1.0  # weight of the mutual information
    gamma: float = 1.0  # weight of the dimension-wise KL
    estimator: Estimator = "weighted"  # of q(z) from a batch

    def __post_init__(self) -> None:
        check_choices(self)

    def __call__(self, p: Pass) -> Terms:
        """Distortion, mutual information, total correlation, dimension-wise KL."""
        distortion = p.distortion()
        assert isinstance(p.q, Diagonal)
        log_qz, log_qzj = aggregate_log_density(p.q, p.z, p.n_data, self.estimator)
        log_pzj = -0.5 * (p.z.square() + LOG_2PI)
        return {
            "distortion": Term(distortion),
            "mutual_information": Term(p.q.log_prob(p.z) - log_qz, self.alpha),
            "total_correlation": Term(log_qz - log_qzj.sum(-1), self.beta),
            "dimension_kl": Term((log_qzj - log_pzj).sum(-1), self.gamma),
        }


def aggregate_log_density(
    q: Diagonal, z: Float[Tensor, "s b d"], n_data: int, estimator: Estimator
) -> tuple[Float[Tensor, "s b"], Float[Tensor, "s b d"]]:
    r"""Log q(z) and log q(z_j) of the aggregate posterior, estimated from the batch.

    .. math:: \log q(z_i) \approx \log \sum_k w_{ik}\, q(z_i | x_k)

    `weighted` has w = 1 / (N B) (Chen et al. 2018, section 3.1). It is biased: too low by log N
    where posteriors coincide and by log B where none overlap. Single latents overlap more than all
    together, so the total correlation comes out too high, by up to D log N - log B. Compare its
    values only with those of the same estimator.
    `stratified` uses `stratified_weights` (appendix C.2).
    """
    mean, log_var = q.mean[:, None], q.log_var[:, None]  # (S, 1, B, D)
    density = -0.5 * ((z[:, :, None] - mean).square() / log_var.exp() + log_var + LOG_2PI)
    b = z.shape[1]
    match estimator:
        case "weighted":
            log_w = z.new_full((b, b), -math.log(n_data * b))
        case "stratified":
            log_w = stratified_weights(b, n_data).double().log().to(z)
        case _:
            raise unknown_choice("estimator", estimator, Estimator)
    log_qz = torch.logsumexp(density.sum(-1) + log_w, dim=2)
    return log_qz, torch.logsumexp(density + log_w[..., None], dim=2)


def stratified_weights(b: int, n_data: int) -> Float[Tensor, "b b"]:
    r"""Weights of minibatch-stratified sampling (Chen et al. 2018, appendix C.2).

    With M = B - 1: 1/N for the observation's own posterior, on the diagonal; (N - M) / (N M) for
    one other; 1/M for the rest. Every row sums to one. Much public code has the special
    weights in the first two columns instead.

    Example:
        >>> stratified_weights(3, 10).sum(1)
        tensor([1., 1., 1.])
    """
    if not 2 <= b <= n_data:
        raise ValueError(f"stratified weights need 2 <= batch <= data, got {b} and {n_data}")
    m = b - 1
    weights = torch.full((b, b), 1 / m)
    rows = torch.arange(b)
    weights[rows, rows] = 1 / n_data
    weights[rows, (rows + 1) % b] = (n_data - m) / (n_data * m)
    return weights
