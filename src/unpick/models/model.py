"""What the rest of the package asks of a model: S models side by side, behind one interface."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn

from unpick.models.posterior import Posterior

if TYPE_CHECKING:
    from unpick.models.autoencoder import ModelConfig


@runtime_checkable
class Model(Protocol):
    """An ensemble of S models with a leading member axis; `Autoencoder` is one.

    Objectives use `config`, `encode`, `decode` and `decode_mean`; measures also `decodes`,
    `shape`, `members` and `member`. The rest is what a `torch.nn.Module` has; training and run
    folders use it.
    """

    @property
    def config(self) -> "ModelConfig":
        """Latents, posterior, likelihood and networks."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one observation."""

    @property
    def decodes(self) -> bool:
        """Whether there is a decoder."""

    @property
    def members(self) -> int:
        """S, the number of models."""

    def member(self, s: int) -> "Model":
        """One of them, as an ensemble of one that shares its weights."""

    def encode(self, x: Float[Tensor, "s b ..."]) -> Posterior:
        """q(z|x) for each member's own batch."""

    def decode(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The decoder's output: the mean observation, or for `bernoulli` its logits."""

    def decode_mean(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The expected observation."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """Weights, each with a leading member axis."""

    def buffers(self) -> Iterator[Tensor]:
        """What is saved but not trained, each with a leading member axis."""

    def to(self, device: torch.device) -> "Model":
        """Move weights and buffers to a device."""

    def train(self, mode: bool = True) -> "Model":
        """Switch to training."""

    def eval(self) -> "Model":
        """Switch to evaluation."""

    def state_dict(self) -> dict[str, Any]:
        """Weights and buffers by name."""

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> Any:  # noqa: ANN401
        """The inverse of `state_dict`."""
