# SPDX-License-Identifier: MIT
"""A model's buffers, such as the running means of batch normalisation.

Each rank sees other samples, so their buffers drift apart. Statistics of
normalisation become the mean over all ranks at each step, weighted by
samples: nothing that any rank saw is lost. What all other buffers mean is
not known, so they become rank 0's. Either way a checkpoint need not say
whose they are.

What is averaged travels as one more bucket, which libpollux is told to divide
by infinity where it measures noise: it counts as nothing there. Only the last
pass of a step is meant, so the others send zeros, and a one says how much of
the sum that pass is. Behind it is how much of the step had a backward().
"""

import math
from typing import Iterator, List, Tuple

import torch
from torch.nn.modules.batchnorm import _NormBase

from .buckets import Bucket
from .handle import Handle
from .library import Error
from .tensors import in_memory_order, memory_of

_AVERAGED = ("running_mean", "running_var", "num_batches_tracked")
_TYPES = (torch.float32, torch.int64)


class _Buffer:
    """A persistent buffer, where it is registered."""

    def __init__(self, name: str, module: torch.nn.Module, key: str) -> None:
        self.name = name
        self._module = module
        self._key = key
        self.tensor = module._buffers[key]
        self.is_averaged = self.tensor.dtype in _TYPES and (
            isinstance(module, _NormBase) or key in _AVERAGED)

    def keep_place(self) -> None:
        """A module may have put another tensor in its place."""
        now = self._module._buffers[self._key]
        if now is self.tensor:
            return
        if now is None or now.shape != self.tensor.shape:
            raise Error("buffer \"%s\" has another shape than when training "
                        "began" % self.name)
        self.tensor.copy_(now.detach())
        self._module._buffers[self._key] = self.tensor

    def spread(self, handle: Handle) -> None:
        bytes_ = self.tensor.numel() * self.tensor.element_size()
        if bytes_:
            handle.spread(in_memory_order(self.name, self.tensor).data_ptr(),
                          bytes_, memory_of(self.tensor))


def _persistent(model: torch.nn.Module) -> List[_Buffer]:
    """Each tensor once, as named_buffers() has them."""
    buffers, seen = [], set()
    for prefix, module in model.named_modules():
        for key, tensor in module._buffers.items():
            if tensor is None or id(tensor) in seen or \
                    key in module._non_persistent_buffers_set:
                continue
            seen.add(id(tensor))
            name = prefix + "." + key if prefix else key
            buffers.append(_Buffer(name, module, key))
    return buffers


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
    """The averaged buffers on one device."""

    def __init__(self, device: torch.device,
                 buffers: List[torch.Tensor]) -> None:
        self.reals = _flatten([b for b in buffers if b.dtype ==
                               torch.float32], device, torch.float32)
        self.counts = _flatten([b for b in buffers if b.dtype ==
                                torch.int64], device, torch.int64)
        # As of the last step.
        self.base_reals = self.reals.clone()
        self.base = self.counts.clone()
        size = self.reals.numel() + self.counts.numel() + 2
        self.bucket = Bucket(0, device)
        self.bucket.flat = torch.zeros(size, device=device)
        self.bucket.precondition = torch.full((size,), math.inf,
                                              device=device)
        self._end = self.bucket.flat[-2:]
        self._ends = {(last, trained): torch.tensor(
            [float(last), float(trained)], device=device)
            for last in (False, True) for trained in (False, True)}

    def send(self, handle: Handle, last: bool, trained: bool) -> None:
        flat, reals = self.bucket.flat, self.reals.numel()
        if last:
            flat[:reals].copy_(self.reals)
            # Counters differ by little from what all had: exact in float32.
            flat[reals:-2].copy_(self.counts - self.base)
        elif flat.numel() > 2:
            flat.zero_()
        self._end.copy_(self._ends[last, trained])
        handle.gradient(self.bucket.number, flat.data_ptr())

    def receive(self, handle: Handle) -> None:
        flat, reals = self.bucket.flat, self.reals.numel()
        if flat.numel() == 2:  # no buffers: a GPU is not waited for
            return
        share = float(flat[-2])
        if share > 0:
            self.reals.copy_(flat[:reals] / share)
            self.counts.copy_(self.base +
                              (flat[reals:-2] / share).round().long())
            return
        # No rank had samples in that pass: what it saw is nobody's.
        for flat in self.reals, self.counts:
            if flat.numel():
                handle.spread(flat.data_ptr(), flat.numel() *
                              flat.element_size(), memory_of(flat))

    def keep(self) -> None:
        self.base_reals.copy_(self.reals)
        self.base.copy_(self.counts)

    def undo(self) -> None:
        self.reals.copy_(self.base_reals)
        self.counts.copy_(self.base)


class Statistics:
    def __init__(self, model: torch.nn.Module, device: torch.device) -> None:
        self._buffers = _persistent(model)
        self._alone = True
        by_device = {device: []}  # this one also says who has trained
        for buffer in self._buffers:
            if buffer.is_averaged and buffer.tensor.numel():
                by_device.setdefault(buffer.tensor.device,
                                     []).append(buffer.tensor)
        self._devices = [_Device(d, b) for d, b in by_device.items()]

    def named(self) -> Iterator[Tuple[str, torch.Tensor]]:
        return ((buffer.name, buffer.tensor) for buffer in self._buffers)

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
            device.keep()

    def send(self, handle: Handle, last: bool, trained: bool) -> None:
        """trained: this pass had a backward()."""
        for buffer in self._buffers:
            buffer.keep_place()
        for device in self._devices:
            device.send(handle, last and not self._alone, trained)

    def receive(self, handle: Handle, trained: bool) -> bool:
        """The step's sums are there: whether any rank had a backward().

        trained: this one had, with samples. A step that is not applied
        leaves no statistics either.
        """
        if handle.skipped():
            for device in self._devices:
                device.undo()
            return False
        if self._alone:  # nothing to be averaged, and no rounding
            for device in self._devices:
                device.keep()
            return trained
        for device in self._devices:
            device.receive(handle)
            device.keep()
        for buffer in self._buffers:
            if not buffer.is_averaged:
                buffer.spread(handle)
        return trained or float(self._devices[0].bucket.flat[-1]) > 0
