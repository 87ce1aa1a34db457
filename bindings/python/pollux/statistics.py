# SPDX-License-Identifier: MIT
"""A model's buffers, such as the running means of batch normalisation.

Each rank sees other samples, so their buffers drift apart. At each step they
become the mean over all ranks, weighted by samples: nothing that any rank
saw is lost, and a checkpoint need not say whose they are.

They travel as one more bucket, which libpollux is told to divide by infinity
where it measures noise: they count as nothing there. Only the last pass of a
step is meant, so the others send zeros, and a one says how much of the sum
that pass is.
"""

import math
from typing import Iterator, List, Tuple

import torch

from .buckets import Bucket
from .handle import Handle
from .tensors import memory_of


def _persistent(model: torch.nn.Module) -> List[Tuple[str, torch.Tensor]]:
    saved = set(model.state_dict(keep_vars=True))
    return [(name, buffer) for name, buffer in model.named_buffers()
            if name in saved]


def _flatten(buffers: List[torch.Tensor], device: torch.device,
             dtype: torch.dtype) -> torch.Tensor:
    """One memory for all of them, so that they are copied at once."""
    flat = torch.zeros(sum(b.numel() for b in buffers), dtype=dtype,
                       device=device)
    at = 0
    for buffer in buffers:
        view = flat[at:at + buffer.numel()].view(buffer.shape)
        view.copy_(buffer)
        buffer.data = view
        at += buffer.numel()
    return flat


class _Device:
    """The buffers on one device."""

    def __init__(self, device: torch.device,
                 buffers: List[torch.Tensor]) -> None:
        self.reals = _flatten([b for b in buffers if b.dtype ==
                               torch.float32], device, torch.float32)
        self.counts = _flatten([b for b in buffers if b.dtype ==
                                torch.int64], device, torch.int64)
        self.base = self.counts.clone()
        size = self.reals.numel() + self.counts.numel() + 1
        self.bucket = Bucket(0, device)
        self.bucket.flat = torch.zeros(size, device=device)
        self.bucket.precondition = torch.full((size,), math.inf,
                                              device=device)

    def send(self, handle: Handle, last: bool) -> None:
        flat, reals = self.bucket.flat, self.reals.numel()
        flat.zero_()
        if last:
            flat[:reals].copy_(self.reals)
            # Counters differ by little from what all had: exact in float32.
            flat[reals:-1].copy_(self.counts - self.base)
            flat[-1] = 1.0
        handle.gradient(self.bucket.number, flat.data_ptr())

    def receive(self) -> None:
        flat, reals = self.bucket.flat, self.reals.numel()
        share = float(flat[-1])
        if not share > 0 or not math.isfinite(share):
            return  # the step was given up
        self.reals.copy_(flat[:reals] / share)
        self.counts.copy_(self.base + (flat[reals:-1] / share).round().long())
        self.base.copy_(self.counts)


class Statistics:
    def __init__(self, model: torch.nn.Module) -> None:
        self._named = _persistent(model)
        self._alone = True
        by_device = {}
        for _name, buffer in self._named:
            if buffer.numel() and buffer.dtype in (torch.float32,
                                                   torch.int64):
                by_device.setdefault(buffer.device, []).append(buffer)
        self._devices = [_Device(d, b) for d, b in by_device.items()]

    def named(self) -> Iterator[Tuple[str, torch.Tensor]]:
        return iter(self._named)

    def hand_in(self, handle: Handle) -> None:
        for device in self._devices:
            bucket = device.bucket
            bucket.number = handle.bucket(
                bucket.flat.numel(), memory_of(bucket.flat), 0,
                bucket.precondition.data_ptr())

    def begin(self, ranks: int) -> None:
        """All ranks hold the same now."""
        self._alone = ranks == 1
        for device in self._devices:
            device.base.copy_(device.counts)

    def send(self, handle: Handle, last: bool) -> None:
        for device in self._devices:
            device.send(handle, last and not self._alone)

    def receive(self) -> None:
        if self._alone:
            return  # nothing to be averaged, and no rounding
        for device in self._devices:
            device.receive()
