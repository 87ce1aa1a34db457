# SPDX-License-Identifier: MIT
"""transformers.Trainer: saved and started again when its job is resized.

    from pollux.huggingface import PolluxCallback, last_checkpoint, share

    args = TrainingArguments(..., per_device_train_batch_size=share(64))
    trainer = Trainer(..., args=args, callbacks=[PolluxCallback()])
    trainer.train(resume_from_checkpoint=last_checkpoint(args.output_dir))
"""

from typing import Any, Optional

from transformers import TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from .foreign import Stop, share

__all__ = ["PolluxCallback", "last_checkpoint", "share"]


class PolluxCallback(TrainerCallback):
    """Has the Trainer save where its step ends, and ends it after that."""

    def __init__(self) -> None:
        self._stop = Stop()
        self._leaving = False

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


def last_checkpoint(folder: str) -> Optional[str]:
    """The newest in the folder; None: begin."""
    try:
        return get_last_checkpoint(folder)
    except FileNotFoundError:
        return None
