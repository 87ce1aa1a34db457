# SPDX-License-Identifier: MIT
"""Several ranks under mpirun: the same as one process with all samples.

    mpirun -n 3 python3 together.py sgd|adam|norm|tight|crash|exit|interrupt
"""

import signal
import sys
import time

import pollux
import torch

import common
from common import Points, loss_of, network, plain

# Three ranks get 2, 1 and 1 sample. Of 101 samples the last step has two, so
# that one rank is left without.
BATCH = 4
SAMPLES = 101


def train(make, model, dataset, epochs, batch=BATCH):
    run = pollux.init(collectives="mpi", quiet=True, lr_scaling="fixed")
    loader = pollux.DataLoader(dataset, batch,
                               num_workers=int(make is common.adam))
    wrapped = pollux.DistributedDataParallel(model)
    optimizer = pollux.Optimizer(make(model))
    scheduler = pollux.LRScheduler(common.schedule(optimizer))
    for _epoch in run.epochs(epochs):
        for _numbers, inputs, targets in loader:
            with pollux.memory_guard():
                optimizer.zero_grad()
                pollux.backward(loss_of(wrapped, inputs, targets))
                optimizer.step()
        scheduler.step()
    return run


def compare(ours, theirs):
    for (name, a), b in zip(ours.state_dict().items(),
                            theirs.state_dict().values()):
        apart = float((a - b).abs().max())
        assert apart < 1e-4, "%s is %g apart" % (name, apart)


def check(make):
    """Weights after training, against plain PyTorch's."""
    theirs = network()
    plain(theirs, make, 3, BATCH, Points(SAMPLES))
    # The ranks begin with other weights: rank 0's are everybody's.
    ours = network(seed=3 + pollux.rank())
    run = train(make, ours, Points(SAMPLES), 3)
    assert run.world_size == 3, run.world_size
    compare(ours, theirs)
    print("rank %d: crc %08x" % (run.rank, run.crc()))


def check_norm():
    """Statistics are the mean over ranks, weighted by samples."""
    dataset = Points(11)  # parts of 3, 4 and 4
    ours, theirs = network(norm=True), network(norm=True)
    expected = 0.1 * theirs[0](dataset.inputs).mean(0)
    run = train(common.sgd, ours, dataset, 1, 11)
    norm = ours[1]
    assert torch.allclose(norm.running_mean, expected, atol=1e-6), \
        (norm.running_mean, expected)
    assert int(norm.num_batches_tracked) == 1
    print("rank %d: crc %08x" % (run.rank, run.crc()))


class Failing(Points):
    """Rank 1 fails in its second step; the others would wait for it."""

    def __init__(self, how):
        super().__init__()
        self._how = how

    def __getitem__(self, number):
        if pollux.rank() == 1 and number >= BATCH:
            if self._how == "crash":
                raise ValueError("sample %d is broken" % number)
            if self._how == "exit":
                sys.exit(3)
            signal.raise_signal(signal.SIGINT)
            time.sleep(1)
        return super().__getitem__(number)


class Tight(torch.nn.Sequential):
    """Rank 1 has memory for two samples a pass."""

    def forward(self, inputs):
        if pollux.rank() == 1 and len(inputs) > 2:
            raise MemoryError("%d samples are too many" % len(inputs))
        return super().forward(inputs)


def check_tight():
    """Smaller passes on all ranks, and the same weights in the end."""
    theirs = network()
    plain(theirs, common.sgd, 3, 12, Points(SAMPLES))
    ours = Tight(*network())
    run = train(common.sgd, ours, Points(SAMPLES), 3, 12)
    assert run.info().per_gpu <= 2, run.info().per_gpu
    compare(ours, theirs)
    print("rank %d: crc %08x" % (run.rank, run.crc()))


def main():
    what = sys.argv[1]
    torch.manual_seed(pollux.rank())
    if what in ("sgd", "adam"):
        check(getattr(common, what))
    elif what == "norm":
        check_norm()
    elif what == "tight":
        check_tight()
    else:
        train(common.sgd, network(), Failing(what), 3)


if __name__ == "__main__":
    main()
