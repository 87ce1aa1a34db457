# SPDX-License-Identifier: MIT
"""What the tests train: small, on generated data, and plain PyTorch's way."""

import os

import torch
from pollux import buckets
from torch.nn.functional import mse_loss

if os.environ.get("GRADIENTS") == "anew":
    buckets._anew = lambda _device: True  # as on a GPU
torch.set_num_threads(1)
SAMPLES = 100
BATCH = 16


class Points(torch.utils.data.Dataset):
    """Samples that know their number, with noise of their own."""

    def __init__(self, count=SAMPLES):
        generator = torch.Generator().manual_seed(1)
        self.inputs = torch.randn(count, 8, generator=generator)
        self.targets = self.inputs @ torch.arange(8.0) / 8 + \
            torch.randn(count, generator=generator)

    def __len__(self):
        return len(self.inputs)

    def __getitem__(self, number):
        return number, self.inputs[number], self.targets[number]


def network(norm=False, seed=3):
    torch.manual_seed(seed)
    middle = torch.nn.BatchNorm1d(16) if norm else torch.nn.Identity()
    return torch.nn.Sequential(torch.nn.Linear(8, 16), middle,
                               torch.nn.Tanh(), torch.nn.Linear(16, 1))


def loss_of(model, inputs, targets):
    return mse_loss(model(inputs).squeeze(-1), targets)


def sgd(model, lr=0.05):
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9,
                           nesterov=True, weight_decay=1e-3)


def adam(model):
    """Two groups with their own learning rates."""
    layers = [list(model[0].parameters()), list(model[-1].parameters())]
    return torch.optim.AdamW([{"params": layers[0]},
                              {"params": layers[1], "lr": 3e-3}], lr=1e-2)


def rmsprop(model):
    return torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.5)


def schedule(optimizer):
    return torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


def batches(count, batch):
    """As libpollux parts an epoch: what is left for two steps is halved."""
    at = 0
    while at < count:
        left = count - at
        size = min(left, batch)
        if batch < left < 2 * batch:
            size = left - left // 2
        yield list(range(at, at + size))
        at += size


def plain(model, make, epochs, batch=BATCH, dataset=None, clip=None):
    """Training without pollux: losses of all steps."""
    losses = []
    optimizer = make(model)
    scheduler = schedule(optimizer)
    dataset = dataset or Points()
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=list(batches(len(dataset), batch)))
    for _epoch in range(epochs):
        for _numbers, inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_of(model, inputs, targets)
            loss.backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(float(loss))
        scheduler.step()
    return losses
