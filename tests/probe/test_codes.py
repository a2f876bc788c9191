import math

import pytest
import torch
from torch import distributions

from unpick.probe.codes import read_posterior


def test_every_form_of_posterior_is_read():
    mean = torch.randn(5, 3)
    factor = torch.randn(5, 3, 3).tril(-1) + torch.diag_embed(torch.rand(5, 3) + 0.5)
    sd = torch.rand(5, 3) + 0.1
    forms = {
        "mean": mean,
        "pair": (mean, 2 * sd.log()),
        "list": [mean, 2 * sd.log()],
        "arrays": (mean.numpy(), 2 * sd.log().numpy()),
        "normal": distributions.Normal(mean, sd),
        "independent": distributions.Independent(distributions.Normal(mean, sd), 1),
    }
    for name, form in forms.items():
        codes = read_posterior(form)
        torch.testing.assert_close(codes.mean, mean)
        if name != "mean":
            torch.testing.assert_close(codes.variance.float(), sd**2)
    low_rank = distributions.LowRankMultivariateNormal(mean, factor[:, :, :1], sd**2)
    for full, covariance in (
        ((mean, factor), factor @ factor.mT),
        (distributions.MultivariateNormal(mean, scale_tril=factor), factor @ factor.mT),
        (low_rank, factor[:, :, :1] @ factor[:, :, :1].mT + torch.diag_embed(sd**2)),
    ):
        codes = read_posterior(full)
        torch.testing.assert_close(codes.variance, covariance.diagonal(dim1=1, dim2=2))
        torch.testing.assert_close(codes.factor @ codes.factor.mT, covariance)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"mu": 1}, "encode must return a mean, .* got dict"),
        ((torch.zeros(3, 2),) * 3, "got a tuple of 3"),
        ((torch.zeros(3, 2), torch.zeros(3, 4)), r"Cholesky factor, got \(3, 4\)"),
        ((torch.zeros(3, 2), torch.ones(3, 2, 2)), "lower triangular"),
        (torch.zeros(3), r"\(observations, latents\), got torch.float32 of shape \(3,\)"),
        (torch.full((3, 2), math.nan), "not finite for 3 rows"),
    ],
)
def test_other_forms_are_refused(output, message):
    with pytest.raises(ValueError, match=message):
        read_posterior(output)
