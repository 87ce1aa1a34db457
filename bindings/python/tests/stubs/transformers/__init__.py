# SPDX-License-Identifier: MIT
"""A stub of transformers: the hooks of its Trainer, in their order."""

import json
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
    """Connects the ranks, as soon as it is made."""

    def __init__(self, output_dir, per_device_train_batch_size=8,
                 max_steps=-1, save_strategy="steps",
                 logging_strategy="steps", report_to=None,
                 disable_tqdm=None):
        self.output_dir = output_dir
        self.per_device_train_batch_size = per_device_train_batch_size
        self.train_batch_size = per_device_train_batch_size
        self.max_steps = max_steps
        ranks.connect(ranks.told_as_accelerate())


class Trainer:
    def __init__(self, model, args, train_dataset, callbacks=()):
        self.model, self.args, self.callbacks = model, args, callbacks
        self.data, self.batch = train_dataset, args.train_batch_size
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        self.state = SimpleNamespace(global_step=0, max_steps=args.max_steps)
        self.control = SimpleNamespace(should_save=False,
                                       should_training_stop=False)

    def _call(self, event):
        for callback in self.callbacks:
            new = getattr(callback, event)(
                self.args, self.state, self.control, model=self.model)
            self.control = self.control if new is None else new

    def _save(self):
        folder = os.path.join(self.args.output_dir,
                              "checkpoint-%d" % self.state.global_step)
        os.makedirs(folder, exist_ok=True)
        if ranks.rank() == 0:
            with open(os.path.join(folder, "trainer_state.json"), "w") as to:
                json.dump({"global_step": self.state.global_step,
                           "train_batch_size": self.batch}, to)
        ranks.save({"model": self.model.state_dict()},
                   os.path.join(folder, "state.pt"))
        self.control.should_save = False
        self._call("on_save")

    def _load(self, folder):
        """A rank's batch, too: not that of the arguments."""
        self.model.load_state_dict(
            torch.load(os.path.join(folder, "state.pt"))["model"])
        with open(os.path.join(folder, "trainer_state.json")) as file:
            state = json.load(file)
        self.state.global_step = state["global_step"]
        self.batch = state["train_batch_size"]

    def _loss(self):
        """The model gets by name what samples have, and returns the loss."""
        samples = self.data[:self.batch]
        if not all(isinstance(sample, dict) for sample in samples):
            raise ValueError("The batch received was empty: the samples have "
                             "no keys that the model expects")
        outputs = self.model(**{
            name: torch.stack([sample[name] for sample in samples])
            for name in samples[0]})
        if isinstance(outputs, dict) and "loss" not in outputs:
            raise ValueError("The model did not return a loss")
        return outputs["loss"] if isinstance(outputs, dict) else outputs[0]

    def train(self, resume_from_checkpoint=None):
        if resume_from_checkpoint:
            self._load(resume_from_checkpoint)
        print("stub: batches of %d" % self.batch, flush=True)
        ranks.begin_alike(self.model)
        self._call("on_train_begin")
        while self.state.global_step < self.state.max_steps:
            self.optimizer.zero_grad()
            self._loss().backward()
            ranks.average(self.model)
            self.optimizer.step()
            ranks.slowly()
            self.state.global_step += 1
            self._call("on_step_end")
            if self.control.should_save:
                self._save()
            if self.control.should_training_stop:
                break
        self._call("on_train_end")
        ranks.tell_weights(self.model)
