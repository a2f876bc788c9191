"""Make a user's own networks, and try whether they can be lifted to an ensemble."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor, nn

# From the shape of an observation, the number of latents and the number of posterior parameters to
# an encoder, (n, *shape) to (n, parameters), and a decoder, (n, latents) to (n, *shape). A
# diagonal posterior has two parameters a latent: means, then log-variances. For a Bernoulli
# likelihood the decoder gives logits.
NetworkFactory: TypeAlias = Callable[[tuple[int, ...], int, int], tuple[nn.Module, nn.Module]]

FEW = 3  # observations that networks are tried on


def make_networks(
    factory: NetworkFactory, shape: tuple[int, ...], latents: int, outputs: int, seed: int
) -> tuple[nn.Module, nn.Module]:
    """Encoder and decoder with first weights that depend on the seed alone."""
    with torch.random.fork_rng([]):
        torch.manual_seed(10**6 + seed)
        made = factory(shape, latents, outputs)
    if not (
        isinstance(made, tuple) and len(made) == 2 and all(isinstance(m, nn.Module) for m in made)
    ):
        raise ValueError(f"model must return (encoder, decoder), two torch modules, got {made!r}")
    own, other = ({id(p) for p in network.parameters()} for network in made)
    if own & other:
        raise ValueError("encoder and decoder must not share weights, and these do")
    return made


@torch.no_grad()
def check_network(
    what: str, network: nn.Module, given: tuple[int, ...], wanted: tuple[int, ...]
) -> None:
    """Raise unless a network can be lifted: its weights and its input alone decide its output."""
    strange = {str(p.dtype) for p in network.parameters()} - {"torch.float32"}
    if strange:
        raise ValueError(f"{what}: weights must be torch.float32, got {', '.join(strange)}")
    if not any(True for _ in network.parameters()):
        raise ValueError(f"{what}: there are no weights to train in {type(network).__name__}")
    if any(nn.parameter.is_lazy(p) for p in network.parameters()):
        raise ValueError(f"{what}: lazy layers must be given their sizes")
    for layer in network.modules():
        if loose := [name for name, value in vars(layer).items() if isinstance(value, Tensor)]:
            raise ValueError(
                f"{what}: the tensor {loose[0]!r} of {type(layer).__name__} must be a parameter "
                "or a buffer (register_buffer); else it is not saved, and members share it"
            )
    outputs = []
    with torch.random.fork_rng([]):
        for seed in (0, 1):
            torch.manual_seed(seed)
            outputs.append(_try_network(what, copy.deepcopy(network).train(), given))
    got = outputs[0]
    flat = torch.Size(wanted).numel()
    if not isinstance(got, Tensor) or got.shape not in ((FEW, *wanted), (FEW, flat)):
        found = tuple(got.shape) if isinstance(got, Tensor) else type(got).__name__
        raise ValueError(
            f"{what} must map (n, {_axes(given)}) to (n, {_axes(wanted)}), got {found} for n = 3"
        )
    if got.dtype != torch.float32:
        raise ValueError(f"{what} must give torch.float32, got {got.dtype}")
    if not torch.equal(*outputs):
        raise ValueError(
            f"{what} draws random numbers of its own in training, as dropout does: a member would "
            "no longer train the same alone, in company and after an interruption"
        )


def _try_network(what: str, network: nn.Module, given: tuple[int, ...]) -> Any:  # noqa: ANN401
    """What a network makes of some input; raises if it changes what is not its own."""
    x, buffers = some(FEW, given), dict(network.named_buffers())
    before = x._version
    output = network(x)
    if x._version != before:
        raise ValueError(f"{what} must not change its input in place: the loss needs it, too")
    for name, buffer in network.named_buffers():
        if buffer is not buffers.get(name):
            raise ValueError(
                f"{what} must change its buffer {name!r} in place, as copy_ does: another tensor "
                "in its place would be lost"
            )
    return output


def some(n: int, shape: tuple[int, ...]) -> Float[Tensor, "n ..."]:
    """Observations to try a network on."""
    return torch.linspace(0, 1, n * torch.Size(shape).numel()).reshape(n, *shape)


def _axes(shape: tuple[int, ...]) -> str:
    return ", ".join(map(str, shape))
