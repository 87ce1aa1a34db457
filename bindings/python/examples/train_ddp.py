# SPDX-License-Identifier: MIT
"""Plain PyTorch: a small network on generated pictures, with DDP.

    torchrun --nproc_per_node=2 train_ddp.py
"""

import os

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

EPOCHS = int(os.environ.get("EPOCHS", 6))
BATCH = 64
SAVED = "checkpoint.pt"


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
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    dataset = pictures(4096)
    sampler = DistributedSampler(dataset)
    loader = DataLoader(dataset, BATCH // ranks, sampler=sampler)
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=3, gamma=0.3)
    first = 0
    if os.path.exists(SAVED):
        saved = torch.load(SAVED)
        first = saved["epoch"]
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
    for epoch in range(first, EPOCHS):
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
        scheduler.step()
        if rank == 0:
            print("epoch %d: loss %.4f" % (epoch, loss))
            torch.save({"epoch": epoch + 1, "model": model.state_dict(),
                        "optimizer": optimizer.state_dict(),
                        "scheduler": scheduler.state_dict()}, SAVED)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
