# SPDX-License-Identifier: MIT
"""What is saved as bytes comes back, and what others wrote runs nothing."""

import collections
import io
import json
import os
import pickle
import random
import tempfile
import time
import tracemalloc
import unittest

import pollux
import torch

from pollux import encoding
from pollux.state import State

from common import network, schedule, sgd
from test_alone import Alone, start, train

SECONDS = 4  # of damage
PACKAGE = os.path.join(os.path.dirname(__file__), "..", "pollux")


class Evil:
    """A pickle of it makes a file of this path when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


class Holder:
    """Has a state, as a script's own objects."""

    def __init__(self, state=None):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


class Handle:
    """Keeps what would be registered."""

    def register_blob(self, name, dump, load):
        self.name, self.dump, self.load = name, dump, load


class Hostile(Alone):
    def harmless(self, load, make):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "was here")
            with self.assertRaisesRegex(pollux.Error, "could run anything"):
                load(make(Evil(path)))
            self.assertFalse(os.path.exists(path))

    def test_pickle(self):
        """a pickle in a schedule's place is refused and runs nothing"""
        handle = Handle()
        State(handle).add("mine", Holder({"a": 1}))
        self.harmless(handle.load, pickle.dumps)

    def test_saved(self):
        """so is one in an optimiser's place"""
        def make(evil):
            out = io.BytesIO()
            torch.save(evil, out)
            return out.getvalue()

        _run, _loader, _model, optimizer = start()
        self.harmless(optimizer.load, make)
        self.harmless(optimizer.load, pickle.dumps)

    def test_damaged(self):
        """damage anywhere is an error in a sentence, or other numbers"""
        whole = encoding.dump({"t": torch.ones(3), "l": [1, (2.5, None)],
                               "b": b"xyz"}, "it")
        chance = random.Random(5)
        for _round in range(3000):
            data = bytearray(whole)
            for _change in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            data = bytes(data[:chance.randrange(len(data) + 1)]
                         if chance.random() < 0.3 else data)
            try:
                encoding.load(data, "it")
            except pollux.Error as error:
                self.assertNotIn("\n", str(error).split(":")[0])

    def mutate(self, chance, value):
        """Another value in some place of JSON's."""
        words = [None, True, 0, -1, 1 << 40, 1 << 70, 1.5, "", "aaaa", [], {},
                 "torch.float32", "<f8", "(1 2)f4", "O", "cuda:99", [0, 1e9],
                 ["aaaa", 1 << 40], [1 << 20] * 3, "99999999999f4",
                 {"deque": []}, {"list": 1}, {"dict": [[{"list": []}, 1]]}]
        if chance.random() < 0.2 or type(value) not in (list, dict):
            return chance.choice(words)
        if not value:
            return [chance.choice(words)]
        if isinstance(value, dict):
            (kind, given), = value.items()
            if chance.random() < 0.3:
                return {chance.choice(sorted(encoding._READ)): given}
            return {kind: self.mutate(chance, given)}
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return value[:at]
        return value[:at] + [self.mutate(chance, value[at])] + value[at + 1:]

    def test_mutated(self):
        """other values in any place are an error, and take no memory"""
        import numpy
        whole = encoding.dump(
            {"t": torch.ones(3, 2), "n": numpy.ones(2), "l": [1, (2.5, None)],
             "b": b"xyz", "q": collections.deque([1], 3), "s": {1, 2},
             "z": torch.Size([2]), "d": torch.float16,
             "c": collections.Counter({3: 1})}, "it")
        begin = len(encoding.MAGIC) + 8
        end = begin + int.from_bytes(whole[begin - 8:begin], "little")
        first = json.loads(whole[begin:end])
        chance = random.Random(11)
        until = time.monotonic() + SECONDS
        refused = taken = 0
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        while time.monotonic() < until:
            value = first
            for _change in range(chance.randrange(1, 4)):
                value = self.mutate(chance, value)
            text = json.dumps(value).encode()
            tracemalloc.reset_peak()
            try:
                encoding.load(encoding.MAGIC + len(text).to_bytes(8, "little")
                              + text + whole[end:], "it")
                taken += 1
            except pollux.Error as error:
                self.assertIn("is damaged: ", str(error))
                refused += 1
            self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 26, text)
        self.assertGreater(refused, 100)
        self.assertGreater(taken, 100)

    def test_greedy(self):
        """a tensor that is larger than its file gets no memory"""
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for shape in ([1 << 40], [1 << 20, 1 << 20, 1 << 20], [-1], [0, -5],
                      ["aaaa", 1 << 26]):
            text = json.dumps({"tensor": ["torch.float32", shape, "cpu", 0,
                                          4]}).encode()
            with self.assertRaisesRegex(pollux.Error, "is damaged"):
                encoding.load(encoding.MAGIC + len(text).to_bytes(
                    8, "little") + text + b"abcd", "it")
        self.assertLess(tracemalloc.get_traced_memory()[1], 1 << 24)

    def test_deep(self):
        """a value that is nested without end is refused, both ways"""
        text = b'{"list":[' * 100000 + b"1" + b"]}" * 100000
        with self.assertRaisesRegex(pollux.Error, "is damaged"):
            encoding.load(encoding.MAGIC + len(text).to_bytes(8, "little") +
                          text, "it")
        endless = []
        endless.append(endless)
        with self.assertRaisesRegex(pollux.Error, "holds itself"):
            encoding.dump(endless, "it")

    def test_nothing_unpickles(self):
        """no module of the package unpickles"""
        for name in os.listdir(PACKAGE):
            if name.endswith(".py"):
                with open(os.path.join(PACKAGE, name)) as source:
                    text = source.read()
                self.assertNotIn("import pickle", text, name)
                self.assertNotIn("torch.load", text, name)


class ComesBack(unittest.TestCase):
    def back(self, value):
        return encoding.load(encoding.dump(value, "it"), "it")

    def test_values(self):
        """numbers, texts and containers come back as what they were"""
        for value in [None, True, 7, -1 << 70, 0.1, 1e-320, float("inf"),
                      "caf\u00e9 \U0001f600\n", b"\0\xff", [], [1, [2, []]],
                      (1, (2,)), {1: "a", "1": "b", None: 3, (4, 5): 6},
                      {1, 2}, frozenset("ab"),
                      collections.OrderedDict([("z", 1), ("a", 2)]),
                      collections.Counter({30: 1, 60: 2}),
                      torch.Size([2, 3]), torch.float16,
                      torch.device("cuda", 1), random.getstate()]:
            again = self.back(value)
            self.assertEqual(again, value)
            self.assertIs(type(again), type(value))
        self.assertEqual(self.back(collections.deque([1, 2], 5)).maxlen, 5)

    def test_tensors(self):
        """tensors of every type and shape come back"""
        for dtype in (torch.float64, torch.float32, torch.float16,
                      torch.bfloat16, torch.int64, torch.int8, torch.uint8,
                      torch.bool, torch.complex64):
            for shape in (), (3,), (2, 3, 4), (0,), (2, 0):
                value = torch.arange(100)[:torch.Size(shape).numel()] \
                    .reshape(shape).to(dtype)
                again = self.back(value)
                self.assertEqual(again.dtype, dtype)
                self.assertEqual(again.shape, value.shape)
                self.assertTrue(torch.equal(again, value))
        value = torch.arange(12.0).reshape(3, 4).t()
        self.assertTrue(torch.equal(self.back(value), value))

    def test_arrays(self):
        """arrays and numbers of numpy come back"""
        try:
            import numpy
        except ImportError:
            self.skipTest("no numpy")
        for value in (numpy.arange(6, dtype=">i4").reshape(2, 3),
                      numpy.array([1 + 2j]), numpy.zeros((0, 2))):
            again = self.back(value)
            self.assertEqual(again.dtype, value.dtype)
            self.assertTrue(numpy.array_equal(again, value))
            again[...] = 5  # it can be written
        self.assertEqual(self.back(numpy.float64(0.1)), 0.1)
        with self.assertRaisesRegex(pollux.Error, "only numbers"):
            encoding.dump(numpy.array([Evil("")]), "it")

    def test_schedulers(self):
        """schedules of PyTorch go on where they were"""
        kinds = torch.optim.lr_scheduler
        for make in (
                schedule,
                lambda o: kinds.MultiStepLR(o, [2, 3, 3]),
                lambda o: kinds.LambdaLR(o, lambda epoch: 0.9 ** epoch),
                lambda o: kinds.OneCycleLR(o, 0.1, total_steps=20),
                lambda o: kinds.CosineAnnealingWarmRestarts(o, 3),
                lambda o: kinds.CyclicLR(o, 0.01, 0.1, step_size_up=3),
                lambda o: kinds.SequentialLR(
                    o, [kinds.ConstantLR(o, 0.1), kinds.ExponentialLR(o, 0.9)],
                    [3])):
            one, other = sgd(network()), sgd(network())
            ahead, behind = make(one), make(other)
            for _step in range(5):
                one.step()
                ahead.step()
            behind.load_state_dict(self.back(ahead.state_dict()))
            other.load_state_dict(self.back(one.state_dict()))
            for _step in range(6):
                for optimizer, scheduler in (one, ahead), (other, behind):
                    optimizer.step()
                    scheduler.step()
                self.assertEqual(one.param_groups[0]["lr"],
                                 other.param_groups[0]["lr"])

    def test_optimizers(self):
        """optimisers of PyTorch go on where they were"""
        for kind in (torch.optim.SGD, torch.optim.Adagrad, torch.optim.Rprop,
                     torch.optim.RMSprop, torch.optim.NAdam,
                     torch.optim.LBFGS):
            models = network(), network()
            ours = [kind(m.parameters(), lr=0.01) for m in models]
            inputs = torch.ones(4, 8)

            def step(i):
                def closure():
                    ours[i].zero_grad()
                    loss = models[i](inputs).square().mean()
                    loss.backward()
                    return loss
                ours[i].step(closure)

            step(0)
            models[1].load_state_dict(models[0].state_dict())
            ours[1].load_state_dict(self.back(ours[0].state_dict()))
            for _step in range(2):
                step(0)
                step(1)
            for a, b in zip(*(m.parameters() for m in models)):
                self.assertTrue(torch.equal(a, b), kind)

    def test_refused(self):
        """what cannot be saved is named before training begins"""
        parts = start()
        parts[0].register("mine", Holder({"deep": [1, Evil("")]}))
        with self.assertRaisesRegex(
                pollux.Error, r"mine\['deep'\]\[1\] is a .*Evil, which"):
            train(parts, 1)
        pollux.finish()


if __name__ == "__main__":
    unittest.main()
