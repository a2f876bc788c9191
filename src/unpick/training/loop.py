"""The one training loop, for an ensemble of members at once."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unpick.data import Dataset, split
from unpick.devices import Precision, autocast, check_precision, find_device, matrix_products
from unpick.models import Model, NetworkFactory, build
from unpick.models.posterior import Diagonal, family_of
from unpick.objectives import (
    Adversarial,
    HasCritic,
    Paired,
    Pass,
    Term,
    squared_cosines,
    stack,
    total,
)
from unpick.training import explicit
from unpick.training.config import Adam, RunConfig
from unpick.training.explicit import WrittenOut, features_first
from unpick.training.feed import Feed
from unpick.training.parameters import EnsembleOptimiser
from unpick.training.streams import Streams, generator

LOG_POINTS = 200  # records a run, however long
LATENTS_EVERY = 500  # steps between measurements of the posteriors (Zietlow 2022, section 3.3.2)
LATENTS_OF = 1000  # validation observations


class Training:
    """An ensemble in training: models, optimisers, and the step they have reached.

    Args:
        configs: One a member; they may differ in seed and scalar hyperparameters only.
        dataset: What `configs[0].data` describes.
        device: Where weights, batches, noise and optimiser states live.
        precision: Of matrix products.
        network: Makes the encoder and decoder of a configuration with `OwnNetwork`.
    """

    def __init__(
        self,
        configs: Sequence[RunConfig],
        dataset: Dataset,
        device: str = "cpu",
        precision: Precision = "fp32",
        network: NetworkFactory | None = None,
    ) -> None:
        if len({config.family() for config in configs}) != 1:
            raise ValueError(
                "members of an ensemble may differ in seed, learning rate and the objective's "
                "scalars only"
            )
        self.device, self.precision = find_device(device), precision
        check_precision(precision, self.device)
        self.configs, self.dataset = tuple(configs), dataset
        self.config = config = configs[0]
        self.indices, validation, _ = split(dataset)
        check_data(config, dataset, self.indices)
        self.validation = dataset.observe(validation[:LATENTS_OF]).to(self.device)
        seeds = [c.seed for c in configs]
        pairs = config.objective.pairs if isinstance(config.objective, Paired) else None
        self.feed = Feed(dataset, self.indices, seeds, config.batch, self.device, pairs)
        self.streams = Streams(seeds, self.device)
        self.objective = stack([c.objective for c in configs], self.device)
        decodes = config.objective.decodes
        self.model = build(config.model, dataset.shape, seeds, decodes, network).to(self.device)
        self.modules: dict[str, nn.Module | Model] = {"model": self.model}
        self.critic: nn.Module | None = None
        self.optimisers = {"model": EnsembleOptimiser(self.model, [c.optimiser for c in configs])}
        if isinstance(self.objective, HasCritic):
            generators = [generator(seed, "critic") for seed in seeds]
            self.critic = self.objective.make_critic(
                config.model, dataset.shape, len(dataset.factors), generators
            ).to(self.device)
            own = [c.objective for c in configs if isinstance(c.objective, HasCritic)]
            self.modules["critic"] = self.critic
            self.optimisers["critic"] = EnsembleOptimiser(
                self.critic, [Adam(*o.critic_optimiser()) for o in own]
            )
        self.adversarial = isinstance(self.objective, Adversarial)
        # In place of autograd, where the gradient is written out.
        self.written_out: WrittenOut | None = None
        if precision == "fp32" and explicit.applies(self.model, config):
            self.written_out = WrittenOut(self.model, self.objective, config.batch)
        self.step = 0
        self.stopped: dict[int, int] = {}  # member -> the step at which it diverged
        self.last_terms: dict[int, dict[str, float]] = {}  # of members that diverged, at that step

    def advance(self, until: int) -> dict[str, Float[Tensor, "s"]]:
        """Train up to step `until`; the loss and its terms at the last step taken.

        It ends before if all members have diverged.
        """
        if until <= self.step:
            raise ValueError(f"until must be beyond the present step {self.step}, got {until}")
        if self.written_out is not None:
            return self._advance_written_out(self.written_out, until)
        with matrix_products(self.precision):
            while self.step < until:
                values = self._step()
                self.step += 1
                if self.all_stopped:
                    break
        return values

    @property
    def all_stopped(self) -> bool:
        """Whether all members have diverged."""
        return len(self.stopped) == len(self.configs)

    def _advance_written_out(
        self, written_out: WrittenOut, until: int
    ) -> dict[str, Float[Tensor, "s"]]:
        """The same, with batches and noise of many steps at once."""
        shape = (self.config.batch, self.config.model.latents)
        with written_out.ready():
            while self.step < until:
                noise = self.streams.normal_block("noise", self.step, shape)
                most = min(len(noise), until - self.step)
                batches = features_first(self.feed.block("batch", self.step, most))
                for x, eps in zip(batches, features_first(noise[: len(batches)]), strict=True):
                    values = written_out.step(x, eps)
                    loss = values["loss"]
                    if not math.isfinite(loss.dot(loss)):  # the quickest way to look at all
                        self._freeze(np.flatnonzero(~np.isfinite(loss)).tolist(), values)
                    self.optimisers["model"].descend_held(written_out.held, self.step + 1)
                    self.step += 1
                    if self.all_stopped:
                        until = self.step
                        break
        return {name: torch.from_numpy(value) for name, value in values.items()}

    def stop_members_without_finite_weights(self, values: Mapping[str, Tensor]) -> None:
        """Count members as diverged whose last step left weights that are not finite.

        Args:
            values: The terms at that step.
        """
        tensors = [tensor for o in self.optimisers.values() for tensor in o.values]
        finite = torch.stack([t.flatten(1).isfinite().all(1) for t in tensors]).all(0)
        self._freeze((~finite).cpu().nonzero()[:, 0].tolist(), values, self.step - 1)

    def latent_statistics(self) -> dict[str, Float[Tensor, "s d"]]:
        """Of each latent on validation observations; empty if posteriors are points.

        The deviation of its mean, its mean variance, and the KL of its marginal in nats. They show
        which latents are active, and by eq. 3.38 of Zietlow (2022) whether the regime is
        polarized. Marginals leave out the correlations of a full-covariance posterior: its KL is
        larger than the sum over latents (`PolarizedRegime.total_kl`).
        """
        if not family_of(self.config.model.posterior).has_variance:
            return {}
        self.model.eval()
        with torch.no_grad():
            q = self.model.encode(
                self.validation.expand(len(self.configs), *self.validation.shape)
            )
        self.model.train()
        assert q.variance is not None
        marginal = Diagonal(q.mean, q.variance.log())
        return {
            "deviation": q.mean.std(1, correction=0).cpu(),
            "variance": q.variance.mean(1).cpu(),
            "kl": marginal.kl_per_latent().mean(1).cpu(),
        }

    def _step(self) -> dict[str, Float[Tensor, "s"]]:
        networks = ["model"] if self.adversarial else list(self.optimisers)
        with autocast(self.device, self.precision):
            p = self._draw("batch", "noise")
            terms = self.objective(p)
            if self.config.orthogonality:
                penalty = Term(squared_cosines(p), self.config.orthogonality)
                terms = terms | {"orthogonality": penalty}
            values = {"loss": total(terms)} | {k: term.reduced() for k, term in terms.items()}
        gradients = self._gradients(values["loss"], networks)
        values = {name: value.detach() for name, value in values.items()}
        self.feed.read_ahead(self.step + 1)  # while a GPU computes; the next line waits for it
        if not values["loss"].sum().isfinite():
            self._freeze((~values["loss"].isfinite()).nonzero()[:, 0].tolist(), values)
        self._descend(gradients, networks)
        if isinstance(self.objective, Adversarial):
            assert self.critic is not None
            with autocast(self.device, self.precision):
                other = self._draw("other batch", "other noise")
                keys = self.streams.uniform("shuffle", self.step, tuple(p.noise.shape[1:]))
                loss = self.objective.critic_loss(self.critic, p, other, keys).mean(1)
            self._descend(self._gradients(loss, ["critic"]), ["critic"])
        return values

    def _gradients(self, loss: Float[Tensor, "s"], networks: Sequence[str]) -> Sequence[Tensor]:
        """Of all weights of these networks, in their order."""
        weights = [w for name in networks for w in self.modules[name].parameters()]
        # A user's network may have weights that nothing uses: their gradient is zero.
        return torch.autograd.grad(loss.sum(), weights, allow_unused=True, materialize_grads=True)

    def _descend(self, gradients: Sequence[Tensor], networks: Sequence[str]) -> None:
        """Step the weights of these networks."""
        rest = iter(gradients)
        for optimiser in (self.optimisers[name] for name in networks):
            optimiser.descend(islice(rest, len(optimiser.values)), self.step + 1)

    def _draw(self, batch: str, noise: str) -> Pass:
        """Each member's own observations and noise for this step."""
        x, shared = self.feed.batch(batch, self.step)
        shape = (self.config.batch, self.config.model.latents)
        normal = self.streams.normal(noise, self.step, shape)
        return Pass(self.model, x, normal, self.step, len(self.indices), self.critic, shared)

    def _freeze(
        self,
        members: Sequence[int],
        values: Mapping[str, Any] | None = None,
        step: int | None = None,
    ) -> None:
        for member in set(members) - self.stopped.keys():
            self.stopped[member] = self.step if step is None else step
            terms = {name: float(value[member]) for name, value in (values or {}).items()}
            self.last_terms[member] = terms
            for optimiser in self.optimisers.values():
                optimiser.freeze(member)

    def state(self, member: int) -> dict[str, Tensor]:
        """What is needed to resume one member from this step."""
        parts = {
            f"{name}.{key}": tensor
            for name, optimiser in self.optimisers.items()
            for key, tensor in optimiser.state(member).items()
        }
        return {**parts, "stopped": torch.tensor(self.stopped.get(member, -1))}

    def restore(self, step: int, states: Sequence[dict[str, Tensor]]) -> None:
        """Put every member where it was at `step`."""
        self.step = step
        for member, state in enumerate(states):
            for name, optimiser in self.optimisers.items():
                prefix = f"{name}."
                part = {
                    k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)
                }
                optimiser.restore(member, part)
            if (stopped := int(state["stopped"])) >= 0:
                self._freeze([member], step=stopped)


def check_data(config: RunConfig, dataset: Dataset, indices: Int[Tensor, "n"]) -> None:
    """Raise if this data set, whose training part is `indices`, cannot be trained on like this."""
    if len(indices) < config.batch:
        raise ValueError(
            f"batch must be at most the {len(indices)} training observations "
            f"of {dataset.name}, got {config.batch}"
        )
    if isinstance(config.objective, Paired) and not dataset.is_grid:
        raise ValueError(
            f"{config.objective.name} needs pairs, and {dataset.name} is no full grid of "
            "discrete factors to draw them from"
        )
    if config.model.likelihood == "bernoulli":
        some = dataset.observe(indices[:256])
        if not 0 <= some.min() <= some.max() <= 1:
            raise ValueError(f"likelihood bernoulli needs {dataset.name} to lie in [0, 1]")


class Tick(NamedTuple):
    """Where training stands, about twice a second, and whether a log record is due."""

    step: int
    terms: dict[str, Float[Tensor, "s"]]
    latents: dict[str, Float[Tensor, "s d"]]  # every 500 steps, else empty
    due: bool
    last: bool


def ticks(training: Training) -> Iterator[Tick]:
    """Train to the end; yield about twice a second and at every log point.

    The end is the last step, or the one at which the last member diverged.
    """
    steps = training.config.steps
    every, pace = max(1, steps // LOG_POINTS), 1
    if last := training.step == steps or training.all_stopped:
        yield Tick(training.step, {}, {}, due=False, last=True)
    while not last:
        started, start = time.perf_counter(), training.step
        log_point = min(steps, (start // every + 1) * every)
        look_point = (start // LATENTS_EVERY + 1) * LATENTS_EVERY
        values = training.advance(min(log_point, look_point, start + pace))
        terms = {name: value.cpu() for name, value in values.items()}
        rate = (training.step - start) / (time.perf_counter() - started)
        pace = max(1, int(0.5 * rate))
        if training.step == steps:
            training.stop_members_without_finite_weights(values)
        last = training.step == steps or training.all_stopped
        latents = training.latent_statistics() if training.step == look_point else {}
        due = last or training.step == log_point
        yield Tick(training.step, terms, latents, due, last)
