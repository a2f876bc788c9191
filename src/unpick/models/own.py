"""Networks of your own: plain PyTorch modules for one model, lifted to an ensemble of S."""

import copy
import hashlib
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, vmap
from tyro.conf import Suppress

from unpick.devices import convolves_together
from unpick.models import likelihood as likelihoods
from unpick.models.own_checks import FEW, NetworkFactory, check_network, make_networks, some
from unpick.models.posterior import Posterior, family_of

if TYPE_CHECKING:
    from unpick.models.autoencoder import ModelConfig


@dataclass(frozen=True)
class OwnNetwork:
    """A network of the user's own, named by its function and the content of its file.

    A run's folder has this name and never the code: whoever loads the run gives the file again.
    """

    function: Annotated[str, Suppress] = ""  # no options of the command line
    sha256: Annotated[str, Suppress] = ""  # of the file

    @staticmethod
    def of(factory: NetworkFactory) -> "OwnNetwork":
        """The name of a factory: its own, and a hash of the file that defines it."""
        name = getattr(factory, "__name__", type(factory).__name__)
        try:
            factory = inspect.unwrap(factory)  # a decorator lies in a file of its own
            file = inspect.getsourcefile(factory)
            content = Path(file or "").read_bytes() if file and Path(file).is_file() else b""
            content = content or inspect.getsource(factory).encode()  # of a notebook's cell
        except (OSError, TypeError):
            raise ValueError(
                "network must be a function whose source Python can find (of a file or a "
                f"notebook's cell; no module, no functools.partial), got {factory!r}"
            ) from None
        return OwnNetwork(name, hashlib.sha256(content).hexdigest())

    def check(self, factory: NetworkFactory | None) -> NetworkFactory:
        """The factory, if it is the one that this names; else raise."""
        if factory is None:
            raise ValueError(
                f"this model has networks of your own, made by {self.function!r}: give the "
                "function again (--model FILE.py:function, or network=... in Python)"
            )
        given = OwnNetwork.of(factory)
        if given.function != self.function:
            raise ValueError(f"the network is {self.function!r}, got {given.function!r}")
        if given.sha256 != self.sha256:
            raise ValueError(
                f"the file of {self.function!r} is not the one that this model was made with: its "
                f"sha256 was {self.sha256[:12]}, and is {given.sha256[:12]}"
            )
        return factory


class LiftedAutoencoder(nn.Module):
    """S models of a user's own encoder and decoder; a `Model`. For the arguments see `build`."""

    def __init__(
        self,
        config: "ModelConfig",
        shape: tuple[int, ...],
        seeds: Sequence[int],
        decodes: bool,
        factory: NetworkFactory,
    ) -> None:
        super().__init__()
        self.config, self.shape, self.decodes, self.factory = (
            config,
            tuple(shape),
            decodes,
            factory,
        )
        outputs = family_of(config.posterior).n_parameters(config.latents)
        made = [make_networks(factory, self.shape, config.latents, outputs, s) for s in seeds]
        check_network("encoder", made[0][0], self.shape, (outputs,))
        self.encoder = Stacked([encoder for encoder, _ in made], self.shape)
        if decodes:
            check_network("decoder", made[0][1], (config.latents,), self.shape)
            self.decoder = Stacked([decoder for _, decoder in made], (config.latents,))

    @property
    def members(self) -> int:
        """S, the number of models."""
        return next(self.parameters()).shape[0]

    def member(self, s: int) -> "LiftedAutoencoder":
        """One of them, as an ensemble of one that shares its weights."""
        if not 0 <= s < self.members:
            raise IndexError(f"member must lie in 0..{self.members - 1}, got {s}")
        alone = LiftedAutoencoder(self.config, self.shape, [0], self.decodes, self.factory)
        weights = {name: tensor[s : s + 1] for name, tensor in self.state_dict().items()}
        alone.load_state_dict(weights, assign=True)
        return alone.train(self.training)

    def encode(self, x: Float[Tensor, "s b ..."]) -> Posterior:
        """q(z|x) for each member's own batch."""
        family = family_of(self.config.posterior)
        return family.from_parameters(self.encoder(x), self.config.latents)

    def decode(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The decoder's output: the mean observation, or for `bernoulli` its logits."""
        if not self.decodes:
            raise ValueError("this model has no decoder: its objective trains an encoder alone")
        return self.decoder(z).reshape(*z.shape[:2], *self.shape)

    def decode_mean(self, z: Float[Tensor, "s b d"]) -> Float[Tensor, "s b ..."]:
        """The expected observation."""
        return likelihoods.mean(self.config.likelihood, self.decode(z))


class Stacked(nn.Module):
    """S networks of one architecture as one: weights and buffers have a leading member axis.

    All members go through `vmap` at once, or one after the other where vmap cannot follow (batch
    normalisation in training, Python that looks at values) or brings nothing (convolutions on a
    CPU).
    """

    def __init__(self, networks: Sequence[nn.Module], shape: tuple[int, ...]) -> None:
        super().__init__()
        tensors = [dict((*n.named_parameters(), *n.named_buffers())) for n in networks]
        shapes = [{name: tensor.shape for name, tensor in own.items()} for own in tensors]
        if any(own != shapes[0] for own in shapes):
            raise ValueError("networks must have the same layers for every seed, and these differ")
        # Weights that a user has frozen are saved, and not trained.
        weights = dict(networks[0].named_parameters())
        frozen = [name for name, weight in weights.items() if not weight.requires_grad]
        self.weight_names = [name for name in weights if name not in frozen]
        self.buffer_names = [*(name for name, _ in networks[0].named_buffers()), *frozen]
        together = {
            name: torch.stack([own[name].detach() for own in tensors]) for name in tensors[0]
        }
        for name in self.weight_names:
            self.register_parameter(_flat(name), nn.Parameter(together[name]))
        for name in self.buffer_names:
            self.register_buffer(_flat(name), together[name])
        # In a list, so that its own weights, which are never used, do not count as ours.
        self.template = [copy.deepcopy(networks[0])]
        self.has_convolutions = any(
            isinstance(layer, nn.modules.conv._ConvNd) for layer in networks[0].modules()
        )
        self.vmap_follows = len(networks) > 1 and self._vmap_follows(some(2 * FEW, shape))

    def forward(self, x: Float[Tensor, "s b ..."]) -> Float[Tensor, "s b ..."]:
        """Each member's own batch through its own network."""
        fast = len(x) > 1 and (convolves_together(x.device) or not self.has_convolutions)
        go = vmap(self._call) if fast and self.vmap_follows else self._one_by_one
        return go(self._state(), x).float()  # from bfloat16, if products are in it

    def train(self, mode: bool = True) -> "Stacked":
        """Switch to training or to evaluation."""
        self.template[0].train(mode)
        return super().train(mode)

    def _state(self) -> dict[str, Tensor]:
        weights = {name: self.get_parameter(_flat(name)) for name in self.weight_names}
        return weights | {name: self.get_buffer(_flat(name)) for name in self.buffer_names}

    def _call(self, state: dict[str, Tensor], x: Float[Tensor, "b ..."]) -> Tensor:
        return functional_call(self.template[0], state, (x,))

    def _one_by_one(self, state: dict[str, Tensor], x: Float[Tensor, "s b ..."]) -> Tensor:
        each = [{name: tensor[s] for name, tensor in state.items()} for s in range(len(x))]
        return torch.stack([self._call(own, one) for own, one in zip(each, x, strict=True)])

    @torch.no_grad()
    def _vmap_follows(self, x: Float[Tensor, "n ..."]) -> bool:
        """Whether vmap gives what two members give alone, in training and in evaluation."""
        x = x.unflatten(0, (2, -1))
        before = {name: tensor[:2].clone() for name, tensor in self._state().items()}
        try:
            for mode in (True, False):
                self.train(mode)
                results = []
                for members in (vmap(self._call), self._one_by_one):
                    state = {name: tensor.clone() for name, tensor in before.items()}
                    results.append([members(state, x), *(state[n] for n in self.buffer_names)])
                if not all(
                    torch.allclose(a.double(), b.double(), rtol=1e-4, atol=1e-5)
                    for a, b in zip(*results, strict=True)
                ):
                    return False
        except Exception:  # of any kind: the loop over members raises it again if it is theirs
            return False
        finally:
            self.train()
        return True


def _flat(name: str) -> str:
    """A name without dots, which PyTorch reserves for modules."""
    return name.replace(".", ":")
