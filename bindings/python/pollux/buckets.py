# SPDX-License-Identifier: MIT
"""Gradients in a few flat buffers, handed over while backward() still runs.

Each parameter's .grad is a view into its bucket, so nothing is copied. A
bucket is complete when all its parameters have got their gradient; it is
then handed to libpollux, in the same order on all ranks.

On a GPU a pass begins anew instead: without any .grad, so that backward()
leaves its own tensors there. It would launch a kernel for each parameter to
add them to views. They are copied when the bucket is complete, all at once.
Either way each .grad is the mean over all ranks when backward() returns.
"""

import threading
from typing import Callable, Dict, List, Optional, Set

import torch

from . import library
from .library import Error

BUCKET_BYTES = 25 << 20
FOREACH_MOST = 1 << 31

# Of a pass: gradients do not count, count, have been handed over.
IDLE, WATCHING, OVER = range(3)


def _anew(device: torch.device) -> bool:
    """Whether passes begin without any .grad there."""
    return device.type == "cuda"


def _copy(views: List[torch.Tensor], own: List[torch.Tensor],
          flat: Optional[torch.Tensor]) -> None:
    """own into views, which are all of flat unless that is None.

    Then none of own lies in flat.
    """
    own = [g.to_dense() if g.is_sparse else g for g in own]
    # Since PyTorch 2.1; to 2.7 it counts in 32 bits.
    if hasattr(torch, "_foreach_copy_") and \
            all(v.numel() < FOREACH_MOST for v in views):
        torch._foreach_copy_(views, own)
    elif flat is not None and all(g.dtype == flat.dtype for g in own):
        torch.cat([g.reshape(-1) for g in own], out=flat)
    else:
        for view, gradient in zip(views, own):
            view.copy_(gradient)


class Bucket:
    """Parameters of one group on one device, last ones first."""

    def __init__(self, group: int, device: torch.device) -> None:
        self.group = group
        self.device = device
        self.params: List[torch.nn.Parameter] = []
        self.count = 0
        self.number = -1  # libpollux's
        self.missing = 0  # gradients of the pass under way
        self.flat: torch.Tensor
        self.views: List[torch.Tensor] = []
        self.precondition: Optional[torch.Tensor] = None
        self._anew = False
        self._kind: Optional[torch.dtype] = None  # all are of another type
        self._clean = False  # flat has nothing but zeros
        self._placed = False  # each .grad has been put where it belongs

    def add(self, param: torch.nn.Parameter) -> None:
        self.params.append(param)
        self.count += param.numel()

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
        self._anew = _anew(self.device)
        kinds = {param.dtype for param in self.params}
        if len(kinds) == 1 and torch.float32 not in kinds:
            self._kind = kinds.pop()

    def begin(self) -> None:
        """Before a pass: zero, and every .grad where it belongs."""
        self.flat.zero_()
        self.missing = len(self.params)
        self._clean = self._anew
        self._placed = False
        for param, view in zip(self.params, self.views):
            if self._anew or not param.requires_grad or \
                    param.dtype != torch.float32:
                param.grad = None  # frozen: not even its weight decays
            elif param.grad is not view:
                param.grad = view

    def take(self) -> None:
        """All gradients into the bucket, if they are not there."""
        views, own = [], []
        for param, view in zip(self.params, self.views):
            gradient = param.grad
            if gradient is view:
                continue
            if gradient is not None:
                views.append(view)
                own.append(gradient)
            elif not self._clean:  # of before, where the script removed it
                view.zero_()
        all_of = self._clean and len(own) == len(self.params)
        self._clean = False
        if not own:
            return
        with torch.no_grad():
            _copy(views, own, self.flat if all_of else None)
        for param, view in zip(self.params, self.views):
            if param.grad is not None and param.dtype == torch.float32:
                param.grad = view

    def give(self) -> None:
        """Every .grad is what the bucket has: the mean over all ranks.

        Also where this rank had none, for others may have had one.
        """
        self._placed = True
        views = self.views
        if self._kind is not None:
            views = self.views_of(self.flat.to(self._kind))
        for param, view in zip(self.params, views):
            if param.grad is not view and param.requires_grad:
                param.grad = view.to(param.dtype)

    def settle(self) -> None:
        """Before a step: what has no gradient has zeros."""
        if self._anew and not self._placed:
            self.take()
            self.give()

    def clear(self) -> None:
        """This pass has no gradient."""
        self.flat.zero_()
        self.missing = 0


def _split(params: List[torch.nn.Parameter],
           group_of: Dict[torch.nn.Parameter, int]) -> List[Bucket]:
    open_ones: Dict[tuple, Bucket] = {}
    buckets: List[Bucket] = []
    for param in reversed(params):
        group = min(group_of.get(param, 0), library.GROUPS_MAX - 1)
        # What is frozen does not hold up what is not.
        key = (group, param.device, param.requires_grad)
        bucket = open_ones.get(key)
        if bucket is None or 4 * (bucket.count + param.numel()) > BUCKET_BYTES:
            bucket = open_ones[key] = Bucket(group, param.device)
            buckets.append(bucket)
        bucket.add(param)
    return buckets


class Buckets:
    """All buckets of a model, and the hooks that fill them.

    Those in `all` are libpollux's own. With several optimisers, which step by
    turns, it has those of the first one; those of the `others` become their
    mean at the end of each backward() that reaches them, and so do those of
    the first in all but one backward() of a pass.
    """

    def __init__(self, params: List[torch.nn.Parameter],
                 group_of: Dict[torch.nn.Parameter, int],
                 others: Optional[Dict[torch.nn.Parameter, int]] = None
                 ) -> None:
        """others: numbers of further optimisers; None: there is one."""
        self.several = others is not None
        others = others or {}
        # Frozen ones that an optimiser has may be trained later.
        self.all = _split([p for p in params if p not in others and
                           (p.requires_grad or p in group_of)], group_of)
        self.others = _split([p for p in params if p in others], others)
        self.stage = IDLE
        self._dirty = False  # there may be something to be zeroed
        self._next = 0  # bucket that is handed over next
        self._hand_over: Callable[[Bucket], None]
        self._finish: Callable[[], None]
        self._mean: Callable[[Bucket], None]
        self._queued = False
        self._lock = threading.RLock()  # each device has a thread of its own
        self._touched: Set[Bucket] = set()  # to become their mean
        self._nodes = []  # hooks die with their nodes
        for bucket in self.all + self.others:
            bucket.build()

    def hook(self, hand_over: Callable[[Bucket], None],
             finish: Callable[[], None],
             mean: Callable[[Bucket], None]) -> None:
        """hand_over(bucket) in order; finish() at the end of backward()."""
        self._hand_over = hand_over
        self._finish = finish
        self._mean = mean
        for bucket in self.all:
            self._hook_bucket(bucket, self._hook_for)
        for bucket in self.others:
            self._hook_bucket(bucket, self._hook_for_other)

    def _hook_bucket(self, bucket: Bucket, make: Callable) -> None:
        for index, param in enumerate(bucket.params):
            frozen = not param.requires_grad
            # The node that adds to .grad: its hooks come after that.
            param.requires_grad_(True)
            node = param.expand_as(param).grad_fn.next_functions[0][0]
            param.requires_grad_(not frozen)
            node.register_hook(make(bucket, index))
            self._nodes.append(node)

    def _hook_for(self, bucket: Bucket, index: int) -> Callable:
        def ready(*_unused) -> None:  # for each parameter: kept short
            with self._lock:
                if self.stage == WATCHING and not self._queued:
                    self._queue_first()
                if self.stage != WATCHING or not bucket.missing:
                    self._unexpected(bucket)
                    return
                bucket.missing -= 1
                if not bucket.missing:
                    bucket.take()
                    self._advance()
        return ready

    def _hook_for_other(self, bucket: Bucket, _index: int) -> Callable:
        def ready(*_unused) -> None:
            with self._lock:
                self._dirty = True
                if self.stage != IDLE:
                    self._touch(bucket)
        return ready

    def begin(self) -> None:
        """Before a pass."""
        self._next = 0
        self._queued = False
        self._touched.clear()
        for bucket in self.all + self.others:
            bucket.begin()
        self._dirty = False
        self.stage = WATCHING

    def added_up(self) -> bool:
        """In this pass there was a backward() in no_sync(), and no other."""
        return self.stage == WATCHING and self._dirty

    def zero(self, params: Optional[Set[torch.nn.Parameter]] = None) -> None:
        """All of them, or those of an optimiser with these parameters."""
        if params is not None:
            for bucket in self.all + self.others:
                if any(param in params for param in bucket.params):
                    bucket.begin()
            return
        if self._dirty:
            for bucket in self.all + self.others:
                bucket.begin()
        self._dirty = False

    def _unexpected(self, bucket: Bucket) -> None:
        self._dirty = True
        if self.stage == IDLE:
            return
        if not self.several:
            raise Error("a second backward() in one pass: run all but the "
                        "last one in \"with model.no_sync():\"")
        self._touch(bucket)

    def _touch(self, bucket: Bucket) -> None:
        if not self._queued and not self._touched:
            self._queue(self._end_of_others)
        self._touched.add(bucket)

    def _queue(self, end: Callable[[], None]) -> None:
        torch.autograd.Variable._execution_engine.queue_callback(end)

    def _queue_first(self) -> None:
        """What is trained may have changed since the pass began."""
        self._queued = self._dirty = True
        for bucket in self.all:
            bucket.missing = sum(p.requires_grad for p in bucket.params)
        self._queue(self._end)

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
                bucket.take()
                bucket.missing = 0
        self._advance()
        self._queued = False
        self.stage = OVER
        self._finish()
        for bucket in self.all:
            bucket.give()
        self._end_of_others()

    def _end_of_others(self) -> None:
        if self._queued:  # the first one's come before
            return
        for bucket in self.all + self.others:
            if bucket in self._touched:
                bucket.take()
                self._mean(bucket)
                bucket.give()
        self._touched.clear()

    def pass_over(self, finish: Callable[[], None]) -> None:
        """There was no backward() for libpollux's own: zeros are sent.

        The mean comes back by finish(), for this rank steps with the others.
        """
        for bucket in self.all:
            bucket.clear()
        self._advance()
        self.stage = OVER
        finish()
        for bucket in self.all:
            bucket.give()

    def settle(self) -> None:
        for bucket in self.all + self.others:
            bucket.settle()
