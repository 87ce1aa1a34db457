# SPDX-License-Identifier: MIT
"""Elastic: a small network on generated pictures, with pollux.

    pollux-launch python3 train.py
"""

import os

import pollux
import torch
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import TensorDataset

EPOCHS = int(os.environ.get("EPOCHS", 6))
BATCH = 64


def pictures(count):
    """Noise with one bright row; the label says which."""
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(count, 1, 16, 16, generator=generator)
    labels = torch.randint(16, (count,), generator=generator)
    images[torch.arange(count), 0, labels] += 0.7
    return TensorDataset(images, labels)


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(), torch.nn.MaxPool2d((1, 4)), torch.nn.Flatten(),
        torch.nn.Linear(8 * 16 * 4, 16))


def main():
    dataset = pictures(4096)
    loader = pollux.DataLoader(dataset, BATCH, max_batch_size=8 * BATCH,
                               shuffle=True)
    model = pollux.DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer = pollux.Optimizer(optimizer)
    scheduler = pollux.LRScheduler(StepLR(optimizer, step_size=3, gamma=0.3))
    for epoch in pollux.epochs(EPOCHS):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            pollux.backward(loss)
            optimizer.step()
        scheduler.step()
        if pollux.rank() == 0:
            print("epoch %d: loss %.4f" % (epoch, loss))


if __name__ == "__main__":
    main()
