# SPDX-License-Identifier: MIT
"""A stub of transformers: the hooks of its Trainer, in their order."""

import os
from types import SimpleNamespace

import ranks
import torch


class TrainerCallback:
    """Each event is called, on each callback."""

    def on_train_begin(self, args, state, control, **kwargs):
        pass

    def on_step_end(self, args, state, control, **kwargs):
        pass

    def on_save(self, args, state, control, **kwargs):
        pass

    def on_train_end(self, args, state, control, **kwargs):
        pass


class TrainingArguments:
    def __init__(self, output_dir, per_device_train_batch_size=8,
                 max_steps=-1):
        self.output_dir = output_dir
        self.per_device_train_batch_size = per_device_train_batch_size
        self.max_steps = max_steps


class Trainer:
    def __init__(self, model, args, train_dataset, callbacks=()):
        self.model, self.args, self.callbacks = model, args, callbacks
        self.data = train_dataset
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self.state = SimpleNamespace(global_step=0, max_steps=args.max_steps)
        self.control = SimpleNamespace(should_save=False,
                                       should_training_stop=False)
        ranks.connect()

    def _call(self, event):
        for callback in self.callbacks:
            new = getattr(callback, event)(
                self.args, self.state, self.control, model=self.model)
            self.control = self.control if new is None else new

    def _save(self):
        name = "checkpoint-%d" % self.state.global_step
        ranks.save({"step": self.state.global_step,
                    "model": self.model.state_dict()},
                   os.path.join(self.args.output_dir, name, "state.pt"))
        self.control.should_save = False
        self._call("on_save")

    def train(self, resume_from_checkpoint=None):
        if resume_from_checkpoint:
            saved = torch.load(os.path.join(resume_from_checkpoint,
                                            "state.pt"))
            self.state.global_step = saved["step"]
            self.model.load_state_dict(saved["model"])
        self._call("on_train_begin")
        while self.state.global_step < self.state.max_steps:
            part = self.data[:self.args.per_device_train_batch_size]
            self.model(part).square().mean().backward()
            self.optimizer.step()
            ranks.slowly()
            self.state.global_step += 1
            self._call("on_step_end")
            if self.control.should_save:
                self._save()
            if self.control.should_training_stop:
                break
        self._call("on_train_end")
