# SPDX-License-Identifier: MIT
"""DistributedDataParallel, with libpollux doing the all-reduce."""

import contextlib
import copy
from typing import Any, Iterator, Optional

import torch

from . import buckets
from .library import Error
from .run import Run, current

_MEANINGLESS = ("broadcast_buffers", "bucket_cap_mb", "find_unused_parameters",
                "gradient_as_bucket_view", "static_graph")


class DistributedDataParallel(torch.nn.Module):
    """Wraps a model as torch.nn.parallel.DistributedDataParallel does.

    Parameters and persistent buffers become part of each checkpoint and are
    restored, in place, before the first batch. When backward() returns, the
    gradients are those of the whole step, on all ranks. Options of PyTorch's
    that say how its reducer works are taken, and have no meaning here.
    """

    def __init__(self, module: torch.nn.Module, device_ids: Any = None,
                 output_device: Any = None, *, run: Optional[Run] = None,
                 **options: Any) -> None:
        super().__init__()
        for name in options:
            if name not in _MEANINGLESS:
                raise Error("DistributedDataParallel() has no option \"%s\""
                            % name)
        self.module = module
        self._run = run or current()
        self._run.attach_model(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """For all but the last backward() of a pass: add up only."""
        flats = self._run.buckets
        before = flats.stage if flats else buckets.IDLE
        if before != buckets.WATCHING and not (
                flats and flats.several and before == buckets.OVER):
            raise Error("no_sync() is for the body of a loop over a "
                        "pollux.DataLoader, before its last backward()")
        flats.stage = buckets.IDLE
        try:
            yield
        finally:
            flats.stage = before
            self._run.added_up()

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Zero the gradients; they stay where they are."""
        self._run.zero_all()

    def __deepcopy__(self, memo: Any) -> "DistributedDataParallel":
        """The module's copy, for an average of weights: not trained."""
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        torch.nn.Module.__init__(other)
        other.module = copy.deepcopy(self.module, memo)
        other._run = self._run
        return other
