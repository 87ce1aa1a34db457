# SPDX-License-Identifier: MIT
"""Lightning: three lines and a batch that are pollux's.

    pollux-launch python3 with_lightning.py
"""

import os

import torch
from lightning.pytorch import LightningModule, Trainer
from pollux.lightning import PolluxCallback, PolluxStrategy, newest, share
from torch.utils.data import DataLoader

EPOCHS = int(os.environ.get("EPOCHS", 5))


class Model(LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, batch_idx):
        return self.layer(batch).square().mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


def main():
    trainer = Trainer(max_epochs=EPOCHS, strategy=PolluxStrategy(),
                      callbacks=[PolluxCallback()], enable_progress_bar=False)
    trainer.fit(Model(), DataLoader(torch.randn(2560, 8), share(64)),
                ckpt_path=newest())
    print("trained %d epochs, batch %d a rank" % (
        trainer.current_epoch, share(64)))


if __name__ == "__main__":
    main()
