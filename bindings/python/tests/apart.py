# SPDX-License-Identifier: MIT
"""Several ranks under mpirun do not come apart, or are told.

    mpirun -n 3 python3 apart.py WORLD|chance|apart|own_loss|mean_loss FOLDER

Prints "rank R: crc C", the same on all ranks, if all is well.
"""

import os
import sys

import pollux
import torch

import worlds
from common import Points, loss_of, network, sgd


def begin(folder=None):
    return pollux.init(collectives="mpi", quiet=True, lr_scaling="fixed",
                       **({"checkpoint_dir": folder,
                           "checkpoint_every_s": 0.0} if folder else {}))


def compare(ours, theirs):
    for (name, a), b in zip(ours.named_parameters(), theirs.parameters()):
        apart = float((a - b).abs().max())
        assert apart < 1e-4, "%s is %g apart" % (name, apart)


def check(world):
    """The weights of plain PyTorch; buffers are the same on all ranks."""
    torch.manual_seed(9)
    theirs = world(worlds.Plain())
    run = begin()
    crcs = []

    def finish(failed=False):  # after that there is no state to be asked
        crcs.append(run.crc())
        end(failed)
    end, run.finish = run.finish, finish
    torch.manual_seed(9)
    ours = world(pollux)
    if not crcs:
        run.finish()
    compare(ours, theirs)
    print("rank %d: crc %08x" % (pollux.rank(), crcs[0]), flush=True)


def parts(run):
    loader = pollux.DataLoader(Points(), 16)
    model = pollux.DistributedDataParallel(network())
    return loader, model, pollux.Optimizer(sgd(model))


def chance(folder):
    """Numbers that no rank has drawn, nor drew before the restart."""
    torch.manual_seed(5)
    run = begin(folder)
    loader, model, optimizer = parts(run)
    for _epoch in run.epochs(100):
        for _own, inputs, targets in loader:
            if run.info().step % 7 == 0:
                # In one piece: ranks write to one terminal.
                os.write(1, b"drawn %.6f\n" % torch.rand(1).item())
            pollux.backward(loss_of(model, inputs, targets))
            optimizer.step()
            if run.info().step % 7 == 3:
                pollux.finish()


def apart(folder):
    """Rank 1 has trained by itself for a while when it is to be saved."""
    run = begin(folder)
    loader, model, optimizer = parts(run)
    for _epoch in run.epochs(3):
        for _own, inputs, targets in loader:
            pollux.backward(loss_of(model, inputs, targets))
            optimizer.step()
            if run.rank == 1:
                with torch.no_grad():
                    model.module[3].weight += 0.1
            if run.info().step == 5:
                pollux.checkpoint()


def plateau(folder, of_all):
    """A schedule follows a validation: of this rank's samples, or of all."""
    run = begin(folder)
    loader, model, optimizer = parts(run)
    validation = pollux.Metrics("validation")
    schedule = pollux.LRScheduler(torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, patience=0, factor=0.1))
    for epoch in run.epochs(4):
        for _own, inputs, targets in loader:
            pollux.backward(loss_of(model, inputs, targets))
            optimizer.step()
        # It gets worse on rank 1 alone.
        found = float(epoch if run.rank == 1 else -epoch)
        validation.add("loss", found, 1)
        mean = validation.take()["loss"]
        schedule.step(mean if of_all else found)
        if epoch == 3:
            print("rank %d: crc %08x" % (run.rank, run.crc()), flush=True)


def main():
    what = sys.argv[1]
    if what == "chance":
        chance(sys.argv[2])
    elif what == "apart":
        apart(sys.argv[2])
    elif what in ("own_loss", "mean_loss"):
        plateau(sys.argv[2], what == "mean_loss")
    else:
        check(getattr(worlds, what))


if __name__ == "__main__":
    main()
