# SPDX-License-Identifier: MIT
"""Loss scaling for mixed precision, in step with libpollux."""

from typing import Any, Dict, Optional

import torch

from .library import Error
from .run import Run, current


class GradScaler:
    """Used as torch.amp.GradScaler("cuda") or torch.cuda.amp.GradScaler is.

    libpollux divides the scale out and finds gradients that are not finite,
    on all ranks alike; so when backward() returns gradients are unscaled.
    """

    def __init__(self, *options: Any, device: Optional[str] = None,
                 **others: Any) -> None:
        # torch 2 has the device first, torch.cuda.amp has none.
        if options and isinstance(options[0], (str, torch.device)):
            device, options = options[0], options[1:]
        kind = torch.device(device or "cuda").type
        if kind not in ("cuda", "cpu"):
            raise Error("GradScaler(\"%s\"): libpollux knows cuda and cpu"
                        % device)
        self._begin(*options, **others)

    def _begin(self, init_scale: float = 2.0 ** 16,
               growth_factor: float = 2.0, backoff_factor: float = 0.5,
               growth_interval: int = 2000, enabled: bool = True,
               run: Optional[Run] = None) -> None:
        self._scale = float(init_scale) if enabled else 1.0
        self._growth = growth_factor
        self._backoff = backoff_factor
        self._interval = growth_interval
        self._enabled = enabled
        self._good = 0  # steps since the last change
        self._run = run or current()
        self._run.attach_scaler(self)

    def scale(self, loss: torch.Tensor) -> torch.Tensor:
        return loss * self._scale if self._enabled else loss

    def unscale_(self, optimizer: Any) -> None:
        """Has been done."""

    def step(self, optimizer: Any) -> None:
        optimizer.step()

    def update(self) -> None:
        """Happens by itself when the loop's body has ended."""

    def follow(self, skipped: bool) -> None:
        """A step has ended: another scale when it is time."""
        if not self._enabled:
            return
        if skipped:
            self._scale *= self._backoff
            self._good = 0
            return
        self._good += 1
        if self._good == self._interval:
            self._scale *= self._growth
            self._good = 0

    def get_scale(self) -> float:
        return self._scale

    def get_growth_factor(self) -> float:
        return self._growth

    def get_backoff_factor(self) -> float:
        return self._backoff

    def get_growth_interval(self) -> int:
        return self._interval

    def is_enabled(self) -> bool:
        return self._enabled

    def state_dict(self) -> Dict[str, Any]:
        return {"scale": self._scale, "good": self._good}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._scale = state["scale"]
        self._good = state["good"]
