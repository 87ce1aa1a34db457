# SPDX-License-Identifier: MIT
"""Lightning: saved and started again when its job is resized.

    from pollux.lightning import PolluxCallback, PolluxStrategy, newest, share

    trainer = Trainer(..., strategy=PolluxStrategy(),
                      callbacks=[PolluxCallback()])
    trainer.fit(model, loader, ckpt_path=newest())

The strategy has devices and ranks: Trainer's accelerator, devices and
num_nodes stay as they are by default.
"""

import os
from typing import Any, Dict, Optional

import torch

try:
    from lightning.pytorch.callbacks import Callback
    from lightning.pytorch.plugins.environments import LightningEnvironment
    from lightning.pytorch.strategies import DDPStrategy
except ImportError:  # the older name
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.plugins.environments import LightningEnvironment
    from pytorch_lightning.strategies import DDPStrategy

from . import environment
from .foreign import Stop, connected, folder, share

__all__ = ["Environment", "PolluxCallback", "PolluxStrategy", "newest",
           "share"]

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


def _device() -> torch.device:
    """This rank's."""
    count = torch.cuda.device_count()
    if not count:
        return torch.device("cpu")
    # A rank may see one GPU alone, whatever its number.
    return torch.device("cuda", environment.local_rank() % count)


class PolluxStrategy(DDPStrategy):
    """DDP with the launcher's ranks; alone, with one.

    With an Environment and no strategy a Trainer that sees one device takes
    it for the only one: each rank would train a model of its own.

    options: DDPStrategy's and DistributedDataParallel's.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(parallel_devices=[_device()],
                         cluster_environment=Environment(), **options)

    @property
    def root_device(self) -> torch.device:
        return self.parallel_devices[0]

    @property
    def distributed_sampler_kwargs(self) -> Dict[str, int]:
        return {"num_replicas": self.world_size, "rank": self.global_rank}


class PolluxCallback(Callback):
    """Has the Trainer save after a batch, and ends the rank."""

    def __init__(self) -> None:
        super().__init__()
        self._stop = Stop()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        connected("give the Trainer strategy=PolluxStrategy()")

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
