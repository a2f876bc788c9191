"""A call of every public function of arrays: its arrays by name, and its other arguments."""

from dataclasses import dataclass, field, fields, is_dataclass
from inspect import isfunction
from typing import Any

import numpy as np
import torch

from unpick import geometry, metrics, theory
from unpick.metrics.association import association

RNG = np.random.default_rng(0)
FACTORS = np.stack(np.unravel_index(np.arange(60) % 30, (5, 6)), axis=1)[RNG.permutation(60)]
CODES = np.concatenate([FACTORS * [1.0, 0.5], RNG.normal(size=(60, 1))], axis=1)
CODES = CODES + 0.05 * RNG.normal(size=CODES.shape)
JACOBIANS = RNG.normal(size=(5, 4, 3))
MEAN, X = RNG.normal(size=(5, 3)), RNG.random((5, 4))
VARIANCE = RNG.random((5, 3)) / 2 + 0.1
HESSIAN = -np.einsum("npi,npj->nij", JACOBIANS, JACOBIANS)
MIXING = torch.from_numpy(RNG.normal(size=(4, 3)))
VOTES = {"train": 40, "evaluations": 30, "batch": 4}
PAIR = {"codes": CODES, "factors": FACTORS}


def decode(z):
    """A smooth decoder of tensors, and of numpy arrays too; what it raises is its own affair."""
    if z.shape[-1] != 3:
        raise ValueError(f"decode must get 3 latents, not {z.shape[-1]}")
    if isinstance(z, np.ndarray):
        return np.tanh(z @ MIXING.numpy().T)
    return torch.tanh(z @ MIXING.to(z).T)


@dataclass(frozen=True)
class Call:
    """One call of one function.

    Attributes:
        function: The function.
        arrays: Its arrays; a list of them is passed as a list.
        others: Its other arguments.
        invariant: Arrays whose scale does not change the first number of the result.
        before: Arguments that come first.
    """

    function: Any
    arrays: dict[str, Any]
    others: dict[str, Any] = field(default_factory=dict)
    invariant: tuple[str, ...] = ()
    before: tuple[Any, ...] = ()

    @property
    def name(self):
        return self.function.__name__

    def __call__(self, **changed):
        given = self.arrays | changed
        if self.function is metrics.bootstrap:
            return self.function(mean_of, tuple(given.values()), **self.others)
        return self.function(*self.before, **given, **self.others)


def mean_of(*arrays):
    return float(sum(array.mean() for array in arrays))


METRICS = [
    Call(metrics.beta_vae_score, PAIR, VOTES),
    Call(metrics.bootstrap, {"array 0": CODES, "array 1": FACTORS}, {"draws": 3}),
    Call(metrics.dci, PAIR, {"learner": "fast", "rounds": 3}, ("codes", "factors")),
    Call(metrics.dci_from_importances, {"matrix": abs(CODES[:4])}),
    Call(metrics.disentanglement_score, PAIR, {}, ("codes", "factors")),
    Call(metrics.factor_vae_score, PAIR, VOTES | {"threshold": 0.0}, ("codes", "factors")),
    Call(metrics.irs, PAIR, {}, ("codes", "factors")),
    Call(metrics.mean_correlation, PAIR, {}, ("codes", "factors")),
    Call(metrics.mig_sup, PAIR, {}, ("factors",)),
    Call(metrics.modularity_explicitness, PAIR, {}, ("codes", "factors")),
    Call(metrics.mutual_information_gap, PAIR, {}, ("codes", "factors")),
    Call(metrics.mutual_information_gap, PAIR | {"log_variances": 0.1 * CODES - 3}),
    Call(metrics.sap, PAIR, {}, ("factors",)),
    Call(metrics.sap, PAIR, {"continuous": True}),
    Call(metrics.scorecard, PAIR, {"only": "MIG"}),
    Call(
        metrics.udr, {"codes": [CODES, CODES[:, ::-1] + 0.1 * CODES], "kl": [[1.0, 2.0, 0.5]] * 2}
    ),
    Call(association, {"x": CODES[:, 0], "y": CODES[:, 1]}),
]
LOCAL = {"mean": MEAN, "deviation": 0.1 + VARIANCE}
GEOMETRY = [
    Call(geometry.column_cosines, {"jacobians": JACOBIANS}, {}, ("jacobians",)),
    Call(geometry.decoder_jacobians, {"z": MEAN}, {}, (), (decode,)),
    Call(geometry.delta_kl, {"mean": MEAN, "log_variance": np.log(VARIANCE)}),
    Call(geometry.deterministic_elbo, {"x": X} | LOCAL, {"beta": 1.0}, (), (decode,)),
    Call(geometry.distance_to_orthogonality, {"jacobians": JACOBIANS}, {}, ("jacobians",)),
    Call(geometry.fit_local_decoder, LOCAL, {"samples": 8, "steps": 2}, (), (decode,)),
    Call(geometry.ima_contrast, {"jacobians": JACOBIANS}, {}, ("jacobians",)),
    Call(geometry.implied_beta, {"variance": VARIANCE, "curvature": abs(MEAN)}),
    Call(
        geometry.jacobian_residual, LOCAL | {"jacobians": JACOBIANS}, {"samples": 4}, (), (decode,)
    ),
    Call(geometry.likelihood_hessian, {"x": X, "z": MEAN}, {}, (), (decode,)),
    Call(geometry.od_score, {"matrices": JACOBIANS}),
    Call(geometry.optimal_covariance, {"hessian": HESSIAN}, {"beta": 1.0}),
    Call(geometry.optimal_variance, {"hessian": HESSIAN}, {"beta": 1.0}),
    Call(geometry.polarized_regime, {"mean": MEAN, "variance": VARIANCE, "jacobians": JACOBIANS}),
    Call(geometry.posterior_agreement, {"variance": VARIANCE, "hessian": HESSIAN}, {"beta": 1.0}),
    Call(geometry.settled_after, {"delta_kl_over_time": abs(CODES[:, 0])}),
    Call(geometry.stochastic_loss, {"x": X} | LOCAL, {}, (), (decode,)),
]
THEORY = [
    Call(theory.gain_per_nat, {"x": X}),
    Call(
        theory.best_encoder,
        {"z": MEAN[:2, :2]},
        {"precision": 1.0, "steps": 3},
        (),
        (lambda z: 2 * z,),
    ),
    Call(theory.givens_descent, {"matrix": JACOBIANS[0]}),
    Call(
        theory.mechanism_gap,
        {"z": MEAN[:2, :2]},
        {"precision": 9.0, "nodes": 4},
        (),
        (torch.sinh,),
    ),
    Call(theory.nearest_orthogonal, {"matrices": JACOBIANS}, {}, ("matrices",)),
    Call(theory.optimal_rotation, {"jacobian": JACOBIANS}, {}, ("jacobian",)),
    Call(theory.precision_budget, {"jacobians": JACOBIANS}, {"budget": 1.0}),
    Call(theory.push_forward, {"decode": JACOBIANS, "z": MEAN}),
    Call(theory.riemannian_descent, {"matrix": JACOBIANS[0]}),
    Call(theory.train_twins, {"x": X}, {"beta": 2.0, "variance": 1.0, "steps": 3}),
]
CALLS = METRICS + GEOMETRY + THEORY
# Their docstrings say where they are nan: without noise, slope, active latents or a best variance.
MAY_BE_NAN = {
    "deterministic_elbo",
    "implied_beta",
    "optimal_covariance",
    "optimal_variance",
    "posterior_agreement",
    "scorecard",
    "stochastic_loss",
}
# Linearly dependent columns have no volume, and a flat decoder an infinite density.
MAY_BE_INFINITE = {"ima_contrast", "optimal_rotation", "push_forward"}
NO_ARRAYS = {"factor_gains", "metric_names", "haar_distance", "normalised_od_score"}
NO_ARRAYS |= {"optimal_slopes"}


def public_functions():
    """The names of all functions that the three packages export."""
    rooms = (metrics, geometry, theory)
    return {n for room in rooms for n in room.__all__ if isfunction(getattr(room, n))} - NO_ARRAYS


def numbers(result):
    """All numbers of a result, in the order of its fields."""
    if isinstance(result, torch.Tensor):
        return [result.detach().cpu().double().numpy().ravel()]
    if is_dataclass(result):
        return [n for f in fields(result) for n in numbers(getattr(result, f.name))]
    if isinstance(result, dict | list | tuple):
        values = result.values() if isinstance(result, dict) else result
        return [n for value in values for n in numbers(value)]
    if result is None or isinstance(result, str):
        return []
    return [np.asarray(result, dtype=np.float64).ravel()]


def attempt(call, name, given):
    """The result with this array, and the one line that the function says if it has none."""
    try:
        return call(**{name: given}), ""
    except ValueError as error:
        if "\n" in str(error):
            raise AssertionError(f"{call.name}: more than one line about {name}") from error
        return None, str(error)


def at_scale(call, name, scale, dtype=np.float64):
    """Scale one array: the result is right and finite, or a sentence. Returns whether it is."""
    given = call.arrays[name]
    scaled = [(np.asarray(one) * scale).astype(dtype) for one in given]
    scaled = scaled if isinstance(given, list) else np.stack(scaled)
    result, told = attempt(call, name, scaled)
    if told:
        assert not (name in call.invariant and 1e-30 <= scale <= 1e30), told
        return False
    found = numbers(result)
    for each in found:
        wrong = np.isinf(each) if call.name in MAY_BE_NAN else ~np.isfinite(each)
        assert not wrong.any(), f"{call.name}: {name} times {scale} gives {each}"
    if name in call.invariant:
        np.testing.assert_allclose(found[0], numbers(call())[0], rtol=1e-4, atol=1e-6)
    return True
