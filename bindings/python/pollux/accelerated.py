# SPDX-License-Identifier: MIT
"""accelerate.Accelerator: saved and started again when its job is resized.

    from pollux.accelerated import Resumable, share

    loader = DataLoader(dataset, batch_size=share(64), shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    training = Resumable(accelerator)
    for epoch in training.epochs(10):
        for batch in training.batches(loader):
            ...                                 # as before
"""

import os
from typing import Any, Dict, Iterator

from .foreign import Stop, connected, folder, share, tell_accelerate

__all__ = ["Resumable", "share"]

tell_accelerate()

_NAMES = ("accelerate-0", "accelerate-1")  # by turns: one is always whole


class Resumable:
    """Where training is; part of the Accelerator's own checkpoints.

    Made after prepare(): what was saved is loaded then.
    """

    def __init__(self, accelerator: Any, where: str = "") -> None:
        connected("import pollux.accelerated before the Accelerator is made")
        self._accelerator = accelerator
        self._where = where or folder()
        self._stop = Stop()
        self._epoch = 0
        self._batch = 0  # of the epoch: what has been trained
        self._saves = 0
        accelerator.register_for_checkpointing(self)
        newest = self._newest()
        if newest:
            accelerator.load_state(newest)

    def _pointer(self) -> str:
        return os.path.join(self._where, "accelerate-newest")

    def _newest(self) -> str:
        try:
            with open(self._pointer()) as file:
                name = file.read()
        except FileNotFoundError:
            return ""
        return os.path.join(self._where, name) if name in _NAMES else ""

    def epochs(self, count: int) -> Iterator[int]:
        """Those that are still to be trained."""
        while self._epoch < count:
            yield self._epoch
            self._epoch, self._batch = self._epoch + 1, 0

    def batches(self, loader: Any) -> Iterator[Any]:
        """What is left of the epoch."""
        if hasattr(loader, "set_epoch"):
            loader.set_epoch(self._epoch)
        if self._batch:
            loader = self._accelerator.skip_first_batches(loader, self._batch)
        for batch in loader:
            yield batch
            self._batch += 1
            if self._stop.asked():
                self.save()
                self._stop.leave()

    def save(self) -> None:
        """A checkpoint, whole before it is the newest; on all ranks."""
        self._saves += 1
        name = _NAMES[self._saves % 2]
        self._accelerator.save_state(os.path.join(self._where, name))
        self._accelerator.wait_for_everyone()
        if self._accelerator.is_main_process:
            with open(self._pointer() + ".new", "w") as file:
                file.write(name)
            os.replace(self._pointer() + ".new", self._pointer())

    def state_dict(self) -> Dict[str, int]:
        return {"epoch": self._epoch, "batch": self._batch,
                "saves": self._saves}

    def load_state_dict(self, state: Dict[str, int]) -> None:
        self._epoch, self._batch = state["epoch"], state["batch"]
        self._saves = state["saves"]
