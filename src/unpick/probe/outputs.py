"""What other people's encoders and decoders return: which entry is taken for what.

An entry is taken by its name, by its shape, or because repeated calls show what it is: an entry
that differs from call to call is a sample, and samples tell mean and variance apart. What cannot
be told is a question to the user, never a guess.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, NoReturn

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent

from unpick.probe.codes import Codes, read_posterior

Spread = Literal["log-variance", "log-deviation", "variance", "deviation"]
Path = tuple[Any, ...]  # keys, places and attributes that lead to an entry

DRAWS = 64  # calls of an encoder that answers at random
MEANS = {"mean", "means", "mu", "loc", "embedding"}
SPREADS: dict[str, Spread] = {
    **dict.fromkeys(["logvar", "logvariance", "logcovariance", "logsigma2"], "log-variance"),
    **dict.fromkeys(["logstd", "logscale", "logdeviation"], "log-deviation"),
    **dict.fromkeys(["var", "variance", "sigma2"], "variance"),
    **dict.fromkeys(["std", "stddev", "stdev", "scale", "sigma", "deviation"], "deviation"),
}
RECONSTRUCTIONS = {"sample", "xhat", "xrec", "xrecon", "decoded", "output", "outputs"}
OVERRIDE = "unpick.diagnose(lambda x: (mean, log_variance), lambda z: mean_observation, x)"


@dataclass(frozen=True, eq=False)
class Reading:
    """How to read an output.

    Attributes:
        read: From an output to what is wanted of it.
        taken: What is taken for what, as the end of a sentence.
    """

    read: Callable[[Any], Any]
    taken: str


def find_posterior(call: Callable[[], Any], name: str, shape: Sequence[int]) -> Reading:
    """How to read `Codes` from an encoder's output; raise a question if that cannot be told.

    Args:
        call: Encodes the same few observations anew.
        name: How the encoder is called, for sentences.
        shape: Of these observations. Entries of that shape are reconstructions, if there are
            others.
    """
    output = call()
    if isinstance(output, Codes):
        return Reading(lambda out: out, "codes")
    entries = find_entries(output)
    distributions = [path for path, value in entries.items() if not isinstance(value, Tensor)]
    if len(distributions) == 1:
        path = distributions[0]
        said = f"mean and variance of {spell(name, path)}"
        return Reading(lambda out: _read_distribution(follow(out, path)), said)
    tensors = _of_observations(entries, shape)
    again = find_entries(call())
    random = [path for path, value in tensors.items() if not _same(value, again.get(path))]
    fixed = _without_copies({p: v for p, v in tensors.items() if p not in random})
    named = _by_name(fixed)
    if named is None and len(fixed) == 2 and random:
        named = _by_samples(call, fixed, random)
    elif named is None and not random and _is_pair(fixed):
        pair = tuple(fixed)
        named = (pair[0], pair[1], "log-variance")
    elif named is None and len(fixed) == 1 and not random:
        named = (next(iter(fixed)), None, None)
    if named is None:
        if len(tensors) == len(random) == 1:
            raise ValueError(
                f"{name} is random: return the mean of the posterior, not a sample of it"
            )
        _ask(name, entries, "which is the mean and which the log-variance")
    mean, second, kind = named
    said = f"{spell(name, mean)} as the mean"
    if second is not None:
        said += f", {spell(name, second)} as the {kind}"
    return Reading(lambda out: _read_pair(out, mean, second, kind), said)


def find_observation(output: object, name: str, shape: Sequence[int]) -> Reading:
    """How to read mean observations from a decoder's output; raise a question if unclear."""
    entries = find_entries(output)
    size = torch.Size(shape).numel()
    paths = [
        path
        for path, value in entries.items()
        if not isinstance(value, Tensor) or value.numel() == size
    ]
    if len(paths) > 1:
        paths = [path for path in paths if _is_reconstruction(_word(path))] or paths
    if not paths and len(entries) == 1:
        paths = [*entries]  # of a wrong shape, which is told where it is used
    if len(paths) != 1 or _word(paths[0]) == "logits":
        _ask(name, entries, "which is the mean observation (not logits)")
    (path,) = paths
    is_tensor = isinstance(entries[path], Tensor)
    said = spell(name, path) if is_tensor else f"the mean of {spell(name, path)}"

    def read(out: object) -> Tensor:
        found = follow(out, path)
        return torch.as_tensor(found if is_tensor else found.mean)

    return Reading(read, f"{said} as the mean observation")


def find_entries(output: object, path: Path = ()) -> dict[Path, Any]:
    """Tensors and distributions within an output, by the way to each."""
    if isinstance(output, np.ndarray):
        output = torch.as_tensor(output)
    if isinstance(output, Tensor) or _is_distribution(output):
        return {path: output}
    inside: dict[Path, Any] = {}
    if isinstance(output, Mapping):
        inside = {(*path, key): value for key, value in output.items()}
    elif isinstance(output, tuple) and hasattr(output, "_fields"):
        inside = {(*path, f".{key}"): getattr(output, key) for key in output._fields}
    elif isinstance(output, tuple | list):
        inside = {(*path, k): value for k, value in enumerate(output)}
    elif is_dataclass(output):
        names = [field.name for field in fields(output)]
        inside = {(*path, f".{key}"): getattr(output, key) for key in names}
    elif hasattr(output, "__dict__") and not callable(output):
        inside = {(*path, f".{key}"): value for key, value in vars(output).items()}
    return {p: v for way, each in inside.items() for p, v in find_entries(each, way).items()}


def follow(output: Any, path: Path) -> Any:  # noqa: ANN401
    """The entry at the end of a path."""
    for key in path:
        attribute = isinstance(key, str) and key.startswith(".")
        output = getattr(output, key[1:]) if attribute else output[key]
    return output


def spell(name: str, path: Path) -> str:
    """How an entry is written in Python.

    Example:
        >>> spell("model(x)", (1, "mu", ".std"))
        "model(x)[1]['mu'].std"
    """
    keys = [key if str(key).startswith(".") else f"[{key!r}]" for key in path]
    return name + "".join(keys)


def _is_distribution(value: object) -> bool:
    """A distribution of torch, or anything with a mean and a spread, as diffusers has."""
    if isinstance(value, Distribution):
        return True
    mean = None if isinstance(value, Tensor | Mapping | tuple) else getattr(value, "mean", None)
    return isinstance(mean, Tensor) and _spread_attribute(value) is not None


def _spread_attribute(value: object) -> tuple[str, Spread] | None:
    for name in ("logvar", "log_var", "variance", "var", "std", "stddev", "scale"):
        if isinstance(getattr(value, name, None), Tensor):
            return name, SPREADS[_plain(name)]
    return None


def _read_distribution(found: Any) -> Codes | tuple[Tensor, Tensor]:  # noqa: ANN401
    if isinstance(found, Independent):
        found = found.base_dist
    if isinstance(found, Distribution):
        return (
            read_posterior(found)
            if hasattr(found, "covariance_matrix")
            else (found.mean, found.variance.double().log())
        )
    spread = _spread_attribute(found)
    assert spread is not None
    return found.mean, _log_variance(getattr(found, spread[0]), spread[1])


def _read_pair(
    output: object, mean: Path, second: Path | None, kind: Spread | None
) -> Tensor | tuple[Tensor, Tensor] | Codes:
    first = torch.as_tensor(follow(output, mean))
    if second is None or kind is None:
        return first
    spread = torch.as_tensor(follow(output, second))
    if spread.ndim == first.ndim + 1:
        return read_posterior((first, spread))  # a Cholesky factor
    return first, _log_variance(spread, kind)


def _log_variance(spread: Tensor, kind: Spread) -> Tensor:
    match kind:
        case "log-variance":
            return spread
        case "log-deviation":
            return 2 * spread
        case "variance":
            return spread.double().log()
        case "deviation":
            return 2 * spread.double().log()


def _of_observations(entries: Mapping[Path, Any], shape: Sequence[int]) -> dict[Path, Tensor]:
    """Tensors with a row an observation; those like the observations only if all are."""
    rows = {
        path: value
        for path, value in entries.items()
        if isinstance(value, Tensor)
        and value.ndim > 1
        and len(value) == shape[0]
        and value.is_floating_point()
    }
    others = {path: value for path, value in rows.items() if value.shape != torch.Size(shape)}
    return others or (rows if len(rows) < 3 else {})


def _without_copies(tensors: Mapping[Path, Tensor]) -> dict[Path, Tensor]:
    """Without entries that equal another: outside of training a sample may be the mean.

    Two entries are left as they are: of a collapsed model mean and log-variance are both zero.
    """
    if len(tensors) <= 2:
        return dict(tensors)
    kept: dict[Path, Tensor] = {}
    for path in sorted(tensors, key=lambda p: _plain(_word(p)) not in (*MEANS, *SPREADS)):
        if not any(_same(tensors[path], each) for each in kept.values()):
            kept[path] = tensors[path]
    return {path: kept[path] for path in tensors if path in kept}


def _by_name(tensors: Mapping[Path, Tensor]) -> tuple[Path, Path | None, Spread | None] | None:
    means = [path for path in tensors if _plain(_word(path)) in MEANS]
    spreads = [path for path in tensors if _plain(_word(path)) in SPREADS]
    if len(means) != 1 or len(spreads) > 1 or (not spreads and len(tensors) > 1):
        return None
    if not spreads:
        return means[0], None, None
    return means[0], spreads[0], SPREADS[_plain(_word(spreads[0]))]


def _by_samples(
    call: Callable[[], Any], fixed: Mapping[Path, Tensor], random: Sequence[Path]
) -> tuple[Path, Path, Spread] | None:
    """Which of two entries is the mean of the samples, and what the other says of their spread.

    The average of the samples must lie within five standard errors of the mean nearly everywhere,
    and the logarithm of their variance on average within a tenth of the spread's.
    """
    for path in random:
        drawn = torch.stack([torch.as_tensor(follow(call(), path)).double() for _ in range(DRAWS)])
        error = drawn.std(0) / DRAWS**0.5
        # The mean of the logarithm of a sample variance, less that of the variance.
        bias = float(torch.digamma(torch.tensor((DRAWS - 1) / 2))) - np.log((DRAWS - 1) / 2)
        log_variance = drawn.var(0).log() - bias
        for mean, spread in (tuple(fixed), tuple(fixed)[::-1]):
            a, b = fixed[mean].double(), fixed[spread].double()
            if a.shape != drawn[0].shape or b.shape != a.shape:
                continue
            if ((drawn.mean(0) - a).abs() < 5 * error + 1e-6).double().mean() < 0.99:
                continue
            kinds: tuple[Spread, ...] = ("log-variance", "log-deviation", "variance", "deviation")
            off = {kind: (_log_variance(b, kind) - log_variance).abs().mean() for kind in kinds}
            # The scatter of a log sample variance about its mean is 0.14 on average for 64 draws.
            fits = [kind for kind, value in off.items() if value < 0.25]
            if len(fits) == 1:
                return mean, spread, fits[0]
    return None


def _is_pair(tensors: Mapping[Path, Tensor]) -> bool:
    """Whether this is a mean with a log-variance, or with a Cholesky factor, without names.

    Under an unknown name, such as log_sigma, may stand a logarithm of either.
    """
    if len(tensors) != 2 or any(_word(path) for path in tensors):
        return False
    mean, second = tensors.values()
    return second.shape == mean.shape or second.shape == (*mean.shape, mean.shape[-1])


def _same(a: Tensor, b: object) -> bool:
    return isinstance(b, Tensor) and a.shape == b.shape and torch.equal(a, b)


def _word(path: Path) -> str:
    """The last name on a path; empty for a place in a tuple."""
    return str(path[-1]).lstrip(".") if path and isinstance(path[-1], str) else ""


def _plain(word: str) -> str:
    """A name without case, underscores and what says that it belongs to z.

    Example:
        >>> _plain("z_log_var"), _plain("qz_mean"), _plain("mu_z")
        ('logvar', 'mean', 'mu')
    """
    word = re.sub(r"(^|_)(z|qz|q|latent|latents|posterior)(?=_|$)", "", word.lower())
    return re.sub("[^a-z0-9]", "", word)


def _is_reconstruction(word: str) -> bool:
    return "recon" in word.lower() or _plain(word) in RECONSTRUCTIONS


def _ask(name: str, entries: Mapping[Path, Any], question: str) -> NoReturn:
    """Raise a question that lists the entries and says how to choose."""
    listed = ", ".join(
        f"{spell('', path) or 'the output'} {_describe(value)}" for path, value in entries.items()
    )
    got = listed or "nothing with a row for each observation"
    raise ValueError(f"{name} gives {got}: {question}? Say so with {OVERRIDE}")


def _describe(value: object) -> str:
    return str(tuple(value.shape)) if isinstance(value, Tensor) else type(value).__name__
