# SPDX-License-Identifier: MIT
"""Trainings of kinds that go wrong easily, with plain PyTorch or pollux.

Each function trains on the samples of common.Points and returns its model; P
is pollux, or Plain below. At a fixed batch both end with the same weights.
"""

import torch
from torch.nn.functional import mse_loss

from common import BATCH, Points, batches, loss_of, network, sgd

EPOCHS = 4


class Plain:
    """What the trainings below use of pollux, of PyTorch alone."""

    def __init__(self, batch=BATCH):
        self._batch = batch
        self._left = True

    def DataLoader(self, dataset, **_options):
        if isinstance(dataset, torch.utils.data.IterableDataset):
            dataset = list(dataset)
        self._loader = torch.utils.data.DataLoader(
            dataset, batch_sampler=list(batches(len(dataset), self._batch)))
        return self._loader

    def DistributedDataParallel(self, model):
        return model

    def Optimizer(self, optimizer):
        return optimizer

    def LRScheduler(self, scheduler, **_options):
        return scheduler

    def epochs(self, count):
        for epoch in range(count):
            if not self._left:
                return
            yield epoch

    def steps(self, count):
        while count > 0:
            for batch in self._loader:
                if count > 0:
                    yield batch
                count -= 1

    def finish(self):
        self._left = False

    def is_step(self):
        return True

    def backward(self, loss):
        loss.backward()

    def register(self, name, thing):
        pass


class Counter:
    """State of the script's own."""

    def __init__(self):
        self.value = 0

    def state_dict(self):
        return {"value": self.value}

    def load_state_dict(self, state):
        self.value = state["value"]


class Generator(torch.nn.Module):
    """Two networks of one adversarial training."""

    def __init__(self):
        super().__init__()
        self.makes = network(seed=5)
        self.judges = torch.nn.Sequential(torch.nn.Linear(1, 8),
                                          torch.nn.Tanh(),
                                          torch.nn.Linear(8, 1))


def gan(P, every=1):
    """Two optimisers by turns; the judge sees true and made by turns."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = Generator()
    P.DistributedDataParallel(model)
    judge = P.Optimizer(torch.optim.Adam(model.judges.parameters(), 1e-3))
    maker = P.Optimizer(torch.optim.Adam(model.makes.parameters(), 1e-3))
    step = Counter()
    P.register("step", step)
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            judge.zero_grad()
            mse_loss(model.judges(targets.unsqueeze(-1)),
                     torch.ones(len(inputs), 1)).backward()
            made = model.makes(inputs)
            mse_loss(model.judges(made.detach()),
                     torch.zeros(len(inputs), 1)).backward()
            judge.step()
            if step.value % every == 0:
                maker.zero_grad()
                mse_loss(model.judges(made),
                         torch.ones(len(inputs), 1)).backward()
                maker.step()
            step.value += 1
    return model


def gan_rarely(P):
    """The maker takes a step in three."""
    return gan(P, 3)


def together(P):
    """Two optimisers that step at once, with clipping in between."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    first = P.Optimizer(torch.optim.SGD(model[0].parameters(), lr=0.05))
    last = P.Optimizer(torch.optim.Adam(model[-1].parameters(), lr=0.01))
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            first.zero_grad()
            last.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            last.step()
            first.step()
    return model


def unfrozen(P):
    """A layer is trained from the third epoch on, another until then."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    model[0].requires_grad_(False)
    optimizer = P.Optimizer(sgd(model))
    for epoch in P.epochs(EPOCHS):
        if epoch == 2:
            model[0].requires_grad_(True)
            model[-1].requires_grad_(False)
        for _own, inputs, targets in loader:
            for param in model.parameters():  # as PyTorch 2 does
                if not param.requires_grad:
                    param.grad = None
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
    return model


class Extremes(torch.nn.Module):
    """Remembers what it has seen, in buffers of several kinds."""

    def __init__(self):
        super().__init__()
        self.network = network()
        self.register_buffer("most", torch.tensor(-torch.inf))
        self.register_buffer("least", torch.full((2,), torch.inf,
                                                 dtype=torch.float64))
        self.register_buffer("bits", torch.zeros(3, dtype=torch.bool))

    def forward(self, inputs):
        if self.training:
            # Another tensor in its place, and in place.
            self.most = torch.maximum(self.most, inputs.max())
            self.least.copy_(torch.minimum(self.least, inputs.min()))
            self.bits[0] = True
        return self.network(inputs)


def extremes(P):
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = Extremes()
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(sgd(model))
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
    return model


def closure(P, make=sgd):
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(make(model))
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            def trained():
                optimizer.zero_grad()
                loss = loss_of(wrapped, inputs, targets)
                loss.backward()
                return loss
            optimizer.step(trained)
    return model


def searching(P):
    """An optimiser that calls the closure several times a step.

    Not with a line search: that makes much of the last bit, also in plain
    PyTorch.
    """
    return closure(P, lambda model: torch.optim.LBFGS(
        model.parameters(), lr=0.1, max_iter=2))


def left_out(P):
    """Epochs that are not trained on, and steps that are not taken."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(sgd(model))
    for epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            if epoch == 2:
                continue
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            if epoch != 3:
                optimizer.step()
    return model


def average(P):
    """An average of the weights beside them."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    ema = torch.optim.swa_utils.AveragedModel(
        model, avg_fn=lambda mean, now, _count: 0.9 * mean + 0.1 * now)
    P.register("ema", ema)
    optimizer = P.Optimizer(sgd(model))
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
            if P.is_step():
                ema.update_parameters(model)
    return ema.module


def by_steps(P):
    """So many steps, whatever the epochs, with a schedule of steps."""
    loader = P.DataLoader(Points(96), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    optimizer = P.Optimizer(optimizer)
    scheduler = P.LRScheduler(schedule, unit="step")
    assert len(loader) == 6
    for _own, inputs, targets in P.steps(20):
        optimizer.zero_grad()
        P.backward(loss_of(wrapped, inputs, targets))
        optimizer.step()
        scheduler.step()
    return model


def early(P):
    """It ends when the second epoch is over."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(sgd(model))
    for epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
        if epoch == 1:
            P.finish()
    return model


class Numbers(torch.utils.data.IterableDataset):
    """A stream that can be told where to begin."""

    position = 0

    def seek(self, _epoch, position):
        self.position = position

    def __iter__(self):
        points = Points()
        return (points[i] for i in range(self.position, len(points)))


def stream(P):
    loader = P.DataLoader(Numbers(), batch_size=BATCH, samples=len(Points()))
    model = network()
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(sgd(model))
    for _epoch in P.epochs(EPOCHS):
        for _own, inputs, targets in loader:
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
    return model


def validated(P):
    """Each epoch ends with a look at other samples; the best one stays."""
    loader = P.DataLoader(Points(), batch_size=BATCH)
    model = network()
    best = torch.full((1,), torch.inf)
    P.register("best", best)
    weights = {name: param.detach().clone()
               for name, param in model.named_parameters()}
    for name, kept in weights.items():
        P.register("best." + name, kept)
    wrapped = P.DistributedDataParallel(model)
    optimizer = P.Optimizer(sgd(model))
    others = torch.utils.data.DataLoader(Points(50), batch_size=25)
    for _epoch in P.epochs(EPOCHS):
        model.train()
        for _own, inputs, targets in loader:
            optimizer.zero_grad()
            P.backward(loss_of(wrapped, inputs, targets))
            optimizer.step()
        model.eval()
        with torch.no_grad():
            found = sum(loss_of(model, inputs, targets)
                        for _own, inputs, targets in others)
            if found < best:
                best.fill_(found)
                for name, param in model.named_parameters():
                    weights[name].copy_(param)
    model.load_state_dict(weights)
    return model


ALL = [gan, gan_rarely, together, unfrozen, extremes, closure, searching,
       left_out, average, by_steps, early, stream, validated]
