# SPDX-License-Identifier: MIT
"""Lightning: saved and started again when its job is resized.

    from pollux.lightning import Environment, PolluxCallback, newest, share

    trainer = Trainer(..., plugins=[Environment()],
                      callbacks=[PolluxCallback()])
    trainer.fit(model, loader, ckpt_path=newest())
"""

import os
from typing import Any, Optional

try:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.plugins.environments import LightningEnvironment
except ImportError:  # the older name
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.plugins.environments import LightningEnvironment

from . import environment
from .foreign import Stop, folder, share

__all__ = ["Environment", "PolluxCallback", "newest", "share"]

_NAME = "lightning.ckpt"


def newest() -> Optional[str]:
    """The checkpoint to go on from; None: begin."""
    path = os.path.join(folder(), _NAME)
    return path if os.path.exists(path) else None


class Environment(LightningEnvironment):
    """The ranks are the launcher's, not Lightning's to start."""

    @property
    def creates_processes_externally(self) -> bool:
        return environment.under_launcher()

    @staticmethod
    def detect() -> bool:
        return environment.under_launcher()

    @property
    def main_address(self) -> str:
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    def world_size(self) -> int:
        return environment.world_size()

    def set_world_size(self, size: int) -> None:
        """It is the launcher's."""

    def global_rank(self) -> int:
        return environment.rank()

    def set_global_rank(self, rank: int) -> None:
        """It is the launcher's."""

    def local_rank(self) -> int:
        return environment.local_rank()

    def node_rank(self) -> int:
        return int(os.environ.get("GROUP_RANK", 0))


class PolluxCallback(Callback):
    """Has the Trainer save after a batch, and ends the rank."""

    def __init__(self) -> None:
        super().__init__()
        self._stop = Stop()

    def on_train_batch_end(self, trainer: Any, *_args: Any,
                           **_kwargs: Any) -> None:
        if not self._stop.asked():
            return
        path = os.path.join(folder(), _NAME)
        trainer.save_checkpoint(path + ".new")  # by all, rank 0 writes
        if trainer.is_global_zero:
            os.replace(path + ".new", path)
        # An exception would be caught: Lightning tidies up after it.
        self._stop.leave(at_once=True)
