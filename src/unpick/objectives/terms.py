"""One forward pass, and the named terms an objective makes of it."""

import copy
import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from unpick.data.transitions import PairConfig
from unpick.models.autoencoder import ModelConfig
from unpick.models.likelihood import distortion
from unpick.models.model import Model
from unpick.models.posterior import Posterior


@dataclass(frozen=True, eq=False)
class Pass:
    """One batch through S models; posterior, sample and output are computed when asked for."""

    model: Model
    x: Float[Tensor, "s b ..."]
    noise: Float[Tensor, "s b d"]
    step: int
    n_data: int  # observations in the training part
    critic: nn.Module | None = None
    shared: Int[Tensor, "s p"] | None = None  # the factor that each pair is known to share

    @cached_property
    def q(self) -> Posterior:
        """The posterior of each observation."""
        return self.model.encode(self.x)

    @cached_property
    def z(self) -> Float[Tensor, "s b d"]:
        """One sample of it."""
        return self.q.sample(self.noise)

    @cached_property
    def output(self) -> Float[Tensor, "s b ..."]:
        """What the decoder makes of the sample."""
        return self.model.decode(self.z)

    def distortion(self) -> Float[Tensor, "s b ..."]:
        """What reconstruction costs, pixel by pixel."""
        return distortion(self.model.config.likelihood, self.x, self.output)


class Term(NamedTuple):
    """A value and its weight in the sum.

    The value has a member axis, a batch axis (of length one if it belongs to the batch as a whole)
    and any further axes, over which it is summed: pixels of the distortion, latents of the KL.
    """

    value: Tensor
    weight: float = 1.0

    def reduced(self) -> Float[Tensor, "s"]:
        """Summed over pixels or latents, averaged over the batch: the only place that does so."""
        return self.value.flatten(1).sum(1) / self.value.shape[1]


Terms = dict[str, Term]


@runtime_checkable
class HasCritic(Protocol):
    """An objective with a network beside the model, its critic: `Pass.critic`.

    It descends the objective together with the model, or a loss of its own: see `Adversarial`.
    """

    def make_critic(
        self,
        model: ModelConfig,
        shape: tuple[int, ...],
        factors: int,
        generators: Sequence[torch.Generator],
    ) -> nn.Module:
        """The network, for this model and data with so many factors."""

    def critic_optimiser(self) -> tuple[float, float, float]:
        """Learning rate, beta1 and beta2 of its Adam."""


@runtime_checkable
class Adversarial(Protocol):
    """An objective whose critic has another aim than the model, and steps after it."""

    def critic_loss(
        self, critic: nn.Module, first: Pass, other: Pass, keys: Float[Tensor, "s b d"]
    ) -> Float[Tensor, "s n"]:
        """What the critic minimises.

        `first` is the pass that the model has just stepped from, `other` one of an independent
        batch; `keys` are uniform numbers.
        """


@runtime_checkable
class Paired(Protocol):
    """An objective of pairs: a batch holds first and second observations in turn."""

    @property
    def pairs(self) -> PairConfig:
        """How the second is drawn."""


def total(terms: Terms) -> Float[Tensor, "s"]:
    """The loss of every member: the weighted sum of its terms."""
    return reduce(torch.add, [term.reduced() * term.weight for term in terms.values()])


T = TypeVar("T")


def stack(objectives: Sequence[T], device: torch.device | str = "cpu") -> T:
    """One objective for an ensemble whose members differ in scalar hyperparameters.

    Float fields that differ become tensors of S values, the weights of reduced terms, so that an
    objective is written for one model and works for many.
    """
    first = objectives[0]
    together = copy.copy(first)
    for field in dataclasses.fields(first):  # type: ignore[arg-type]
        values = [getattr(objective, field.name) for objective in objectives]
        if any(value != values[0] for value in values):
            if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in values):
                raise ValueError(
                    f"members of an ensemble may not differ in {field.name}: {values}"
                )
            each = torch.tensor(values, dtype=torch.float32).to(device)
            object.__setattr__(together, field.name, each)
    return together
