# SPDX-License-Identifier: MIT
"""Gradients as they are on a GPU, where each pass begins without any."""

import contextlib
import itertools
import unittest
from unittest import mock

import pollux
import torch
from pollux import buckets, optimizer

from common import Points, loss_of, network, sgd
from test_alone import Alone, start


def beginning(anew):
    return mock.patch.object(buckets, "_anew", lambda _device: anew)


def one_by_one(to, own):
    for view, gradient in zip(to, own):
        assert not gradient.is_sparse
        view.copy_(gradient)


class Words(torch.nn.Module):
    """Few of them are looked up in a batch."""

    def __init__(self, kind=torch.float32):
        super().__init__()
        torch.manual_seed(3)
        self.words = torch.nn.Embedding(50, 8, sparse=True, dtype=kind)
        self.rest = network()

    def forward(self, inputs):
        numbers = (inputs[:, 0].abs() * 10).long()
        return self.rest(inputs + self.words(numbers).float())


class Copied(unittest.TestCase):
    """_copy(), by each of the calls that a release of PyTorch may have."""

    def gradients(self):
        generator = torch.Generator().manual_seed(2)
        own = [torch.randn(shape, generator=generator)
               for shape in ((3, 4), (), (2, 3, 4, 4), (7,))]
        own[0] = own[0].t().contiguous().t()
        own[2] = own[2].to(memory_format=torch.channels_last)
        return own

    def copied(self, own, all_of=True):
        bucket = buckets.Bucket(0, torch.device("cpu"))
        for gradient in own:
            bucket.add(torch.nn.Parameter(gradient.to_dense().float()))
        bucket.build()
        buckets._copy(bucket.views, own, bucket.flat if all_of else None)
        for view, gradient in zip(bucket.views, own):
            self.assertTrue(torch.equal(view, gradient.to_dense().float()))

    def test_kept(self):
        """what was copied is not kept beside the copy"""
        bucket = buckets.Bucket(0, torch.device("cpu"))
        param = torch.nn.Parameter(torch.zeros(3))
        bucket.add(param)
        with beginning(True):
            bucket.build()
        bucket.begin()
        self.assertIsNone(param.grad)
        param.grad = torch.ones(3)
        bucket.take()
        self.assertIs(param.grad, bucket.views[0])
        self.assertEqual(bucket.flat.tolist(), 3 * [1.0])

    def test_foreach(self):
        """gradients are copied by one call where PyTorch has it"""
        with mock.patch.object(torch, "_foreach_copy_", create=True,
                               side_effect=one_by_one) as copy:
            self.copied(self.gradients())
        self.assertEqual(copy.call_count, 1)

    def older(self):
        """As if PyTorch had no _foreach_copy_(): calls of cat()."""
        stack = contextlib.ExitStack()
        if hasattr(torch, "_foreach_copy_"):
            stack.enter_context(mock.patch.object(torch, "_foreach_copy_"))
            del torch._foreach_copy_
        return stack, stack.enter_context(mock.patch.object(
            torch, "cat", side_effect=torch.cat))

    def test_cat(self):
        """an older one copies by another, whatever their layout"""
        stack, cat = self.older()
        with stack:
            self.copied(self.gradients())
        self.assertEqual(cat.call_count, 1)

    def test_one_by_one(self):
        """... and one by one where some are missing, or of another type"""
        stack, cat = self.older()
        with stack:
            self.copied(self.gradients(), all_of=False)
            self.copied([g.double() for g in self.gradients()])
        self.assertEqual(cat.call_count, 0)

    def test_sparse(self):
        """sparse ones are copied in each way"""
        own = [torch.randn(4, 2), torch.eye(3).to_sparse()]
        self.copied(own)
        self.copied(own, all_of=False)
        with mock.patch.object(torch, "_foreach_copy_", create=True,
                               side_effect=one_by_one):
            self.copied(own)


class Numbers(unittest.TestCase):
    def test_numbers(self):
        """counts of steps are read at once, whatever holds them"""
        for steps in [], [torch.tensor(3.0)], [torch.tensor(3.0),
                                               torch.tensor([4.0])], \
                [5, torch.tensor(6.0)]:
            self.assertEqual(optimizer._numbers(steps),
                             [float(step) for step in steps])


class Anew(Alone):
    def test_few_copies(self):
        """a bucket is filled at once, and is where gradients are then"""
        model = torch.nn.Sequential(*itertools.chain(
            *((torch.nn.Linear(8, 8), torch.nn.Tanh()) for _ in range(20)),
            [torch.nn.Linear(8, 1)]))
        with beginning(True), mock.patch.object(
                buckets, "_copy", side_effect=buckets._copy) as copy:
            run, loader, model, optimizer = start(model=model)
            for _epoch in run.epochs(1):
                for _own, inputs, targets in loader:
                    self.assertTrue(all(param.grad is None
                                        for param in model.parameters()))
                    loss_of(model, inputs, targets).backward()
                    self.places(run)
                    optimizer.step()
        self.assertEqual(copy.call_count, 7)  # steps, one bucket
        self.assertEqual([len(call[0][1]) for call in copy.call_args_list],
                         7 * [42])

    def places(self, run):
        for bucket in run.buckets.all:
            for param, view in zip(bucket.params, bucket.views):
                self.assertIs(param.grad, view)

    def zeros(self, param):
        self.assertEqual(int(param.grad.count_nonzero()), 0)

    def both(self, train, within=0):
        """train(start) -> its model, with either beginning."""
        found = []
        for anew in False, True:
            with beginning(anew):
                found.append(train())
            pollux.finish(failed=True)
        self.same_weights(*found, within)

    def looped(self, body, make=sgd, model=network):
        """body(step, model, optimizer, inputs, targets) for each batch."""
        def train():
            run, loader, wrapped, optimizer = start(make, model())
            for _epoch in run.epochs(2):
                for step, (_own, inputs, targets) in enumerate(loader):
                    body(step, wrapped, optimizer, inputs, targets)
            return wrapped.module
        self.both(train)

    def with_two(self, body):
        """body(step, model, first, second, inputs, targets), likewise."""
        def train():
            run, loader, model, first = start(
                lambda model: sgd(model[0]), network())
            second = pollux.Optimizer(sgd(model.module[3]))
            for _epoch in run.epochs(2):
                for step, (_own, inputs, targets) in enumerate(loader):
                    body(step, model, first, second, inputs, targets)
            return model.module
        self.both(train)

    def test_unused(self):
        """what has no gradient has zeros, also after a pass in which it had"""
        def body(step, model, optimizer, inputs, targets):
            if step % 2:
                model.module[0].weight.sum().backward()
                self.zeros(model.module[3].bias)
            else:
                loss_of(model, inputs, targets).backward()
            optimizer.step()
        self.looped(body)

    def test_parts(self):
        """parts of a pass add up, also of a graph that is kept"""
        def body(step, model, optimizer, inputs, targets):
            loss = loss_of(model, inputs, targets)
            with model.no_sync():
                loss.backward(retain_graph=True)
                if step % 2:
                    model.module[0].weight.sum().backward()
            if step % 3:
                loss.backward()
            else:
                model.module[3].bias.sum().backward()
            optimizer.step()
        self.looped(body)

    def zeroed(self, zero):
        def body(step, model, optimizer, inputs, targets):
            zero(model, optimizer)
            with model.no_sync():
                loss_of(model, inputs, targets).backward()
            zero(model, optimizer)
            if step % 2:
                model.module[0].weight.sum().backward()
            else:
                loss_of(model, inputs * 2, targets).backward()
            optimizer.step()
            zero(model, optimizer)
        self.looped(body)

    def test_zeroed(self):
        """each way of zeroing between two backward() forgets the first"""
        for to_none in False, True:
            self.zeroed(lambda model, optimizer: optimizer.zero_grad(to_none))
            self.zeroed(lambda model, optimizer: model.zero_grad(to_none))
            self.zeroed(lambda model, optimizer:
                        optimizer.inner.zero_grad(set_to_none=to_none))
            self.zeroed(lambda model, optimizer:
                        model.module.zero_grad(set_to_none=to_none))

    def test_removed(self):
        """what the script has removed is not taken for a gradient"""
        def body(step, model, optimizer, inputs, targets):
            with model.no_sync():
                loss_of(model, inputs, targets).backward()
            for param in model.parameters():
                param.grad = None
            model.module[0].weight.sum().backward()
            self.zeros(model.module[3].bias)
            optimizer.step()
        self.looped(body)

    def test_removed_mean(self):
        """nor is the mean of a backward() before"""
        def body(step, model, first, second, inputs, targets):
            loss_of(model, inputs, targets).backward()
            for param in model.parameters():
                param.grad = None
            (model.module[0].weight.sum() +
             model.module[3].weight.sum()).backward()
            self.zeros(model.module[0].bias)
            self.zeros(model.module[3].bias)
            second.step()
            first.step()
        self.with_two(body)

    def test_changed(self):
        """what the script makes of its gradients is what is stepped with"""
        def body(step, model, optimizer, inputs, targets):
            loss_of(model, inputs, targets).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            model.module[3].bias.grad.neg_()
            model.module[0].bias.grad = None  # not even decayed
            optimizer.step()
        self.looped(body)

    def test_graph(self):
        """a gradient with a graph of its own leaves none behind"""
        def body(step, model, optimizer, inputs, targets):
            loss_of(model, inputs, targets).backward(create_graph=True)
            for param in model.parameters():
                self.assertFalse(param.grad.requires_grad)
            optimizer.step()
        self.looped(body)

    def test_second(self):
        """an optimiser that steps without its backward() has zeros"""
        def body(step, model, first, second, inputs, targets):
            second.zero_grad()
            if step % 2:
                model.module[0].weight.sum().backward()
            else:
                loss_of(model, inputs, targets).backward()
            if step % 3 == 1:
                loss_of(model, -inputs, targets).backward()
            elif step % 3 == 2:
                second.zero_grad()
                with model.no_sync():
                    loss_of(model, -inputs, targets).backward()
            second.step()
            first.step()
        self.with_two(body)

    def test_detached(self):
        """a gradient that the script has put there again is taken"""
        def body(step, model, first, second, inputs, targets):
            loss_of(model, inputs, targets).backward()
            for param in model.parameters():
                param.grad = param.grad.detach()
            loss_of(model, inputs, targets).backward()
            second.step()
            first.step()
        self.with_two(body)

    def test_one_type(self):
        """so are those of a model that is all of another type"""
        def body(step, model, optimizer, inputs, targets):
            loss_of(model, inputs.double(), targets.double()).backward()
            for param in model.parameters():
                self.assertIs(param.grad.dtype, torch.float64)
            optimizer.step()
        self.looped(body, model=lambda: network().double())

    def test_types(self):
        """parameters of other types are given theirs"""
        def make():
            model = network()
            model.scale = torch.nn.Parameter(
                torch.ones(8, dtype=torch.bfloat16))
            model.shift = torch.nn.Parameter(
                torch.zeros(8, dtype=torch.float64))
            return model

        def body(step, model, optimizer, inputs, targets):
            inner = model.module
            loss_of(model, inputs * inner.scale.float() +
                    inner.shift.float(), targets).backward()
            for param in inner.parameters():
                self.assertIs(param.grad.dtype, param.dtype)
            optimizer.step()
        self.looped(body, model=make)

    def test_sparse(self):
        """sparse gradients become dense ones, of any type"""
        def body(step, model, optimizer, inputs, targets):
            loss_of(model, inputs, targets).backward()
            self.assertFalse(model.module.words.weight.grad.is_sparse)
            optimizer.step()
        for kind in torch.float32, torch.float64:
            self.looped(body, model=lambda: Words(kind))

    def test_sparse_only(self):
        """an optimiser that takes no others says so"""
        def body(step, model, optimizer, inputs, targets):
            loss_of(model, inputs, targets).backward()
            with self.assertRaisesRegex(RuntimeError,
                                        "not support dense gradients"):
                optimizer.step()
        self.looped(body, lambda model: torch.optim.SparseAdam(
            list(model.words.parameters())), Words)


if __name__ == "__main__":
    unittest.main()
