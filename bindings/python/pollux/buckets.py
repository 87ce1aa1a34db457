# SPDX-License-Identifier: MIT
"""Gradients in a few flat buffers, handed over while backward() still runs.

Each parameter's .grad is a view into its bucket, so nothing is copied. A
bucket is complete when all its parameters have got their gradient; it is
then handed to libpollux, in the same order on all ranks.
"""

from typing import Callable, Dict, List, Optional, Tuple

import torch

from . import library
from .library import Error

BUCKET_BYTES = 25 << 20

# Of a pass: gradients do not count, count, have been handed over.
IDLE, WATCHING, OVER = range(3)


class Bucket:
    """Parameters of one group on one device, last ones first."""

    def __init__(self, group: int, device: torch.device) -> None:
        self.group = group
        self.device = device
        self.params: List[torch.nn.Parameter] = []
        self.count = 0
        self.mixed = False  # some are not float32
        self.number = -1  # libpollux's
        self.missing = 0  # gradients of the pass under way
        self.flat: torch.Tensor
        self.views: List[torch.Tensor] = []
        self.precondition: Optional[torch.Tensor] = None

    def add(self, param: torch.nn.Parameter) -> None:
        self.params.append(param)
        self.count += param.numel()
        self.mixed |= param.dtype != torch.float32

    def views_of(self, flat: torch.Tensor) -> List[torch.Tensor]:
        """A flat buffer of this bucket, parameter by parameter."""
        views, at = [], 0
        for param in self.params:
            views.append(flat[at:at + param.numel()].view_as(param))
            at += param.numel()
        return views

    def build(self) -> None:
        self.flat = torch.zeros(self.count, device=self.device)
        self.views = self.views_of(self.flat)

    def begin(self) -> None:
        """Before a pass: zero, and every .grad where it belongs."""
        self.flat.zero_()
        self.missing = len(self.params)
        for param, view in zip(self.params, self.views):
            if param.grad is not view:
                param.grad = view if param.dtype == torch.float32 else None

    def take(self, index: int) -> None:
        """This parameter's gradient into the bucket, if it is not there."""
        param, view = self.params[index], self.views[index]
        if param.grad is None or param.grad is view:
            return
        view.copy_(param.grad)
        if param.dtype == torch.float32:
            param.grad = view

    def give(self) -> None:
        """After the all-reduce: back to parameters of other types."""
        for param, view in zip(self.params, self.views):
            if param.dtype != torch.float32:
                param.grad = view.to(param.dtype)


def _split(params: List[torch.nn.Parameter],
           group_of: Dict[torch.nn.Parameter, int]) -> List[Bucket]:
    open_ones: Dict[Tuple[int, torch.device], Bucket] = {}
    buckets: List[Bucket] = []
    for param in reversed(params):
        group = min(group_of.get(param, 0), library.GROUPS_MAX - 1)
        key = (group, param.device)
        bucket = open_ones.get(key)
        if bucket is None or 4 * (bucket.count + param.numel()) > BUCKET_BYTES:
            bucket = open_ones[key] = Bucket(group, param.device)
            buckets.append(bucket)
        bucket.add(param)
    return buckets


class Buckets:
    """All buckets of a model, and the hooks that fill them."""

    def __init__(self, params: List[torch.nn.Parameter],
                 group_of: Dict[torch.nn.Parameter, int]) -> None:
        self.all = _split([p for p in params if p.requires_grad], group_of)
        self.stage = IDLE
        self._dirty = False  # there may be something to be zeroed
        self._next = 0  # bucket that is handed over next
        self._hand_over: Callable[[Bucket], None]
        self._finish: Callable[[], None]
        self._queued = False
        self._nodes = []  # hooks die with their nodes
        for bucket in self.all:
            bucket.build()

    def hook(self, hand_over: Callable[[Bucket], None],
             finish: Callable[[], None]) -> None:
        """hand_over(bucket) in order; finish() at the end of backward()."""
        self._hand_over = hand_over
        self._finish = finish
        for bucket in self.all:
            for index, param in enumerate(bucket.params):
                # The node that adds to .grad: its hooks come after that.
                node = param.expand_as(param).grad_fn.next_functions[0][0]
                node.register_hook(self._hook_for(bucket, index))
                self._nodes.append(node)

    def _hook_for(self, bucket: Bucket, index: int) -> Callable:
        param, view = bucket.params[index], bucket.views[index]

        def ready(*_unused) -> None:  # for each parameter: kept short
            if self.stage != WATCHING or not bucket.missing:
                self._unexpected()
                return
            if param.grad is not view:
                bucket.take(index)
            if not self._queued:
                self._queue_end()
            bucket.missing -= 1
            if not bucket.missing:
                self._advance()
        return ready

    def begin(self) -> None:
        self._next = 0
        self._queued = False
        for bucket in self.all:
            bucket.begin()
        self._dirty = False
        self.stage = WATCHING

    def zero(self) -> None:
        if self._dirty:
            for bucket in self.all:
                bucket.begin()
        self._dirty = False

    def _unexpected(self) -> None:
        if self.stage != IDLE:
            raise Error("a second backward() in one pass: run all but the "
                        "last one in \"with model.no_sync():\"")
        self._dirty = True

    def _queue_end(self) -> None:
        self._queued = self._dirty = True
        torch.autograd.Variable._execution_engine.queue_callback(self._end)

    def _advance(self) -> None:
        while self._next < len(self.all) and \
                not self.all[self._next].missing:
            bucket = self.all[self._next]
            self._next += 1
            self._hand_over(bucket)

    def _end(self) -> None:
        """backward() is over: what has no gradient keeps its zeros."""
        for bucket in self.all:
            if bucket.missing:
                for index in range(len(bucket.params)):
                    bucket.take(index)
                bucket.missing = 0
        self._advance()
        self.stage = OVER
        self._finish()
        for bucket in self.all:
            if bucket.mixed:
                bucket.give()
