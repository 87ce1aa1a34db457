# SPDX-License-Identifier: MIT
"""Two ranks with pollux, and the same samples with PyTorch's DDP.

    mpirun -n 2 python3 ddp.py sgd|adam FOLDER

Each rank has the same losses in all steps, and the same weights in the end.
"""

import os
import sys

import pollux
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import common
from common import BATCH, Points, loss_of, network

SAMPLES = 6 * BATCH  # DDP wants parts of one size
EPOCHS = 5
APART = 1e-6  # of a loss or a weight, as a part of it and of 1


def train(make):
    """With pollux: the model, and of each step samples and loss."""
    steps = []
    run = pollux.init(collectives="mpi", quiet=True, lr_scaling="fixed")
    loader = pollux.DataLoader(Points(SAMPLES), BATCH, shuffle=True)
    model = network(seed=3 + int(os.environ["OMPI_COMM_WORLD_RANK"]))
    wrapped = pollux.DistributedDataParallel(model)
    optimizer = pollux.Optimizer(make(model))
    scheduler = pollux.LRScheduler(common.schedule(optimizer))
    for _epoch in run.epochs(EPOCHS):
        for numbers, inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_of(wrapped, inputs, targets)
            pollux.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            steps.append((numbers, float(loss)))
        scheduler.step()
    return model, steps


def train_ddp(make, parts):
    """The same samples, by PyTorch alone: the model, and the losses."""
    losses, dataset = [], Points(SAMPLES)
    loader = torch.utils.data.DataLoader(
        dataset, batch_sampler=[part.tolist() for part in parts])
    model = network(seed=3 + dist.get_rank())
    wrapped = DistributedDataParallel(model)
    optimizer = make(model)
    scheduler = common.schedule(optimizer)
    for step, (_numbers, inputs, targets) in enumerate(loader):
        optimizer.zero_grad()
        loss = loss_of(wrapped, inputs, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(float(loss))
        if step % (len(parts) // EPOCHS) == len(parts) // EPOCHS - 1:
            scheduler.step()
    return model, losses


def near(ours, theirs):
    return abs(ours - theirs) <= APART * max(1.0, abs(theirs))


def main():
    make = getattr(common, sys.argv[1])
    ours, steps = train(make)
    rank, ranks = pollux.rank(), pollux.world_size()
    assert ranks == 2, ranks
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method="file://%s/meet-%s" % (
                                sys.argv[2], sys.argv[1]))
    theirs, losses = train_ddp(make, [numbers for numbers, _loss in steps])
    assert len(steps) == len(losses) == EPOCHS * SAMPLES // BATCH, len(steps)
    for step, ((_numbers, mine), plain) in enumerate(zip(steps, losses)):
        assert near(mine, plain), (step, mine, plain)
    for a, b in zip(ours.parameters(), theirs.parameters()):
        for mine, plain in zip(a.flatten().tolist(), b.flatten().tolist()):
            assert near(mine, plain), (mine, plain)
    print("rank %d: loss %.9g, DDP %.9g" % (rank, steps[-1][1], losses[-1]))


if __name__ == "__main__":
    main()
