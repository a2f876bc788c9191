"""Take a model as it comes: find its encoder and decoder, and say what was assumed."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unpick.probe.codes import Codes, read_posterior
from unpick.probe.outputs import OVERRIDE, find_observation, find_posterior
from unpick.probe.pixels import Scale, candidates, pick_scale
from unpick.probe.trace import first_weight

FEW = 4  # observations that are encoded to see what comes out


@dataclass(frozen=True, eq=False)
class Model:
    """An encoder and a decoder of flat latents on the CPU, whatever the model is.

    Attributes:
        encode: From observations (n, ...) in the model's scale to codes (n, d).
        decode: From latents (n, d) to mean observations (n, ...).
        latent_shape: Of one observation's latents, before they were flattened: (d,), or
            (channels, height, width).
        scale: Brings the given observations to the model's scale.
        name: Of the model.
        assumed: A sentence for each thing that was assumed.
    """

    encode: Callable[[Tensor], Codes]
    decode: Callable[[Tensor], Tensor]
    latent_shape: tuple[int, ...]
    scale: Scale
    name: str
    assumed: tuple[str, ...]

    @property
    def locations(self) -> int:
        """At how many places of an image there is a latent vector; 1 for flat latents."""
        return int(np.prod(self.latent_shape[1:], dtype=int))


@torch.no_grad()
def read_model(
    model: object, decode: Callable[[Any], Any] | None, x: Tensor | np.ndarray
) -> Model:
    """Find out how to call a model, with a few of the observations.

    Args:
        model: An encoder, if `decode` is given. Else a module with `encode` and `decode`, or with
            a `forward` that gives the posterior's parameters and a decoder.
        decode: A decoder.
        x: Observations.
    """
    assumed: list[str] = []
    name = type(model).__name__ if isinstance(model, nn.Module) or decode is None else "encode"
    if isinstance(model, nn.Module) and decode is None:
        model = _in_single_precision(model, assumed)
    calls = _find_calls(model, decode)
    weight = first_weight(calls.encode)
    arrays = isinstance(x, np.ndarray) and weight is None
    tensor = torch.as_tensor(x)
    tried: dict[Scale, Model | Exception] = {}
    for scale in candidates(tensor):
        try:
            tried[scale] = _read(calls, scale, tensor, weight, arrays, name)
        except (RuntimeError, ValueError, TypeError) as error:
            tried[scale] = error
    scale = pick_scale(tried, tensor)
    found = tried[scale]
    assert isinstance(found, Model)
    said = [*assumed, *([calls.said] if calls.said else []), *found.assumed]
    if decode is None:
        said.append(f"To choose otherwise: {OVERRIDE}.")
    return replace(found, assumed=tuple(filter(None, said)))


@dataclass(frozen=True, eq=False)
class _Calls:
    """The two functions of a model and their names, for sentences."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]
    encode_name: str
    decode_name: str
    said: str = ""


def _find_calls(model: Any, decode: Callable[[Any], Any] | None) -> _Calls:  # noqa: ANN401
    """The encoder and decoder of a model."""
    if decode is not None:
        if not callable(model) or not callable(decode):
            got = f"{type(model).__name__} and {type(decode).__name__}"
            raise ValueError(f"encode and decode must be functions, got {got}")
        return _Calls(model, decode, "encode(x)", "decode(z)")
    decoders = [n for n in ("decode", "decoder") if callable(getattr(model, n, None))]
    if callable(getattr(model, "encode", None)) and decoders:
        encoder = "encode"
    elif decoders and callable(getattr(model, "encoder", None)) and not _has_heads(model):
        encoder = "encoder"
    elif decoders and callable(model):
        encoder = ""  # its forward
    else:
        children = model.children() if isinstance(model, nn.Module) else ()
        inner = [child for child in children if callable(getattr(child, "encode", None))]
        if len(inner) == 1:
            said = f"{type(inner[0]).__name__} within {type(model).__name__} was examined."
            return replace(_find_calls(inner[0], None), said=said)
        raise ValueError(
            f"{type(model).__name__} has no encode and decode, nor encoder and decoder. "
            f"Pass two functions: {OVERRIDE}"
        )
    call = getattr(model, encoder) if encoder else model
    names = f"model.{encoder}(x)" if encoder else "model(x)", f"model.{decoders[0]}(z)"
    said = "" if encoder == "encode" and decoders[0] == "decode" else f"{names[0]} was called."
    return _Calls(call, getattr(model, decoders[0]), *names, said)


def _has_heads(model: object) -> bool:
    """Whether layers of its own follow the encoder, which then gives no latents."""
    return any(
        isinstance(layer, nn.Module) and any(word in name for word in ("mu", "mean", "var"))
        for name, layer in getattr(model, "named_children", dict().items)()
    )


def _read(
    calls: _Calls, scale: Scale, x: Tensor, weight: Tensor | None, arrays: bool, name: str
) -> Model:
    """Encode and decode a few observations, and see what comes out."""
    few = scale.apply(x[:FEW])
    device = None if weight is None else weight.device
    kind = weight.dtype if weight is not None and few.is_floating_point() else None

    def call_encoder(x: Tensor) -> Any:  # noqa: ANN401
        # Copies: the encoder may work in place.
        return calls.encode(x.numpy().copy() if arrays else x.to(device, kind, copy=True))

    posterior = find_posterior(lambda: call_encoder(few), calls.encode_name, few.shape)
    latent_shape = tuple(_mean_of(posterior.read(call_encoder(few))).shape[1:])
    if len(latent_shape) not in (1, 3):
        raise ValueError(
            f"{calls.encode_name} gives latents of shape {latent_shape}: which axis holds the "
            "channels? Reshape them to (n, channels, height, width), or to (n, latents)"
        )

    def call_decoder(z: Tensor) -> Any:  # noqa: ANN401
        shaped = z.reshape(len(z), *latent_shape)
        return calls.decode(shaped.numpy().copy() if arrays else shaped.to(device, kind))

    def encode(x: Tensor) -> Codes:
        return _flat(posterior.read(call_encoder(x)))

    try:
        output = call_decoder(encode(few).mean)
    except RuntimeError as error:
        raise ValueError(
            f"{calls.decode_name} does not take latents of shape {latent_shape} ({error}). If "
            "mean and log-variance come side by side, pass lambda x: encode(x).chunk(2, 1)"
        ) from error
    observation = find_observation(output, calls.decode_name, few.shape)

    def decode(z: Tensor) -> Tensor:
        return observation.read(call_decoder(z)).to(z.device, z.dtype)

    said = [f"Taken: {posterior.taken}; {observation.taken}."]
    if len(latent_shape) == 3 and np.prod(latent_shape[1:]) > 1:
        c, h, w = latent_shape
        said.append(f"Latents {latent_shape} were read as {c} channels at {h} x {w} locations.")
    if kind is not None and x.is_floating_point() and x.dtype != kind:
        said.append(f"x was cast from {_kind(x.dtype)} to the model's {_kind(kind)}.")
    return Model(encode, decode, latent_shape, scale, name, (*said, scale.said))


def _flat(posterior: Any) -> Codes:  # noqa: ANN401
    """Codes on the CPU, in single precision at least, with flat latents."""
    if isinstance(posterior, Codes):
        parts = (posterior.mean, posterior.variance, posterior.factor)
        return Codes(*(None if part is None else part.cpu() for part in parts))  # type: ignore[arg-type]
    if isinstance(posterior, tuple):
        mean, log_variance = (_whole(part.flatten(1)) for part in posterior)
        return read_posterior((mean, log_variance))
    return read_posterior(_whole(posterior.flatten(1)))


def _whole(part: Tensor) -> Tensor:
    part = part.detach().cpu()
    return part.float() if part.dtype in (torch.float16, torch.bfloat16) else part


def _mean_of(posterior: Any) -> Tensor:  # noqa: ANN401
    if isinstance(posterior, Codes):
        return posterior.mean
    return posterior[0] if isinstance(posterior, tuple) else posterior


def _in_single_precision(model: nn.Module, assumed: list[str]) -> nn.Module:
    """A copy in single precision of a model in half: derivatives need more than three digits."""
    weight = first_weight(model)
    if weight is None or weight.dtype not in (torch.float16, torch.bfloat16):
        return model
    try:
        single = copy.deepcopy(model).float()
    except Exception:  # some modules cannot be copied; they are called as they are
        return model
    assumed.append(
        f"The model is in {_kind(weight.dtype)}; a copy of it in single precision was examined."
    )
    return single


def _kind(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
