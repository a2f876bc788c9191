"""A stand-in for a GPU: a device `accel` that computes, and refuses to mix with the CPU.

Its tensors hold ordinary ones that no operation sees. An operation whose tensors do not all lie on
one device raises, as it would on a GPU; only copies, and numbers without axes, may cross over. So
a tensor that our code leaves on the CPU fails, and what does not fail has the values of the CPU.

The device changes the process for good: import this in a process of its own.
"""

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

_setup_privateuseone_for_python_backend("accel")

DEVICE = torch.device("accel:0")
COPIES = ("aten::copy_", "aten::_to_copy")


class OnAccelerator(torch.Tensor):
    """A tensor on the stand-in device."""

    @staticmethod
    def __new__(cls, held):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=DEVICE,
        )

    def __init__(self, held):
        self.held = held

    @property
    def data(self):
        return self.detach()

    @data.setter
    def data(self, other):
        """Move to the memory of another tensor, as a parameter may."""
        torch.Tensor.data.__set__(self, other)
        self.held = other.held

    def __repr__(self):
        return f"OnAccelerator({self.held})"

    @classmethod
    def __torch_dispatch__(cls, operation, types, args=(), kwargs=None):
        return execute(operation, args, kwargs or {})


class Accelerator(TorchDispatchMode):
    """While it is entered, tensors can be made on the stand-in device."""

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        return execute(operation, args, kwargs or {})


def execute(operation, args, kwargs):
    """Run an operation on what the tensors hold; its results lie where they would on a GPU."""
    name, flat = operation.name(), tree_flatten((args, kwargs))[0]
    tensors = [each for each in flat if isinstance(each, torch.Tensor)]
    here = [each for each in tensors if isinstance(each, OnAccelerator)]
    elsewhere = [each for each in tensors if not isinstance(each, OnAccelerator) and each.ndim]
    if here and elsewhere and name not in COPIES:
        raise RuntimeError(f"{name}: some tensors are on accel and some on cpu")
    device = kwargs.get("device")
    stays = bool(here) if device is None else torch.device(device).type == "accel"
    if device is not None:
        kwargs = {**kwargs, "device": torch.device("cpu")}
    if name == "aten::_efficientzerotensor":  # a zero without memory, of forward-mode derivatives
        operation = torch.ops.aten.zeros.default
    result = operation(*tree_map(_held, args), **tree_map(_held, kwargs))
    if operation._schema.name.endswith("_") and isinstance(result, torch.Tensor):
        return args[0]  # in place
    known = {id(each.held): each for each in here}

    def wrap(value):
        if not stays or not isinstance(value, torch.Tensor) or isinstance(value, OnAccelerator):
            return value
        return known.get(id(value)) or OnAccelerator(value)

    return tree_map(wrap, result)


def _held(value):
    return value.held if isinstance(value, OnAccelerator) else value
