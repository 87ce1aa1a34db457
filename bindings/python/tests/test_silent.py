# SPDX-License-Identifier: MIT
"""What would be trained wrongly is right, or refused in a sentence."""

import contextlib
import copy
import io
import random
import tempfile
import unittest

import pollux
import torch
from torch.utils.data import Sampler, WeightedRandomSampler
from torch.utils.data.distributed import DistributedSampler

import common
from common import SAMPLES, Points, loss_of, network, sgd
from test_alone import Alone, start, train


class Refused(Alone):
    def refused(self, sentence, function, *args, **kwargs):
        with self.assertRaisesRegex(pollux.Error, sentence):
            function(*args, **kwargs)

    def test_accumulation(self):
        """accumulation by the script itself"""
        def accumulate():
            run, loader, model, optimizer = start()
            for _epoch in run.epochs(1):
                for step, (_own, inputs, targets) in enumerate(loader):
                    (loss_of(model, inputs, targets) / 2).backward()
                    if step % 2:
                        optimizer.step()
                        optimizer.zero_grad()
        self.refused("do not accumulate", accumulate)

    def test_unsynchronised(self):
        """accumulation by the script itself, in no_sync() as DDP wants it"""
        def accumulate():
            run, loader, model, optimizer = start()
            for _epoch in run.epochs(1):
                for step, (_own, inputs, targets) in enumerate(loader):
                    last = step % 2
                    with contextlib.nullcontext() if last else \
                            model.no_sync():
                        (loss_of(model, inputs, targets) / 2).backward()
                    if last:
                        optimizer.step()
                        optimizer.zero_grad()
        self.refused("do not accumulate", accumulate)

    def test_left_out_parts(self):
        """a batch left out after its no_sync() is not taken for that"""
        run, loader, model, optimizer = start()
        for _epoch in run.epochs(1):
            for step, (_own, inputs, targets) in enumerate(loader):
                optimizer.zero_grad()
                with model.no_sync():
                    loss_of(model, inputs, targets).backward()
                if step != 2:
                    loss_of(model, inputs, targets).backward()
                    optimizer.step()
        self.assertEqual(run.info().step, 7)

    def test_left_out_step(self):
        """a step that is left out on purpose is not taken for that"""
        run, loader, model, optimizer = start()
        for _epoch in run.epochs(1):
            for step, (_own, inputs, targets) in enumerate(loader):
                optimizer.zero_grad()
                loss_of(model, inputs, targets).backward()
                if step != 2:
                    optimizer.step()
        self.assertEqual(run.info().step, 7)

    def test_distributed_sampler(self):
        """a DistributedSampler"""
        pollux.init(quiet=True)
        self.refused("leave it out", pollux.DataLoader, Points(),
                     sampler=DistributedSampler(Points(), 2, 0))

    def test_random_sampler(self):
        """a sampler whose order is another one each time"""
        class Other(Sampler):
            def __init__(self):
                super().__init__(None)
                self.random = random.Random(3)

            def __len__(self):
                return SAMPLES

            def __iter__(self):
                order = list(range(SAMPLES))
                self.random.shuffle(order)
                return iter(order)
        self.refused("another one each time", train, start(sampler=Other()),
                     1)

    def test_inner_groups(self):
        """a group that the inner optimiser is given later"""
        run, loader, model, optimizer = start()
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                loss_of(model, inputs, targets).backward()
                optimizer.step()
                optimizer.inner.add_param_group(
                    {"params": [torch.nn.Parameter(torch.zeros(2))]})
                self.refused("added to the optimiser after", optimizer.step)
                return

    def test_foreign_parameter(self):
        """a parameter that only the optimiser has"""
        center = torch.nn.Parameter(torch.zeros(3, 5))
        parts = start(lambda model: torch.optim.SGD(
            [*model.parameters(), center], lr=0.1))
        self.refused(r"shape \[3, 5\] that the model has not", train, parts,
                     1)

    def test_never_finite(self):
        """a gradient that is never finite"""
        run, loader, model, optimizer = start()

        def poisoned():
            for _epoch in run.epochs(20):
                for _own, inputs, targets in loader:
                    (loss_of(model, inputs, targets) *
                     float("nan")).backward()
                    optimizer.step()
        self.refused("64 steps in a row", poisoned)

    def test_scaler(self):
        """a gradient scaler with several optimisers"""
        _run, loader, model, _optimizer = start()
        pollux.Optimizer(sgd(model.module))
        pollux.GradScaler()
        self.refused("goes with one optimiser", next, iter(loader))


class Right(Alone):
    def test_weighted_sampler(self):
        """a sampler with its own generator draws the same after a restart"""
        def sampler():
            return WeightedRandomSampler(
                torch.arange(1.0, SAMPLES + 1), SAMPLES,
                generator=torch.Generator().manual_seed(1))
        _losses, whole = train(start(sampler=sampler()), 2)
        pollux.finish()
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            _losses, first = train(start(options=options, sampler=sampler()),
                                   2, stop_at=9)
            pollux.finish()
            _losses, second = train(start(options=options,
                                          sampler=sampler()), 2)
        self.assertEqual(first[0], whole[0])
        self.assertEqual(first[1] + second[0], whole[1])

    def stepped(self, **options):
        """Is a gradient that is no number applied? A large one, of 5 MB."""
        model = torch.nn.Sequential(torch.nn.Linear(8, 1 << 17),
                                    torch.nn.Linear(1 << 17, 1))
        run, loader, model, optimizer = start(model=model, options=options)
        for _epoch in run.epochs(1):
            for step, (_own, inputs, targets) in enumerate(loader):
                scale = float("nan") if step == 5 else 1e-3
                (loss_of(model, inputs, targets) * scale).backward()
                optimizer.step()
        return not all(bool(torch.isfinite(param).all())
                       for param in model.parameters())

    def test_finite(self):
        """a gradient is looked at, unless the script says that it need not"""
        self.assertFalse(self.stepped())
        pollux.finish()
        self.assertTrue(self.stepped(finite=True))

    def test_statistics_of_skipped_steps(self):
        """a step that is skipped leaves no statistics"""
        run, loader, model, optimizer = start(model=network(norm=True))
        norm = model.module[1]
        for _epoch in run.epochs(1):
            for step, (_own, inputs, targets) in enumerate(loader):
                before = norm.running_mean.clone()
                inputs = inputs * (float("inf") if step == 2 else 1)
                loss_of(model, inputs, targets).backward()
                optimizer.step()
                self.assertEqual(torch.equal(before, norm.running_mean),
                                 step == 2)
        self.assertEqual(int(norm.num_batches_tracked), 6)

    def test_break(self):
        """a batch that a loop has left comes in the next"""
        run, loader, model, optimizer = start()
        numbers, said = [], io.StringIO()
        run._options["quiet"] = False
        with contextlib.redirect_stderr(said):
            for _epoch in run.epochs(2):
                next(iter(loader))  # to see its shape, say
                for step, (own, inputs, targets) in enumerate(loader):
                    if step == 3:
                        break
                    loss_of(model, inputs, targets).backward()
                    optimizer.step()
                    numbers += own.tolist()
        self.assertEqual(numbers, 2 * list(range(SAMPLES)))
        self.assertIn("has left epoch 0 before its end", said.getvalue())

    def test_frozen(self):
        """what is frozen does not decay"""
        run, loader, model, optimizer = start()
        model.module[0].requires_grad_(False)
        before = model.module[0].weight.clone()
        for _epoch in run.epochs(1):
            for _own, inputs, targets in loader:
                loss_of(model, inputs, targets).backward()
                optimizer.step()
        self.assertTrue(torch.equal(before, model.module[0].weight))

    def test_early_end(self):
        """an early end is saved, and gone on from"""
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0,
                       "epochs": 5}
            for begun in 0, 4:
                run, loader, model, optimizer = start(options=options)
                for _epoch in run.epochs():
                    for _own, inputs, targets in loader:
                        if not run.info().restored:
                            self.assertEqual(begun, 0)
                        loss_of(model, inputs, targets).backward()
                        optimizer.step()
                        if run.info().step == begun + 3:
                            pollux.finish()
                            break
                weights = model.module[0].weight.clone()
            run, loader, model, _optimizer = start(options=options)
            next(iter(loader))
            self.assertEqual(run.info().step, 8)
            self.assertTrue(torch.equal(weights, model.module[0].weight))
            pollux.finish(failed=True)

    def test_chance(self):
        """random numbers go on after a restart, the same at each try"""
        drawn = []
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            for stop in 3, None, None:
                torch.manual_seed(4)
                random.seed(4)
                run, loader, model, optimizer = start(options=options)
                next(iter(loader))
                # The script's own seed, network()'s, as in plain PyTorch.
                self.assertEqual(torch.initial_seed() == 3, stop is not None)
                drawn.append((float(torch.rand(1)), random.random()))
                if stop:
                    train((run, loader, model, optimizer), None,
                          stop_at=stop, scheduled=False)
                pollux.finish(failed=True)
        self.assertNotEqual(drawn[0], drawn[1])
        self.assertEqual(drawn[1], drawn[2])

    def test_alone_is_told(self):
        """a run without launcher and checkpoints is told"""
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            train(start(options={"quiet": False}), 1)
        self.assertEqual(said.getvalue().count("without pollux-launch"), 1)

    def test_copy(self):
        """a wrapped model is copied as its module is"""
        _run, _loader, model, _optimizer = start()
        other = copy.deepcopy(model)
        self.same_weights(other.module, model.module, 0)
        self.assertIsNot(other.module[0].weight, model.module[0].weight)


if __name__ == "__main__":
    unittest.main()
