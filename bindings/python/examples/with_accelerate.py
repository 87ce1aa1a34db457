# SPDX-License-Identifier: MIT
"""accelerate: a loop of one's own, of which four lines are pollux's.

    pollux-launch python3 with_accelerate.py
"""

import os

import torch
from accelerate import Accelerator
from pollux.accelerated import Resumable, share
from torch.utils.data import DataLoader

EPOCHS = int(os.environ.get("EPOCHS", 5))


def main():
    accelerator = Accelerator()
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(torch.randn(2560, 8), share(64))
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    training = Resumable(accelerator)
    for _epoch in training.epochs(EPOCHS):
        for batch in training.batches(loader):
            optimizer.zero_grad()
            accelerator.backward(model(batch).square().mean())
            optimizer.step()
    print("trained %d epochs, batch %d a rank" % (EPOCHS, share(64)))


if __name__ == "__main__":
    main()
