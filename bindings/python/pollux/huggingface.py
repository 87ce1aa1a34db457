# SPDX-License-Identifier: MIT
"""transformers.Trainer: saved and started again when its job is resized.

    from pollux.huggingface import PolluxCallback, last_checkpoint, share

    args = TrainingArguments(..., per_device_train_batch_size=share(64))
    trainer = Trainer(..., args=args, callbacks=[PolluxCallback()])
    trainer.train(resume_from_checkpoint=last_checkpoint(args))
"""

import json
import os
from typing import Any, Optional

from transformers import TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from . import environment
from .foreign import Stop, connected, share, tell_accelerate

__all__ = ["PolluxCallback", "last_checkpoint", "share"]

tell_accelerate()


class PolluxCallback(TrainerCallback):
    """Has the Trainer save where its step ends, and ends it after that."""

    def __init__(self) -> None:
        self._stop = Stop()
        self._leaving = False

    def on_train_begin(self, args: Any, state: Any, control: Any,
                       **kwargs: Any) -> None:
        connected("import pollux.huggingface before the arguments are made")

    def on_step_end(self, args: Any, state: Any, control: Any,
                    **kwargs: Any) -> Any:
        if state.global_step < state.max_steps and self._stop.asked():
            self._leaving = True
            control.should_save = True
            control.should_training_stop = True
        return control

    def on_train_end(self, args: Any, state: Any, control: Any,
                     **kwargs: Any) -> None:
        if self._leaving:  # the checkpoint has been written
            self._stop.leave()


def last_checkpoint(args: Any) -> Optional[str]:
    """The newest in args.output_dir; None: begin.

    args: TrainingArguments, or a folder alone. With a folder a rank's batch
    stays that of the ranks before.
    """
    folder = getattr(args, "output_dir", args)
    try:
        path = get_last_checkpoint(folder)
    except FileNotFoundError:
        return None
    if path and folder is not args:
        _set_batch(os.path.join(path, "trainer_state.json"),
                   args.train_batch_size)
    return path


def _set_batch(path: str, batch: int) -> None:
    """A Trainer takes it from its checkpoint, not from its arguments.

    Each rank writes the file, since none may read it before that.
    """
    if not os.path.exists(path):
        return  # the Trainer says what it misses
    with open(path) as file:
        state = json.load(file)
    if state.get("train_batch_size") in (None, batch):
        return
    state["train_batch_size"] = batch
    own = "%s.%d" % (path, environment.rank())
    with open(own, "w") as file:
        json.dump(state, file, indent=2)
    os.replace(own, path)
