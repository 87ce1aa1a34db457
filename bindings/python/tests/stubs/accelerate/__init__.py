# SPDX-License-Identifier: MIT
"""A stub of accelerate: what a loop of one's own calls of its Accelerator."""

import itertools
import os

import ranks
import torch


class Accelerator:
    def __init__(self):
        ranks.connect()
        self._registered, self._models = [], []

    @property
    def is_main_process(self):
        return ranks.rank() == 0

    def prepare(self, *things):
        self._models = [t for t in things if hasattr(t, "state_dict")]
        return things

    def backward(self, loss):
        loss.backward()
        ranks.slowly()

    def register_for_checkpointing(self, *things):
        self._registered += things

    def save_state(self, folder):
        ranks.save([t.state_dict() for t in self._models + self._registered],
                   os.path.join(folder, "state.pt"))

    def load_state(self, folder):
        saved = torch.load(os.path.join(folder, "state.pt"))
        for thing, state in zip(self._models + self._registered, saved):
            thing.load_state_dict(state)

    def skip_first_batches(self, loader, count):
        return itertools.islice(loader, count, None)

    def wait_for_everyone(self):
        ranks.barrier()
