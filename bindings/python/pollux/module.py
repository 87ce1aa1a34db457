# SPDX-License-Identifier: MIT
"""DistributedDataParallel, with libpollux doing the all-reduce."""

import contextlib
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
        if flats is None or flats.stage != buckets.WATCHING:
            raise Error("no_sync() is for the body of a loop over a "
                        "pollux.DataLoader, before its last backward()")
        flats.stage = buckets.IDLE
        try:
            yield
        finally:
            flats.stage = buckets.WATCHING

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Zero the gradients; they stay where they are."""
        self._run.zero_grad()
