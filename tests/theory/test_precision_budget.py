from math import exp, inf, log, nan, sqrt

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import LinearConstraint, NonlinearConstraint, brentq, minimize

from unpick.geometry import optimal_variance
from unpick.papers.zietlow2022.ledger.budget import EXAMPLE, cheapest_noise
from unpick.study.ledger.instances import KINDS, decoder
from unpick.theory.budget import precision_budget
from unpick.theory.rotation import optimal_rotation

CHOICES = [(o, k) for o in ("log", "plain") for k in ("polarized", "exact")]


def drawn(seed, kind="plain", samples=3):
    """Jacobians of one size: a matrix, and others of the same kind."""
    draw = np.random.default_rng(seed)
    matrices = [decoder(draw, kind)]
    while len(matrices) < samples:
        other = decoder(draw, kind)
        if other.shape == matrices[0].shape:
            matrices.append(other)
    return torch.from_numpy(np.stack(matrices))


def squares(jacobians):
    return jacobians.square().sum(1)


def nats(log_variance, kl):
    if kl == "polarized":
        return -log_variance / 2
    return (np.exp(log_variance) - log_variance - 1) / 2


def value(log_variance, a, objective):
    cost = (a * np.exp(log_variance)).sum(1)
    return float(np.log(cost).sum() if objective == "log" else cost.sum())


def searched(a, budget, objective, kl):
    """The least value, by a search that knows nothing of the solution."""
    total, shape = budget * len(a), a.shape
    if kl == "polarized":
        spend = LinearConstraint(np.full(a.size, -0.5), total, total)
    else:
        spend = NonlinearConstraint(lambda x: nats(x, kl).sum(), total, total)
    start = np.full(a.size, -2 * budget / shape[1])
    found = minimize(
        lambda x: value(x.reshape(shape), a, objective),
        start,
        method="SLSQP",
        constraints=spend,
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x.reshape(shape), found.fun


@pytest.mark.parametrize(("objective", "kl"), CHOICES)
@pytest.mark.parametrize("budget", [0.3, 2.0])
def test_a_search_finds_the_same_variances(objective, kl, budget):
    jacobians = drawn(4)
    a = squares(jacobians).numpy()
    found = precision_budget(jacobians, budget, objective=objective, kl=kl)
    log_variance, least = searched(a, budget, objective, kl)
    ours = value(found.variance.log().numpy(), a, objective)
    assert ours == pytest.approx(least, rel=1e-6, abs=1e-6)
    if (objective, kl) != ("log", "polarized"):  # where the division is free
        assert found.variance.log().numpy() == pytest.approx(log_variance, abs=1e-3)


def test_the_worked_example_costs_what_its_search_finds():
    """C = 4 is a budget of two nats; the papers print exp(-C) in place of exp(-C/2)."""
    variance, cost = cheapest_noise(EXAMPLE, 4.0)
    for objective in ("log", "plain"):
        found = precision_budget(torch.from_numpy(EXAMPLE)[None], 2.0, objective=objective)
        assert float(found.cost) == pytest.approx(2 * sqrt(150) * exp(-2), rel=1e-12)
        assert float(found.cost) == pytest.approx(cost, rel=1e-6)
        assert found.variance[0].numpy() == pytest.approx(variance, rel=1e-3)
        assert float(found.variance[0, 0] / found.variance[0, 1]) == pytest.approx(3 / 50)


def on_budget(log_variance, total):
    """Log variances, all below 0, scaled so that their exact KL is the total."""
    spent = lambda factor: nats(factor * log_variance, "exact").sum()  # noqa: E731
    return log_variance * brentq(lambda factor: spent(factor) - total, 0, 1e3, xtol=1e-14)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32),
    st.sampled_from(KINDS),
    st.sampled_from(CHOICES),
    st.floats(1e-3, 20),
)
def test_no_other_way_to_spend_the_budget_costs_less(seed, kind, choice, budget):
    objective, kl = choice
    jacobians = drawn(seed, kind, samples=2)
    a = squares(jacobians).numpy()
    found = precision_budget(jacobians, budget, objective=objective, kl=kl)
    assert float(found.budget.mean()) == pytest.approx(budget, rel=1e-9)
    best = found.variance.log().numpy()
    assert nats(best, kl).sum(1) == pytest.approx(found.budget.numpy(), rel=1e-6, abs=1e-9)
    least = value(best, a, objective)
    draw = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 1.0):
        change = size * draw.normal(size=best.shape)
        if kl == "polarized":
            other = best + change - change.mean()
        else:
            other = on_budget(best * np.exp(change), budget * len(a))
        assert value(other, a, objective) >= least - 1e-9 * (1 + abs(least))


@pytest.mark.parametrize("objective", ["log", "plain"])
@pytest.mark.parametrize("nats", [0.5, 11.0])
def test_beta_is_where_a_vae_asks_for_these_variances(objective, nats):
    """Of distortion + beta KL, by the closed form of the geometry."""
    jacobians = drawn(1, samples=5)
    budget = nats * jacobians.shape[2]
    found = precision_budget(jacobians, budget, objective=objective, kl="exact")
    hessian = -2 * jacobians.mT @ jacobians
    for i, beta in enumerate(found.beta.tolist()):
        asked = optimal_variance(hessian[i : i + 1], beta)[0]
        assert found.variance[i].numpy() == pytest.approx(asked.numpy(), rel=1e-12, abs=0)
    spread = found.beta.std() / found.beta.mean()
    assert (spread < 1e-12) == (objective == "plain")


def test_both_forms_agree_where_the_noise_is_small():
    """The exact KL lacks half a nat a latent, and the share of variances in it."""
    jacobians = drawn(2)
    d = jacobians.shape[2]
    exact = precision_budget(jacobians, 12.0 * d, objective="plain", kl="exact")
    polarized = precision_budget(jacobians, 12.5 * d, objective="plain")
    assert exact.variance.numpy() == pytest.approx(polarized.variance.numpy(), rel=1e-8, abs=0)
    assert exact.variance.max() < 1e-8


@pytest.mark.parametrize(("objective", "kl"), CHOICES)
def test_a_nat_more_saves_what_the_multiplier_says(objective, kl):
    """Of the mean cost that is beta, of the mean log cost beta / cost: 2 / d if polarized."""
    jacobians, step = drawn(3), 1e-5

    def least(budget):
        cost = precision_budget(jacobians, budget, objective=objective, kl=kl).cost
        return float((cost.log() if objective == "log" else cost).mean())

    found = precision_budget(jacobians, 1.0, objective=objective, kl=kl)
    rate = found.beta / found.cost if objective == "log" else found.beta
    assert rate.numpy() == pytest.approx(np.full(3, float(rate[0])), rel=1e-12)
    saved = (least(1.0 - step) - least(1.0 + step)) / (2 * step)
    assert saved == pytest.approx(float(rate[0]), rel=1e-8)
    if (objective, kl) == ("log", "polarized"):
        assert float(rate[0]) == pytest.approx(2 / jacobians.shape[2])


def test_water_stands_equally_high_everywhere():
    jacobians = drawn(5)
    plain = precision_budget(jacobians, 2.0, objective="plain")
    level = squares(jacobians) * plain.variance
    assert level.numpy() == pytest.approx(np.full(level.shape, float(plain.beta[0]) / 2))
    logs = precision_budget(jacobians, 2.0, objective="log")
    levels = squares(jacobians) * logs.variance
    assert levels.numpy() == pytest.approx((logs.beta / 2)[:, None].expand_as(levels).numpy())
    assert levels[:, 0].std() > 0.1 * levels.mean()
    assert plain.cost.sum() < logs.cost.sum()


@pytest.mark.parametrize("kl", ["polarized", "exact"])
def test_only_the_polarized_kl_leaves_the_division_between_samples_free(kl):
    """The solution is even there; here it is the one among the divisions that costs least."""
    jacobians = drawn(6, samples=2)
    together = precision_budget(jacobians, 1.0, kl=kl)

    def divided(share):
        parts = (2 * share, 2 * (1 - share))
        each = [precision_budget(j[None], b, kl=kl) for j, b in zip(jacobians, parts, strict=True)]
        return sum(float(part.cost.log()) for part in each)

    best = float(together.cost.log().sum())
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    if kl == "polarized":
        assert together.budget.tolist() == pytest.approx([1.0, 1.0])
        assert [divided(share) for share in shares] == pytest.approx([best] * 5)
    else:
        chosen = float(together.budget[0]) / 2
        assert abs(chosen - 0.5) > 0.01
        assert divided(chosen) == pytest.approx(best, rel=1e-12)
        assert min(divided(chosen - 0.01), divided(chosen + 0.01)) > best + 1e-6


@pytest.mark.parametrize("kind", ["plain", "scaled", "parallel", "close"])
def test_turned_jacobians_reach_the_bound_of_the_theorem(kind):
    """Zietlow (2022), eq. 5.11; unturned, they miss it by what the rotation says."""
    jacobians, budget = drawn(7, kind), 3.0
    n, _, d = jacobians.shape
    values = np.linalg.svd(jacobians.numpy(), compute_uv=False)
    bound = n * log(d) - 2 * n * budget / d + 2 / d * np.log(values).sum()
    best = optimal_rotation(jacobians)
    turned = precision_budget(jacobians @ best.rotation, budget).cost.log().sum()
    assert float(turned) == pytest.approx(bound, abs=1e-9)
    before = precision_budget(jacobians, budget).cost.log().sum()
    assert float(before - turned) == pytest.approx(2 / d * float(best.excess.sum()), abs=1e-9)


@pytest.mark.parametrize("objective", ["log", "plain"])
def test_a_latent_that_does_nothing_gets_the_prior_and_no_budget(objective):
    jacobians = drawn(8)
    n, p, d = jacobians.shape
    padded = torch.cat([jacobians, torch.zeros(n, p, 1)], 2)
    found = precision_budget(padded, 2.0, objective=objective, kl="exact")
    without = precision_budget(jacobians, 2.0, objective=objective, kl="exact")
    assert (found.variance[:, d] == 1).all()
    assert found.variance[:, :d].numpy() == pytest.approx(without.variance.numpy(), rel=1e-12)
    assert found.cost.numpy() == pytest.approx(without.cost.numpy(), rel=1e-12)
    assert float(found.budget.mean()) == pytest.approx(2.0)


def test_without_a_budget_the_prior_is_left():
    found = precision_budget(drawn(9), 0.0, objective="plain", kl="exact")
    assert (found.variance == 1).all()
    assert found.budget.tolist() == [0.0, 0.0, 0.0]
    assert (found.beta == inf).all()
    assert found.cost.numpy() == pytest.approx(squares(drawn(9)).sum(1).numpy())


def test_a_weak_latent_exceeds_the_prior_only_in_the_polarized_form():
    """It is why that form needs all latents to be active."""
    weak = torch.diag(torch.tensor([1.0, 1e-3]))[None]
    assert precision_budget(weak, 1.0).variance.max() > 100
    assert precision_budget(weak, 1.0, kl="exact").variance.max() < 1


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_units_of_the_output_do_not_matter(scale):
    jacobians = drawn(10)
    for objective, kl in CHOICES:
        found = precision_budget(jacobians, 1.0, objective=objective, kl=kl)
        scaled = precision_budget(scale * jacobians, 1.0, objective=objective, kl=kl)
        assert scaled.variance.numpy() == pytest.approx(found.variance.numpy(), rel=1e-9)
        assert scaled.cost.numpy() == pytest.approx(found.cost.numpy() * scale**2, rel=1e-9, abs=0)


ZERO = torch.tensor([[[1.0, 0.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])


@pytest.mark.parametrize(
    ("jacobians", "budget", "options", "message"),
    [
        (torch.ones(2, 3, 2), -0.1, {}, "budget must be at least 0 nats and finite, got -0.1"),
        (torch.ones(2, 3, 2), nan, {}, "budget must be at least 0 nats and finite, got nan"),
        (torch.ones(2, 3, 2), 700.0, {}, "budget must be at most 300 nats a latent in use"),
        (torch.ones(0, 3, 2), 1.0, {}, r"jacobians must have shape .* got \(0, 3, 2\)"),
        (torch.full((2, 3, 2), nan), 1.0, {}, "jacobians must be finite, got 12 that"),
        (ZERO, 1.0, {}, "columns of zeros in 1 of 2 samples.*kl='exact'"),
        (ZERO, 1.0, {"kl": "exact"}, "equally many non-zero columns.*got 1 to 2"),
        (0 * ZERO, 1.0, {"kl": "exact"}, "must have columns that are not zero, got zeros only"),
    ],
)
def test_bad_arguments(jacobians, budget, options, message):
    with pytest.raises(ValueError, match=message):
        precision_budget(jacobians, budget, **options)
