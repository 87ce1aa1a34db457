# SPDX-License-Identifier: MIT
"""Ranks that leave batches out take the steps that the others take.

    mpirun -n 3 python3 skips.py [KIND...]

Prints "rank R: KIND: alike" where all ranks end with the same state, whatever
the types of parameters, and with the weights of one process in whose batches
the same samples count for nothing.
"""

import sys
import traceback

import pollux
import torch

from common import BATCH, SAMPLES, Points, batches

EPOCHS = 3


class Mixed(torch.nn.Module):
    """Parameters of several types; one is used by few samples, one by none."""

    def __init__(self, kinds, sparse):
        super().__init__()
        torch.manual_seed(3)
        self.first = torch.nn.Linear(8, 16)
        self.scale = torch.nn.Parameter(torch.ones(16, dtype=kinds[0]))
        self.shift = torch.nn.Parameter(torch.zeros(16, dtype=kinds[1]))
        self.few = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
        self.last = torch.nn.Linear(16, 1).double()
        self.unused = torch.nn.Linear(2, 2)
        self.words = torch.nn.ModuleList(
            torch.nn.Embedding(10, 1, sparse=True, dtype=kind)
            for kind in (torch.float32, torch.float64) if sparse)

    def forward(self, own, inputs):
        found = torch.tanh(self.first(inputs)) * self.scale.float() + \
            self.shift.float()
        found = self.last(found.double())
        few = own % 16 < 5
        if few.any():
            found = found + self.few * few.unsqueeze(-1)
        for words in self.words:
            found = found + words(own % 10)
        return found.float().squeeze(-1)


def sgd(params):
    return torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-3)


class Kind:
    """Of a training; what is not said is as in most."""

    exact = torch.float32, torch.float64
    short = torch.bfloat16, torch.float16
    batch = BATCH
    sparse = False
    scaled = False
    options = {}

    def optimizers(self, model):
        return [sgd(model.parameters())]

    def begin(self, model, epoch):
        """Before an epoch."""

    def prepare(self, model):
        """Before each batch, also before one that is left out."""

    def leaves_out(self, own):
        return int(own[0]) % 3 == pollux.rank()


class Adam(Kind):
    short = torch.bfloat16, torch.bfloat16  # no float16 on processors

    def optimizers(self, model):
        return [torch.optim.AdamW(model.parameters(), lr=1e-2)]


class Groups(Kind):
    def optimizers(self, model):
        last = list(model.last.parameters())
        others = [param for param in model.parameters()
                  if all(param is not other for other in last)]
        return [sgd([{"params": others}, {"params": last, "lr": 0.02}])]


class Scaled(Kind):
    scaled = True


class Frozen(Kind):
    def begin(self, model, epoch):
        model.first.requires_grad_(epoch > 0)
        model.scale.requires_grad_(epoch > 0)
        model.last.requires_grad_(epoch < 2)


class Removed(Kind):
    """The script has its own zero_grad()."""

    def prepare(self, model):
        for param in model.parameters():
            param.grad = None


class Accumulated(Kind):
    """Three passes a step, and some of them are left out."""

    options = {"max_gpu_batch": 2}


class Sparse(Kind):
    sparse = True

    def optimizers(self, model):
        return [torch.optim.SGD(model.parameters(), lr=0.05)]


class Fillers(Kind):
    """Rank 0 has no samples, and does not see that all others leave out."""

    batch = 2

    def optimizers(self, model):
        return [torch.optim.SGD(model.parameters(), lr=0.002, momentum=0.9)]

    def leaves_out(self, own):
        return pollux.rank() > 0 and int(own[0]) // 2 % 3 == 1


class Counted(Kind):
    """What is counted is counted by those that have a batch."""

    def begin(self, model, epoch):
        self.epoch = epoch

    def leaves_out(self, own):
        return self.epoch > 0 and super().leaves_out(own)


class Two(Kind):
    """With several optimisers all ranks leave a batch out, or none."""

    def optimizers(self, model):
        last = list(model.last.parameters())
        return [sgd(last), sgd(
            [param for param in model.parameters()
             if all(param is not other for other in last)])]

    def leaves_out(self, own):
        return int(own[0]) // BATCH % 3 == 1


KINDS = {kind.__name__.lower(): kind for kind in (
    Kind, Adam, Groups, Scaled, Frozen, Removed, Accumulated, Sparse, Fillers,
    Counted, Two)}


def train(kind, model):
    """The run, and for each epoch and sample a 1 where it was left out."""
    left = [0.0] * (EPOCHS * SAMPLES)
    run = pollux.init(collectives="mpi", quiet=True, lr_scaling="fixed",
                      **kind.options)
    loader = pollux.DataLoader(Points(), kind.batch)
    wrapped = pollux.DistributedDataParallel(model)
    optimizers = [pollux.Optimizer(o) for o in kind.optimizers(model)]
    if kind.scaled:
        pollux.GradScaler("cpu", init_scale=64.0)
    metrics = pollux.Metrics() if isinstance(kind, Counted) else None
    for epoch in run.epochs(EPOCHS):
        kind.begin(model, epoch)
        for own, inputs, targets in loader:
            kind.prepare(model)
            if kind.leaves_out(own):
                for number in [] if loader.is_filler else own.tolist():
                    left[epoch * SAMPLES + number] = 1.0
                continue
            run.backward((wrapped(own, inputs) - targets).square().mean())
            if metrics:
                metrics.add("number", own.sum(), len(own))
            for optimizer in optimizers:
                optimizer.step()
    left = run.sum(left)
    if metrics:
        numbers = [n % SAMPLES for n, out in enumerate(left) if not out]
        assert metrics.means() == {"number": sum(numbers) / len(numbers)}
    return run, left


def train_plain(kind, model, left):
    optimizers = kind.optimizers(model)
    points = Points()
    for epoch in range(EPOCHS):
        kind.begin(model, epoch)
        for numbers in batches(SAMPLES, kind.batch):
            counts = torch.tensor([1 - left[epoch * SAMPLES + number]
                                   for number in numbers])
            if not counts.any():
                continue
            own = torch.tensor(numbers)
            for param in model.parameters():  # what has no gradient has zeros
                param.grad = torch.zeros_like(param) \
                    if param.requires_grad else None
            errors = model(own, points.inputs[own]) - points.targets[own]
            ((errors.square() * counts).sum() / len(own)).backward()
            for optimizer in optimizers:
                optimizer.step()


def compare(ours, theirs, before):
    theirs, before = theirs.state_dict(), before.state_dict()
    for key, value in ours.state_dict().items():
        apart = float((value - theirs[key]).abs().max())
        assert apart < 1e-5, "%s is %g apart" % (key, apart)
        assert "unused" in key or not torch.equal(value, before[key]), \
            key + " is not trained"


def check(name):
    kind = KINDS[name]()
    for kinds in kind.short, kind.exact:
        ours, theirs, before = (Mixed(kinds, kind.sparse) for _ in range(3))
        run, left = train(kind, ours)
        crc = run.crc()
        alike = run.sum([float(crc)])[0] == run.world_size * crc
        pollux.finish()
        assert alike, "ranks have come apart"
        if kinds is kind.exact:  # rounding adds up in short ones
            train_plain(kind, theirs, left)
            compare(ours, theirs, before)
    print("rank %d: %s: alike" % (pollux.rank(), name), flush=True)


def main():
    for name in sys.argv[1:] or KINDS:
        try:
            check(name)
        except AssertionError:
            traceback.print_exc()


if __name__ == "__main__":
    main()
