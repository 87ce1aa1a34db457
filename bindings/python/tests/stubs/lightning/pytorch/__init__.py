# SPDX-License-Identifier: MIT
"""A stub of lightning: a Trainer that asks its strategy and its callbacks."""

import ranks
import torch
from torch.utils.data import DataLoader, DistributedSampler

from .strategies import DDPStrategy


class LightningModule(torch.nn.Module):
    pass


def check(strategy):
    plugin = strategy.cluster_environment
    assert plugin.creates_processes_externally == plugin.detect()
    assert plugin.main_address and plugin.main_port is not None
    assert 0 <= plugin.global_rank() < plugin.world_size()
    assert plugin.local_rank() >= 0 and plugin.node_rank() == 0
    assert strategy.root_device.type in ("cpu", "cuda")


class Trainer:
    """With one device and no strategy it connects no ranks."""

    def __init__(self, max_epochs, strategy="auto", plugins=(), callbacks=(),
                 enable_progress_bar=True):
        self.max_epochs, self.callbacks = max_epochs, callbacks
        self.current_epoch = self.batch_idx = 0
        self.strategy = strategy
        if isinstance(strategy, DDPStrategy):
            check(strategy)
            ranks.connect()

    @property
    def is_global_zero(self):
        return ranks.rank() == 0

    def save_checkpoint(self, path):
        ranks.save({"epoch": self.current_epoch, "batch": self.batch_idx,
                    "model": self.model.state_dict()}, path)

    def _part(self, loader):
        """Of the samples, for this rank."""
        if not isinstance(self.strategy, DDPStrategy):
            return loader
        return DataLoader(loader.dataset, loader.batch_size,
                          sampler=DistributedSampler(
                              loader.dataset, shuffle=False,
                              **self.strategy.distributed_sampler_kwargs))

    def fit(self, model, loader, ckpt_path=None):
        self.model, optimizer = model, model.configure_optimizers()
        if ckpt_path:
            saved = torch.load(ckpt_path)
            self.current_epoch = saved["epoch"]
            self.batch_idx = saved["batch"]
            model.load_state_dict(saved["model"])
        print("stub: batches of %d" % loader.batch_size, flush=True)
        ranks.begin_alike(model)
        try:
            self._train(model, self._part(loader), optimizer)
        except BaseException:
            print("stub: the trainer tidies up", flush=True)
            raise
        ranks.tell_weights(model)

    def _train(self, model, loader, optimizer):
        self._call("on_train_start", model)
        while self.current_epoch < self.max_epochs:
            for index, batch in enumerate(loader):
                if index < self.batch_idx:
                    continue
                optimizer.zero_grad()
                loss = model.training_step(batch, index)
                loss.backward()
                ranks.average(model)
                optimizer.step()
                ranks.slowly()
                self.batch_idx = index + 1
                self._call("on_train_batch_end", model, loss, batch, index)
            self.current_epoch, self.batch_idx = self.current_epoch + 1, 0

    def _call(self, event, *args):
        for callback in self.callbacks:
            getattr(callback, event)(self, *args)
