"""The one training loop, for an ensemble of members at once."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unpick.data import Dataset, PairConfig, SharePairs, split
from unpick.models import Model, build
from unpick.models.posterior import Diagonal, family_of
from unpick.objectives import Adversarial, HasCritic, Paired, Pass, stack, total
from unpick.training import explicit
from unpick.training.config import Adam, RunConfig
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
    """

    def __init__(self, configs: Sequence[RunConfig], dataset: Dataset) -> None:
        if len({config.family() for config in configs}) != 1:
            raise ValueError(
                "members of an ensemble may differ in seed, learning rate and the objective's "
                "scalars only"
            )
        self.configs, self.dataset = tuple(configs), dataset
        self.config = config = configs[0]
        self.indices, validation, _ = split(dataset)
        self.validation = dataset.observe(validation[:LATENTS_OF])
        if len(self.indices) < config.batch:
            raise ValueError(
                f"batch must be at most the {len(self.indices)} training observations "
                f"of {dataset.name}, got {config.batch}"
            )
        if isinstance(config.objective, Paired) and not dataset.is_grid:
            raise ValueError(
                f"{config.objective.name} needs pairs, and {dataset.name} is no full grid of "
                "discrete factors to draw them from"
            )
        if config.model.likelihood == "bernoulli":
            some = dataset.observe(self.indices[:256])
            if not 0 <= some.min() <= some.max() <= 1:
                raise ValueError(f"likelihood bernoulli needs {dataset.name} to lie in [0, 1]")
        seeds = [c.seed for c in configs]
        self.streams = Streams(seeds)
        self.objective = stack([c.objective for c in configs])
        self.model = build(config.model, dataset.shape, seeds, decodes=config.objective.decodes)
        # The model, if its gradient is written out.
        self.dense = self.model if explicit.applies(self.model, self.objective) else None
        self.modules: dict[str, nn.Module | Model] = {"model": self.model}
        self.critic: nn.Module | None = None
        self.optimisers = {"model": EnsembleOptimiser(self.model, [c.optimiser for c in configs])}
        if isinstance(self.objective, HasCritic):
            generators = [generator(seed, "critic") for seed in seeds]
            self.critic = self.objective.make_critic(
                config.model, dataset.shape, len(dataset.factors), generators
            )
            own = [c.objective for c in configs if isinstance(c.objective, HasCritic)]
            self.modules["critic"] = self.critic
            self.optimisers["critic"] = EnsembleOptimiser(
                self.critic, [Adam(*o.critic_optimiser()) for o in own]
            )
        self.step = 0
        self.stopped: dict[int, int] = {}  # member -> the step at which its loss was not finite

    def advance(self, until: int) -> dict[str, Float[Tensor, "s"]]:
        """Train up to step `until`; the loss and its terms at the last step taken."""
        if until <= self.step:
            raise ValueError(f"until must be beyond the present step {self.step}, got {until}")
        while self.step < until:
            values = self._step()
            self.step += 1
        return values

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
            "deviation": q.mean.std(1, correction=0),
            "variance": q.variance.mean(1),
            "kl": marginal.kl_per_latent().mean(1),
        }

    def _step(self) -> dict[str, Float[Tensor, "s"]]:
        p = self._draw("batch", "noise")
        gradients: Sequence[Tensor]
        networks = ["model"] if isinstance(self.objective, Adversarial) else list(self.optimisers)
        if self.dense is not None:
            values, gradients = explicit.loss_and_gradients(
                self.dense, self.objective, p.x, p.noise
            )
        else:
            terms = self.objective(p)
            values = {"loss": total(terms)} | {k: term.reduced() for k, term in terms.items()}
            gradients = self._gradients(values["loss"], networks)
            values = {name: value.detach() for name, value in values.items()}
        if not values["loss"].sum().isfinite():
            self._freeze((~values["loss"].isfinite()).nonzero()[:, 0].tolist())
        self._descend(gradients, networks)
        if isinstance(self.objective, Adversarial):
            other = self._draw("other batch", "other noise")
            keys = self.streams.uniform("shuffle", self.step, tuple(p.noise.shape[1:]))
            assert self.critic is not None
            loss = self.objective.critic_loss(self.critic, p, other, keys).mean(1)
            self._descend(self._gradients(loss, ["critic"]), ["critic"])
        return values

    def _gradients(self, loss: Float[Tensor, "s"], networks: Sequence[str]) -> Sequence[Tensor]:
        """Of all weights of these networks, in their order."""
        weights = [w for name in networks for w in self.modules[name].parameters()]
        return torch.autograd.grad(loss.sum(), weights)

    def _descend(self, gradients: Sequence[Tensor], networks: Sequence[str]) -> None:
        """Step the weights of these networks."""
        rest = iter(gradients)
        for optimiser in (self.optimisers[name] for name in networks):
            optimiser.descend(islice(rest, len(optimiser.values)), self.step + 1)

    def _draw(self, batch: str, noise: str) -> Pass:
        """Each member's own observations and noise for this step."""
        size, latents, shared = self.config.batch, self.config.model.latents, None
        if isinstance(self.objective, Paired):
            indices, shared = self._pairs(batch, self.objective.pairs)
        else:
            indices = self.streams.batch(batch, self.step, size, self.indices)
        x = self.dataset.store.read(indices.reshape(-1)).unflatten(0, indices.shape)
        normal = self.streams.normal(noise, self.step, (size, latents))
        return Pass(self.model, x, normal, self.step, len(self.indices), self.critic, shared)

    def _pairs(
        self, batch: str, transition: PairConfig
    ) -> tuple[Int[Tensor, "s b"], Int[Tensor, "s p"] | None]:
        """Each member's own pairs, two side by side, and the factor each is known to share."""
        first = self.streams.batch(batch, self.step, self.config.batch // 2, self.indices)
        shape = (first.shape[1], transition.uniforms_per_pair(self.dataset))
        uniform = self.streams.uniform(f"{batch}, partners", self.step, shape)
        second = transition.partners(self.dataset, first.reshape(-1), uniform.flatten(0, 1))
        indices = torch.stack([first, second.reshape(first.shape)], 2).flatten(1)
        if not isinstance(transition, SharePairs):
            return indices, None
        return indices, transition.shared(self.dataset, uniform.flatten(0, 1)).view(first.shape)

    def _freeze(self, members: Sequence[int]) -> None:
        for member in set(members) - self.stopped.keys():
            self.stopped[member] = self.step
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
                self._freeze([member])
                self.stopped[member] = stopped


class Tick(NamedTuple):
    """Where training stands, about twice a second, and whether a log record is due."""

    step: int
    terms: dict[str, Float[Tensor, "s"]]
    latents: dict[str, Float[Tensor, "s d"]]  # every 500 steps, else empty
    due: bool
    last: bool


def ticks(training: Training) -> Iterator[Tick]:
    """Train to the end; yield about twice a second and at every log point.

    The end is the last step, or the step at which no member's loss is finite any more.
    """
    steps = training.config.steps
    every, pace, last = max(1, steps // LOG_POINTS), 1, training.step == steps
    if last:
        yield Tick(training.step, {}, {}, due=False, last=True)
    while not last:
        started, start = time.perf_counter(), training.step
        log_point = min(steps, (start // every + 1) * every)
        look_point = (start // LATENTS_EVERY + 1) * LATENTS_EVERY
        terms = training.advance(min(log_point, look_point, start + pace))
        rate = (training.step - start) / (time.perf_counter() - started)
        pace = max(1, int(0.5 * rate))
        last = training.step == steps or len(training.stopped) == len(training.configs)
        latents = training.latent_statistics() if training.step == look_point else {}
        due = last or training.step == log_point
        yield Tick(training.step, terms, latents, due, last)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trained members and their log.

    Attributes:
        configs: One a member.
        model: Their weights, side by side.
        log: Records with `step` and, for each term, a value a member.
        stopped: Members whose loss stopped being finite, and when; their weights are of that step.
    """

    configs: tuple[RunConfig, ...]
    model: Model
    log: tuple[dict[str, object], ...] = ()
    stopped: dict[int, int] = field(default_factory=dict)


def train(
    config: RunConfig | Sequence[RunConfig], dataset: Dataset | None = None, progress: bool = True
) -> Ensemble:
    """Train one configuration, or several together, in memory.

    Args:
        config: One, or a sequence whose members differ in seed and scalar hyperparameters.
        dataset: Loaded from the configuration if left out.
        progress: Whether to show a bar with the loss terms, the speed and the time left.

    Example:
        >>> from dataclasses import replace
        >>> from unpick.training import preset
        >>> config = replace(preset("synth-lin"), steps=20)
        >>> ensemble = train([replace(config, seed=s) for s in range(3)], progress=False)
        >>> ensemble.model.members
        3
    """
    from unpick.training.progress import Bars, progress_update

    configs = (config,) if isinstance(config, RunConfig) else tuple(config)
    training = Training(configs, configs[0].data.load() if dataset is None else dataset)
    log: list[dict[str, object]] = []
    with Bars(progress) as bars:
        for tick in ticks(training):
            bars.update(progress_update(training, tick))
            if tick.due:
                log.append({"step": tick.step, **{k: v.tolist() for k, v in tick.terms.items()}})
    return Ensemble(configs, training.model.eval(), tuple(log), dict(training.stopped))
