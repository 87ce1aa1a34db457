# SPDX-License-Identifier: MIT
"""A stub of lightning: a Trainer that asks its plugin and its callbacks."""

import ranks
import torch


class LightningModule(torch.nn.Module):
    pass


class Trainer:
    def __init__(self, max_epochs, plugins=(), callbacks=()):
        self.max_epochs, self.callbacks = max_epochs, callbacks
        self.current_epoch = self.batch_idx = 0
        for plugin in plugins:
            assert plugin.creates_processes_externally and plugin.detect()
            assert plugin.main_address and plugin.main_port
            assert 0 <= plugin.global_rank() < plugin.world_size()
            assert plugin.local_rank() >= 0 and plugin.node_rank() == 0
        ranks.connect()

    @property
    def is_global_zero(self):
        return ranks.rank() == 0

    def save_checkpoint(self, path):
        ranks.save({"epoch": self.current_epoch, "batch": self.batch_idx,
                    "model": self.model.state_dict()}, path)

    def fit(self, model, loader, ckpt_path=None):
        self.model, optimizer = model, model.configure_optimizers()
        if ckpt_path:
            saved = torch.load(ckpt_path)
            self.current_epoch = saved["epoch"]
            self.batch_idx = saved["batch"]
            model.load_state_dict(saved["model"])
        try:
            self._train(model, loader, optimizer)
        except BaseException:
            print("stub: the trainer tidies up", flush=True)
            raise

    def _train(self, model, loader, optimizer):
        while self.current_epoch < self.max_epochs:
            for index, batch in enumerate(loader):
                if index < self.batch_idx:
                    continue
                loss = model.training_step(batch, index)
                loss.backward()
                optimizer.step()
                ranks.slowly()
                self.batch_idx = index + 1
                for callback in self.callbacks:
                    callback.on_train_batch_end(self, model, loss, batch,
                                                index)
            self.current_epoch, self.batch_idx = self.current_epoch + 1, 0
