# SPDX-License-Identifier: MIT
"""PyTorch tensors as libpollux takes them: in place, never copied."""

import hashlib
from typing import List, Tuple

import torch

from . import library
from .library import Error

_KINDS = {
    torch.float32: library.F32,
    torch.float64: library.F64,
    torch.float16: library.F16,
    torch.bfloat16: library.BF16,
    torch.int32: library.I32,
    torch.int64: library.I64,
    torch.uint8: library.U8,
    torch.bool: library.U8,
}


def memory_of(tensor: torch.Tensor) -> int:
    """enum pollux_memory of a tensor."""
    if tensor.device.type == "cpu":
        return library.HOST
    if tensor.device.type == "cuda":
        return library.CUDA
    raise Error("a tensor on device %s: libpollux knows cpu and cuda"
                % tensor.device)


def short_name(name: str) -> str:
    """The name, or its end behind a hash where it is too long."""
    if len(name.encode()) < library.NAME_MAX:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:8]
    tail = name.encode()[-(library.NAME_MAX - 10):].decode(errors="ignore")
    return digest + "~" + tail


def in_memory_order(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """A view of the same memory without gaps (channels_last and others)."""
    order = sorted(range(tensor.dim()), key=lambda i: -tensor.stride(i))
    view = tensor.detach().permute(order)
    if not view.is_contiguous():
        raise Error("tensor \"%s\" is not dense in memory, so it cannot be "
                    "saved in place: make it contiguous()" % name)
    return view


def describe(name: str, tensor: torch.Tensor) -> Tuple[int, int, List[int]]:
    """Address, enum pollux_type and shape."""
    if tensor.layout != torch.strided:
        raise Error("tensor \"%s\" is sparse: only dense ones can be saved"
                    % name)
    view = in_memory_order(name, tensor)
    kind = _KINDS.get(view.dtype)
    shape = list(view.shape)
    if kind is None:  # as bytes: int8, complex and what is to come
        kind = library.U8
        shape = [view.numel() * view.element_size()]
    return view.data_ptr(), kind, shape
