# SPDX-License-Identifier: MIT
"""Learning-rate schedules that mean the same at any batch size."""

import warnings
from typing import Any, Optional

import torch

from . import rehearsal
from .library import Error
from .run import Run, current


class LRScheduler:
    """Wraps a scheduler of torch.optim.lr_scheduler.

    unit="epoch": one step an epoch. unit="step": one step for what an
    iteration at the base batch would have brought (pollux_progress), which
    is each iteration where the batch is fixed. The wrapper moves by itself
    at the right moments, and after a restore; calling step() where the
    script always did is right, and never moves it twice.
    """

    def __init__(self, scheduler: Any, unit: str = "epoch",
                 run: Optional[Run] = None) -> None:
        if unit not in ("epoch", "step"):
            raise Error("unit is \"%s\", want \"epoch\" or \"step\"" % unit)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau
        self.inner = scheduler
        self._unit = unit
        self._follows = not isinstance(scheduler, plateau)
        self._run = run or current()
        self._run.attach_scheduler(self)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def step(self, *args: Any) -> None:
        """To where training is. ReduceLROnPlateau: as it always does."""
        rehearsal.called("scheduled")
        if self._follows:
            self.follow()
        else:
            self.inner.step(*args)

    def follow(self) -> None:
        if not self._follows:
            return
        target = self._run.epochs_done() if self._unit == "epoch" \
            else self._run.iterations_done()
        with warnings.catch_warnings():
            # Of the order of calls, which a restored run has not seen.
            warnings.simplefilter("ignore")
            while self.inner.last_epoch < target:
                self.inner.step()
