"""Where tensors live, how precisely they are multiplied, and what each kind of device does best.

A configuration never names a device: it says what is computed, not where.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Literal

import torch
from threadpoolctl import ThreadpoolController
from torch import Tensor

from unpick.names import unknown_choice

Precision = Literal["fp32", "tf32", "bf16"]


def find_device(name: str = "auto") -> torch.device:
    """The device of that name; `auto` is the first GPU, or else the CPU.

    Example:
        >>> find_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        gpus = (n for n, there in (("cuda", cuda_devices()), ("mps", _has_mps())) if there)
        return torch.device(next(gpus, "cpu"))
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device must be auto, cpu, cuda, cuda:N or mps, got {name!r}") from None
    if device.type == "cuda" and not (device.index or 0) < cuda_devices():
        raise ValueError(
            f"device {name!r} is not here: this machine has {cuda_devices()} CUDA GPUs"
        )
    if device.type == "mps" and not _has_mps():
        raise ValueError(f"device {name!r} is not here: this machine has no Apple GPU")
    if device.type not in ("cpu", "cuda", "mps"):
        try:
            torch.empty(1, device=device).item()
        except Exception:  # PyTorch knows more names than it can compute on
            raise ValueError(f"device {name!r} is not here") from None
    return device


def cuda_devices() -> int:
    """The number of CUDA GPUs."""
    return torch.cuda.device_count() if torch.cuda.is_available() else 0


def _has_mps() -> bool:
    return torch.backends.mps.is_available()


def describe_processor() -> str:
    """What last bits of sums depend on: the instructions in use and, where Linux tells, the CPU.

    Two processors with the same instructions may round differently: libraries choose by model.
    """
    instructions = torch.backends.cpu.get_cpu_capability()
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return instructions
    pairs = (line.partition(":") for line in first.splitlines())
    told = {name.strip(): value.strip() for name, _, value in pairs}
    named = [told[key] for key in ("vendor_id", "cpu family", "model") if key in told]
    return ", ".join([instructions, " ".join(named)] if named else [instructions])


def check_precision(precision: Precision, device: torch.device) -> None:
    """Raise unless the device can multiply in this precision."""
    if precision not in ("fp32", "tf32", "bf16"):
        raise unknown_choice("precision", precision, Precision)
    if precision == "tf32" and device.type != "cuda":
        raise ValueError(f"precision 'tf32' needs a CUDA GPU, got device {str(device)!r}")


@contextmanager
def matrix_products(precision: Precision) -> Iterator[None]:
    """Inside the block CUDA GPUs multiply float32 numbers in TF32, or else exactly.

    Left alone, PyTorch takes TF32 for convolutions and float32 for matrix products.
    """
    before = torch.get_float32_matmul_precision()
    tf32 = precision == "tf32"
    with torch.backends.cudnn.flags(allow_tf32=tf32):
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """Inside the block forward passes multiply in bfloat16, if that is the precision."""
    if precision != "bf16":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """Inside the block PyTorch and NumPy use so many threads; small networks are fastest with one.

    Threads that share a small step wait for each other, on a busy machine longer than it takes.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        with _libraries().limit(limits=number, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


_libraries = cache(ThreadpoolController)  # finding them takes longer than setting them


def send(x: Tensor, device: torch.device) -> Tensor:
    """A tensor of the CPU on this device; to a CUDA GPU the copy runs beside its work."""
    if device.type == "cuda":
        return x.pin_memory().to(device, non_blocking=True)
    return x.to(device)


# What each kind of device does best. All choices that depend on the device are made here.


def convolves_together(device: torch.device) -> bool:
    """Whether convolutions of all members run as one grouped convolution.

    On a CPU they gain nothing from it, and one member at a time stays in the cache.
    """
    return device.type != "cpu"


# Kinds of devices for which PyTorch has a fused kernel of the optimiser.
FUSED: dict[str, tuple[str, ...]] = {"adam": ("cpu", "cuda"), "adagrad": ("cpu",)}
