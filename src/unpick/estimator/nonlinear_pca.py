"""NonlinearPCA: a scikit-learn transformer that finds beta, components and restart by itself."""

from functools import partial
from os import PathLike
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from unpick.estimator import storage
from unpick.estimator.checks import check_parameters
from unpick.estimator.fitting import Fit, better_network, dense, fit
from unpick.estimator.members import measure_members
from unpick.estimator.reading import (
    POINTS,
    components_for,
    decode,
    encode,
    find_doubts,
    jacobians,
    order_components,
)
from unpick.estimator.rounds import Plan, noise_variance
from unpick.estimator.rows import Scale, hold_out, portions
from unpick.models import MLP, Model, NetworkFactory

STEPS = 4000
WIDTHS = (64, 64)  # of the nonlinear network that "auto" tries


class NonlinearPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Nonlinear principal components by a beta-VAE whose beta is found by itself.

    A VAE with a diagonal posterior aligns its latents with the decoder's singular directions
    (Rolinek et al. 2019) and keeps a latent while its variance exceeds beta / 2, the variance of
    the likelihood (Lucas et al. 2019; Allen 2024). So it is a local PCA, and beta sets the number
    of components. `docs/nonlinear-pca.md` states the rule that chooses beta without labels.

    The table is centred and divided by one number, so columns keep their relative scale, as in
    PCA: standardise columns of different units first. A fifth of the rows, at most 2000, is held
    out to choose beta and to stop.

    Args:
        n_components: Number of components; a share of the variance, in (0, 1): as many as it
            takes to explain that; or None: as many as restarts agree on at the chosen beta, or,
            for a linear network, as many as held-out rows show, and at most 20.
        beta: Weight of the KL beside the squared error, in squared units of X: twice the noise
            variance. "auto" finds it.
        network: Widths of the hidden layers of encoder and decoder (mirrored); `()` is linear:
            probabilistic PCA, in closed form; "auto" keeps a linear network unless a nonlinear one
            has more held-out evidence; or a function that makes your own modules
            (`unpick.models.NetworkFactory`).
        restarts: Models trained at the chosen beta, of which one is kept.
        max_steps: Optimiser steps a model, at most. "auto" is 4000.
        tol: Gain in held-out evidence between two looks, in nats a row, that counts as none.
        device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`. A fitted model computes on the CPU.
        random_state: A seed, a `numpy.random.RandomState`, or None.
        verbose: 1 shows progress and time left, and prints the warnings.

    Attributes:
        n_components_: Number of components.
        network_: Widths of the hidden layers; None for modules of your own.
        beta_: The beta that was used.
        noise_variance_: Variance of what the components leave, in each direction that they leave:
            that of probabilistic PCA for a linear network.
        components_: Unit vectors (components, features): the decoder's directions at the centre
            of the codes.
        explained_variance_: What each component adds to the explained variance, in nested
            reconstructions.
        explained_variance_ratio_: The same as a share; the sum is what all explain together.
        orthogonality_: DtO over chance: 0 if components are the decoder's singular directions, 1
            for a random rotation; nan for one component.
        restarts_: Columns of a table with one row a model: stage, beta, restart, ELBO, active,
            explained, DtO, agreement. `pandas.DataFrame(restarts_)` shows it.
        loss_curve_: Minus the held-out evidence of the kept model, a value a look.
        warnings_: Sentences that say why the result should not be trusted; empty if it may be.
        mean_: Of each feature.
        n_iter_: Optimiser steps that the restarts took.
        n_features_in_: Number of features.
        feature_names_in_: Their names, if X had some.

    Example:
        >>> x = np.random.default_rng(0).normal(size=(60, 2)) @ [[2.0, 0.0, 1.0], [0.0, 0.5, 0.0]]
        >>> model = NonlinearPCA(2, network=(), restarts=2, max_steps=40, random_state=0)
        >>> model.fit_transform(x).shape
        (60, 2)
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        beta: float | Literal["auto"] = "auto",
        network: tuple[int, ...] | Literal["auto"] | NetworkFactory = (64, 64),
        restarts: int = 8,
        max_steps: int | Literal["auto"] = "auto",
        tol: float = 0.01,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.beta = beta
        self.network = network
        self.restarts = restarts
        self.max_steps = max_steps
        self.tol = tol
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> "NonlinearPCA":  # noqa: ANN401
        """Fit the model to the rows of X (rows, features); y is ignored."""
        x = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_parameters(self, x.shape[1])
        seed = int(check_random_state(self.random_state).randint(2**31))
        parts = hold_out(x, seed)
        steps = STEPS if isinstance(self.max_steps, str) else int(self.max_steps)
        wanted = self._wanted()
        options: dict[str, Any] = {
            "components": wanted,
            "beta": None if isinstance(self.beta, str) else self.beta / parts.scale.spread**2,
            "restarts": int(self.restarts),
            "seed": seed,
        }
        network = self.network if callable(self.network) else dense(self._widths())
        plan = Plan(network, steps, float(self.tol), self.device, bool(self.verbose))
        find = partial(better_network, widths=WIDTHS) if isinstance(self.network, str) else fit
        found = find(parts, plan, **options)
        if isinstance(wanted, float):
            count = components_for(found, parts.some, wanted)
            if count < found.member.active.sum():
                found = find(parts, plan, **options | {"components": count})
        self._keep(found, parts.some, parts.scale, len(x))
        return self

    def transform(self, X: Any) -> Float[np.ndarray, "n k"]:  # noqa: ANN401
        """The components of rows: posterior means.

        Their mean is 0 over the rows that were fitted, of a long table over 2000 of them.
        """
        check_is_fitted(self)
        x = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        found = np.empty((len(x), self.n_components_), dtype=x.dtype)
        for part in portions(*x.shape):
            found[part] = self._axes.components(encode(self._model, self._scale.apply(x[part])))
        return found

    def inverse_transform(self, X: Any) -> Float[np.ndarray, "n p"]:  # noqa: ANN401
        """Rows of components: what the decoder makes of them."""
        check_is_fitted(self)
        z = check_array(X, dtype=(np.float64, np.float32), input_name="X")
        if z.shape[1] != self.n_components_:
            raise ValueError(f"X must have {self.n_components_} columns, got {z.shape[1]}")
        found = np.empty((len(z), self.n_features_in_), dtype=z.dtype)
        for part in portions(len(z), self.n_features_in_):
            codes = self._axes.codes(z[part].astype(np.float64))
            found[part] = self._scale.undo(decode(self._model, codes))
        return found

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ANN401
        """Mean evidence of rows in nats: a lower bound of the log-density that PCA's score is."""
        check_is_fitted(self)
        x = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        spread, weight, total = self._scale.spread, next(self._model.parameters()), 0.0
        for part in portions(*x.shape):
            rows = torch.from_numpy(self._scale.apply(x[part])).to(weight)
            (member,) = measure_members(self._model, rows, [self.beta_ / spread**2], [0])
            total += float(member.evidence.sum())
        return total / len(x) - x.shape[1] * float(np.log(spread))

    def local_components(self, X: Any) -> Float[np.ndarray, "n k p"]:  # noqa: ANN401
        """The decoder's directions at each row: how X moves as a component grows by one.

        Their lengths are kept. Rows of `components_` are those at the centre, of length 1.
        """
        check_is_fitted(self)
        x = validate_data(self, X, dtype=(np.float64, np.float32), reset=False)
        codes = encode(self._model, self._scale.apply(x))
        return self._directions(codes) * self._scale.spread

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to one file: weights as safetensors, the rest as JSON in it."""
        check_is_fitted(self)
        storage.save(self, path)

    @classmethod
    def load(
        cls, path: str | PathLike[str], network: NetworkFactory | None = None
    ) -> "NonlinearPCA":
        """Read a fitted model. Nothing in the file is run.

        Args:
            path: What `save` wrote.
            network: Makes the networks, if they are your own: a file never has code.
        """
        return storage.load(cls, path, network)

    def _directions(self, codes: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k p"]:
        found = jacobians(self._model, codes)[:, :, self._axes.order] * self._axes.signs
        return found.transpose(0, 2, 1)

    def _wanted(self) -> int | float | None:
        if self.n_components is None:
            return None
        whole = isinstance(self.n_components, int | np.integer)
        return int(self.n_components) if whole else float(self.n_components)

    def _widths(self) -> tuple[int, ...]:
        return WIDTHS if isinstance(self.network, str) else tuple(map(int, self.network))  # type: ignore[arg-type]

    def _keep(self, found: Fit, some: np.ndarray, scale: Scale, rows: int) -> None:
        """Set the fitted attributes."""
        done, member = found.finished, found.member
        self._model: Model = storage.for_inference(done.model.member(found.kept))
        self._scale, wanted = scale, self._wanted()
        latents = np.arange(len(member.variance))
        if not isinstance(wanted, int) and member.active.any():
            latents = np.flatnonzero(member.active)
        axes, ratio = order_components(self._model, some, latents)
        self._axes, unit = axes, scale.spread**2
        self.n_components_ = len(axes.order)
        network = self._model.config.network
        self.network_ = tuple(network.encoder) if isinstance(network, MLP) else None
        self.beta_ = done.beta * unit
        self.noise_variance_ = noise_variance(member, self.n_features_in_) * unit
        self.mean_ = scale.mean
        self.explained_variance_ratio_ = ratio
        self.explained_variance_ = ratio * self.n_features_in_ * unit * rows / (rows - 1)
        at_centre = self._directions(axes.centre[None])[0]
        self.components_ = at_centre / np.maximum(
            np.linalg.norm(at_centre, axis=1, keepdims=True), 1e-300
        )
        self.orthogonality_ = member.orthogonality
        self.restarts_ = found.table | {"beta": found.table["beta"] * unit}
        shift = self.n_features_in_ * float(np.log(scale.spread))
        self.restarts_["ELBO"] = found.table["ELBO"] - shift
        self.loss_curve_ = [shift - look[found.kept] for look in done.curve]
        self.n_iter_ = done.steps
        directions = self._directions(encode(self._model, some[:POINTS]))
        lengths = np.sqrt(np.square(directions).sum(2).mean(0))
        explained = float(ratio.sum())
        self.warnings_ = find_doubts(found, axes, lengths, rows, wanted, explained, shift)
        if self.verbose:
            print(*(f"warning: {text}" for text in self.warnings_), sep="\n")  # noqa: T201

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
