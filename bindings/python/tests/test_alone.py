# SPDX-License-Identifier: MIT
"""One rank: the same as plain PyTorch, and what is refused."""

import tempfile
import unittest

import pollux
import torch

import common
from common import (BATCH, SAMPLES, Points, loss_of, network, plain,
                    schedule)


def start(make=common.sgd, model=None, options=None, **loading):
    """A run over Points: (run, loader, model, optimizer)."""
    run = pollux.init(**{"collectives": "self", "quiet": True,
                         "lr_scaling": "fixed", "epochs": 1,
                         **(options or {})})
    loader = pollux.DataLoader(loading.pop("dataset", None) or Points(),
                               loading.pop("batch_size", BATCH), **loading)
    model = pollux.DistributedDataParallel(model or network())
    return run, loader, model, pollux.Optimizer(make(model.module))


def train(parts, epochs, clip=None, stop_at=None, scheduled=True):
    """The losses, and the numbers of the samples, epoch by epoch."""
    run, loader, model, optimizer = parts
    losses, numbers = [], []
    scheduler = pollux.LRScheduler(schedule(optimizer)) if scheduled else None
    for _epoch in run.epochs(epochs):
        numbers.append([])
        for own, inputs, targets in loader:
            optimizer.zero_grad()
            loss = loss_of(model, inputs, targets)
            run.backward(loss)
            if clip:
                torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            losses.append(float(loss))
            numbers[-1] += own.tolist()
            if len(losses) == stop_at:
                run.checkpoint()
            if stop_at and len(losses) > stop_at:
                return losses, numbers
        if scheduler:
            scheduler.step()
    return losses, numbers


class Alone(unittest.TestCase):
    def tearDown(self):
        pollux.finish(failed=True)

    def same(self, one, other, within=1e-6):
        self.assertEqual(len(one), len(other))
        for a, b in zip(one, other):
            self.assertLessEqual(abs(a - b), within * max(1, abs(b)))

    def same_weights(self, one, other, within=1e-6):
        for (name, a), b in zip(one.state_dict().items(),
                                other.state_dict().values()):
            self.assertTrue(torch.allclose(a, b, rtol=within, atol=within),
                            "%s: %s and %s" % (name, a, b))


class SameAsPlain(Alone):
    def compare(self, make, norm=False, clip=None):
        ours, theirs = network(norm), network(norm)
        expected = plain(theirs, make, 4, clip=clip)
        losses, _numbers = train(start(make, ours), 4, clip)
        self.same(losses, expected)
        self.same_weights(ours, theirs)

    def test_sgd(self):
        """SGD with a schedule has the losses of plain PyTorch"""
        self.compare(common.sgd)

    def test_adam(self):
        """AdamW with two groups has the losses of plain PyTorch"""
        self.compare(common.adam)

    def test_other(self):
        """an optimiser that is not known has them too"""
        self.compare(common.rmsprop)

    def test_norm(self):
        """batch normalisation keeps its statistics"""
        self.compare(common.sgd, norm=True)

    def test_clip(self):
        """gradients can be clipped when backward() returns"""
        self.compare(common.sgd, clip=0.1)

    def test_rules(self):
        """rules for the learning rate leave the base batch alone"""
        for rule in "adascale", "adamscale", "linear", "sqrt":
            ours, theirs = network(), network()
            plain(theirs, common.sgd, 2, dataset=Points(96))
            train(start(model=ours, dataset=Points(96),
                        options={"lr_scaling": rule}), 2)
            self.same_weights(ours, theirs)
            pollux.finish()

    def test_accumulation(self):
        """four passes a step are one large one"""
        theirs = network()
        plain(theirs, common.sgd, 4)
        parts = start(options={"max_gpu_batch": BATCH // 4})
        _losses, numbers = train(parts, 4)
        self.same_weights(parts[2].module, theirs, 1e-5)
        self.assertEqual(numbers, [list(range(SAMPLES))] * 4)

    def test_no_sync(self):
        """backward() in parts under no_sync() adds up"""
        ours, theirs = network(), network()
        plain(theirs, common.sgd, 1)
        run, loader, model, optimizer = start(model=ours)
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                half = loss_of(model, inputs, targets) / 2
                with model.no_sync():
                    half.backward(retain_graph=True)
                half.backward()
                optimizer.step()
        self.same_weights(ours, theirs)

    def test_idle(self):
        """parameters that are frozen or unused do not disturb"""
        class Idle(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.used = network()
                self.used[0].bias.requires_grad = False
                self.unused = torch.nn.Linear(3, 3)

            def forward(self, inputs):
                return self.used(inputs)
        ours, theirs = Idle(), Idle()
        plain(theirs, common.sgd, 2)
        train(start(model=ours), 2)
        self.same_weights(ours.used, theirs.used)

    def test_double(self):
        """parameters of another type get their gradient back"""
        class Doubles(Points):
            def __getitem__(self, number):
                own, inputs, target = super().__getitem__(number)
                return own, inputs.double(), target.double()
        ours, theirs = network().double(), network().double()
        expected = plain(theirs, common.sgd, 2, dataset=Doubles())
        losses, _n = train(start(model=ours, dataset=Doubles()), 2)
        self.same(losses, expected, 1e-5)

    def test_set_to_none(self):
        """gradients set to None by the model find their place again"""
        ours, theirs = network(), network()
        plain(theirs, common.sgd, 1)
        run, loader, model, optimizer = start(model=ours)
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                for param in ours.parameters():
                    param.grad = None
                loss_of(model, inputs, targets).backward()
                optimizer.step()
        self.same_weights(ours, theirs)


class Data(Alone):
    def test_shuffled(self):
        """shuffled, each epoch has each sample once, in another order"""
        _losses, numbers = train(start(shuffle=True), 2)
        self.assertNotEqual(numbers[0], numbers[1])
        for epoch in numbers:
            self.assertEqual(sorted(epoch), list(range(SAMPLES)))

    def test_workers(self):
        """worker processes fetch the same samples"""
        _losses, numbers = train(start(num_workers=2), 2)
        self.assertEqual(numbers, [list(range(SAMPLES))] * 2)

    def test_guesses(self):
        """workers read ahead, and a wrong guess is made good"""
        run, loader, model, optimizer = start(num_workers=2, shuffle=True)
        plan, wrong, numbers, ahead = loader._feed._plan, 0, [], []
        for _epoch in run.epochs(2):
            for own, inputs, targets in loader:
                wrong += plan.due != own.tolist()
                ahead.append(len(plan.asked))
                if len(ahead) == 4:  # as after a change of the batch
                    plan.asked[0] = []
                loss_of(model, inputs, targets).backward()
                optimizer.step()
                numbers += own.tolist()
        self.assertEqual(sorted(numbers), sorted(2 * list(range(SAMPLES))))
        self.assertEqual(wrong, 0)
        self.assertEqual(set(ahead), {4})

    def test_peek(self):
        """what is peeked at is what comes"""
        run, loader, model, optimizer = start(
            shuffle=True, options={"max_gpu_batch": 6})
        expected, seen = {}, []
        for _epoch in run.epochs(2):
            for own, inputs, targets in loader:
                here = len(seen)
                seen.append(own.tolist())
                for ahead in 0, 1, 5, 9:
                    given = run.peek(ahead)
                    if given:
                        expected.setdefault(here + ahead, []).append(
                            given.samples[:given.count])
                loss_of(model, inputs, targets).backward()
                optimizer.step()
        for at, own in enumerate(seen):
            for other in expected[at]:
                self.assertEqual(own, other)
        self.assertEqual(max(expected), len(seen) - 1)

    def test_sampler(self):
        """a sampler's order is followed, drawn anew each epoch"""
        half = torch.utils.data.SubsetRandomSampler(range(50, SAMPLES))
        _losses, numbers = train(start(sampler=half), 2)
        self.assertNotEqual(numbers[0], numbers[1])
        for epoch in numbers:
            self.assertEqual(sorted(epoch), list(range(50, SAMPLES)))

    def stream(self, cls):
        return train(start(dataset=cls(), samples=SAMPLES), 2)[1]

    def test_stream(self):
        """an IterableDataset is read from its start in each epoch"""
        class Numbers(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(Points())
        self.assertEqual(self.stream(Numbers), [list(range(SAMPLES))] * 2)

    def test_seek(self):
        """an IterableDataset that can seek is told where to begin"""
        told = []

        class Numbers(torch.utils.data.IterableDataset):
            def seek(self, epoch, position):
                told.append((epoch, position))
                self.position = position

            def __iter__(self):
                points = Points()
                return (points[i] for i in range(self.position, SAMPLES))
        self.assertEqual(self.stream(Numbers), [list(range(SAMPLES))] * 2)
        self.assertEqual(told, [(0, 0), (1, 0)])

    def test_short_stream(self):
        """a stream that ends too early is told"""
        class Short(torch.utils.data.IterableDataset):
            def __iter__(self):
                return (Points()[i] for i in range(90))
        with self.assertRaisesRegex(pollux.Error, "ends at sample 90 of 100"):
            self.stream(Short)


class Checkpoints(Alone):
    def resumed(self, make, norm=False):
        """Stopped in the middle of an epoch, it ends as if it were not."""
        whole, ours = network(norm), network(norm)
        expected = plain(whole, make, 4)
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            first, _n = train(start(make, network(norm), options), 4,
                              stop_at=17)
            pollux.finish(failed=True)
            parts = start(make, ours, options)
            second, _n = train(parts, 4)
            self.assertTrue(parts[0].info().restored)
        self.same(first[:17] + second, expected)
        self.same_weights(ours, whole)

    def test_sgd(self):
        """SGD goes on from a checkpoint as if it had not stopped"""
        self.resumed(common.sgd, norm=True)

    def test_adam(self):
        """AdamW goes on from a checkpoint as if it had not stopped"""
        self.resumed(common.adam)

    def test_other(self):
        """an optimiser that is not known does so too"""
        self.resumed(common.rmsprop)

    def test_names_and_layouts(self):
        """long names and channels_last are saved and restored"""
        class Pictures(torch.nn.Module):
            def __init__(self, value):
                super().__init__()
                self.names = torch.nn.ModuleDict({
                    "n" * 60 + str(i): torch.nn.Conv2d(1, 2, 2)
                    for i in range(2)}).to(memory_format=torch.channels_last)
                for param in self.parameters():
                    param.data.normal_().mul_(value)

            def forward(self, inputs):
                pictures = inputs.view(-1, 1, 2, 4)
                return sum(layer(pictures).mean((1, 2, 3))
                           for layer in self.names.values()).unsqueeze(-1)
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            first, second = Pictures(1), Pictures(0)
            train(start(model=first, options=options), 1)
            pollux.finish()
            train(start(model=second, options=options), 1)
            self.same_weights(second, first, 0)

    def test_own_state(self):
        """state of the program's own is saved and restored"""
        class Counter:
            value = 0

            def state_dict(self):
                return {"value": self.value}

            def load_state_dict(self, state):
                self.value = state["value"]
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            for value in (7, 0):
                counter, mean = Counter(), torch.full((3,), float(value))
                counter.value = value
                parts = start(options=options)
                parts[0].register("counter", counter)
                parts[0].register("mean", mean)
                train(parts, 1 if value else 2, stop_at=3)
                pollux.finish()
            self.assertEqual(counter.value, 7)
            self.assertEqual(mean.tolist(), [7.0] * 3)

    def test_other_training(self):
        """a checkpoint of another model is not taken for ours"""
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            train(start(options=options), 1, stop_at=2)
            pollux.finish()
            other = torch.nn.Sequential(torch.nn.Linear(8, 2),
                                        torch.nn.Linear(2, 1))
            with self.assertRaisesRegex(pollux.Error, "does not fit"):
                train(start(model=other, options=options), 1)


class Steps(Alone):
    def test_scaler(self):
        """a gradient that is not finite halves the scale, and no step"""
        run, loader, model, optimizer = start()
        scaler = pollux.GradScaler(init_scale=1024.0, growth_interval=3)
        scales, moved = [], []
        for _epoch in run.epochs(1):
            for step, (_own, inputs, targets) in enumerate(loader):
                before = model.module[0].weight.clone()
                loss = loss_of(model, inputs, targets)
                if step == 1:
                    loss = loss * float("inf")
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                scales.append(scaler.get_scale())  # in this step
                moved.append(not torch.equal(before, model.module[0].weight))
        self.assertEqual(scales[:6], [1024, 1024, 512, 512, 512, 1024])
        self.assertEqual(moved, [True, False] + [True] * 5)

    def test_scaler_of_torch_2(self):
        """a scaler is told its device first, as torch.amp.GradScaler is"""
        start()
        scaler = pollux.GradScaler("cuda", init_scale=8.0)
        self.assertEqual(scaler.get_scale(), 8)
        self.assertEqual(scaler.get_growth_factor(), 2)
        pollux.finish()
        start()
        self.assertEqual(pollux.GradScaler(device="cpu").get_scale(), 65536)
        with self.assertRaisesRegex(pollux.Error, "knows cuda and cpu"):
            pollux.GradScaler("mps")

    def test_scaled_gradient(self):
        """the scale is out of the gradient when backward() returns"""
        ours, theirs = network(), network()
        plain(theirs, common.sgd, 1)
        run, loader, model, optimizer = start(model=ours)
        scaler = pollux.GradScaler(init_scale=4096.0)
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                scaler.scale(loss_of(model, inputs, targets)).backward()
                scaler.step(optimizer)
                scaler.update()
        self.same_weights(ours, theirs)

    def test_out_of_memory(self):
        """a batch that does not fit is made smaller, no sample is lost"""
        run, loader, model, optimizer = start()
        numbers, sizes = {}, []  # by step: one that is given up comes again
        for _epoch in run.epochs(2):
            for own, inputs, targets in loader:
                used = numbers.setdefault(run.info().step, [])
                with run.memory_guard():
                    sizes.append(len(own))
                    if len(own) > 5:
                        used.clear()
                        raise RuntimeError("CUDA out of memory. Tried to")
                    loss_of(model, inputs, targets).backward()
                    optimizer.step()
                    used += [] if loader.is_filler else own.tolist()
        self.assertEqual(sorted(sum(numbers.values(), [])),
                         sorted(2 * list(range(SAMPLES))))
        self.assertLess(sum(size > 5 for size in sizes), 4)

    def test_factor(self):
        """a rule of the program's own sets the learning rate"""
        run, loader, model, optimizer = start(
            lambda model: torch.optim.SGD(model.parameters(), lr=1.0),
            options={"lr_rule": lambda state: 0.25})
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                before = model.module[0].weight.clone()
                loss_of(model, inputs, targets).backward()
                gradient = model.module[0].weight.grad.clone()
                optimizer.step()
                self.assertTrue(torch.allclose(
                    before - model.module[0].weight, gradient / 4,
                    atol=1e-6))
        self.assertEqual(optimizer.param_groups[0]["lr"], 1.0)

    def test_rule_raises(self):
        """an exception in such a rule ends training"""
        def rule(state):
            raise ValueError("no rule")
        with self.assertRaisesRegex(ValueError, "no rule"):
            train(start(options={"lr_rule": rule}), 1)

    def test_units(self):
        """a schedule by steps follows the iterations"""
        run, loader, model, optimizer = start(dataset=Points(96))
        scheduler = pollux.LRScheduler(schedule(optimizer), unit="step")
        rates = []
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                rates.append(optimizer.param_groups[0]["lr"])
                loss_of(model, inputs, targets).backward()
                optimizer.step()
                scheduler.step()
        self.assertEqual(rates, [0.05, 0.05, 0.025, 0.025, 0.0125,
                                 0.0125])


if __name__ == "__main__":
    unittest.main()
