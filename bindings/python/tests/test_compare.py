# SPDX-License-Identifier: MIT
"""Which notes of a rehearsal are those of one training, and which are not."""

import copy
import math
import tempfile
import unittest
from unittest import mock

import pollux
import torch
from pollux import compare, plain, rehearsal


def notes(count=3):
    """As of rehearsal.Notes: two tensors that walk, and their average."""
    steps = [{"step": 0, "weights": {"first": [1.0, -1.0], "last": [2.0]},
              "kept": {"average.first": [1.0], "average.last": [2.0],
                       "buffer.mask": [-math.inf, 0.0]}}]
    for step in range(1, count + 1):
        steps.append({
            "step": step, "loss": 3.0 / step, "rates": [[0.1, 0.2]],
            "weights": {"first": [1.0 + 0.1 * step, -1.0 - 0.1 * step],
                        "last": [2.0 - 0.1 * step]},
            "kept": {"average.first": [1.0 + 0.01 * step],
                     "average.last": [2.0 - 0.01 * step],
                     "buffer.mask": [-math.inf, 0.0]}})
        if step > rehearsal.STEPS:
            del steps[-1]["weights"], steps[-1]["kept"]
    return steps


class Average:
    """Its state is a copy, with a list in it."""

    def __init__(self, value):
        self.tensor = torch.full((3,), value)

    def state_dict(self):
        return {"count": 1, "all": [self.tensor.clone()]}

    def load_state_dict(self, state):
        self.tensor = state["all"][0]


class Compared(unittest.TestCase):
    def said(self, change):
        """Of notes that are changed in one of the two."""
        plain = notes()
        change(plain)
        return compare.difference(notes(), plain)

    def test_same(self):
        """steps that differ by rounding are the same"""
        def change(plain):
            plain[2]["loss"] *= 1 + 1e-4
            plain[3]["weights"]["first"][0] += 1e-4
        self.assertIsNone(self.said(change))

    def test_loss(self):
        """the first step whose loss differs is named"""
        def change(plain):
            plain[2]["loss"] = plain[3]["loss"] = 1.6
        self.assertEqual(self.said(change), "step 2 is not that of plain "
                         "PyTorch: the loss is 1.5, there 1.6")

    def test_not_finite(self):
        """a loss that is no number is another one than one that is"""
        def change(plain):
            plain[1]["loss"] = math.nan
        self.assertIn("the loss is 3, there nan", self.said(change))

    def test_rate(self):
        """a learning rate of one group that differs is named"""
        def change(plain):
            plain[1]["rates"][0][1] = 0.19
        self.assertIn("step 1 is not that of plain PyTorch: the learning "
                      "rate is 0.2, there 0.19", self.said(change))

    def test_steps(self):
        """a step that only one of them takes is named"""
        def change(plain):
            plain[3]["rates"] = []
        self.assertIn("step 3 is not that of plain PyTorch: optimisers have "
                      "stepped 1 times, there 0", self.said(change))

    def test_frozen(self):
        """a tensor that only one of them trains is named"""
        def change(plain):
            for step in plain[1:]:
                step["weights"]["last"] = [2.0]
        self.assertIn("step 1 is not that of plain PyTorch: \"last\" is "
                      "trained, there it stays as it is", self.said(change))
        frozen = notes()
        change(frozen)
        self.assertIn("\"last\" stays as it is, there it is trained",
                      compare.difference(frozen, notes()))

    def test_unseen(self):
        """where no loss is seen, weights are compared"""
        def unseen(steps):
            for step in steps[1:]:
                step["loss"] = None
            return steps
        ours, plain = unseen(notes()), unseen(notes())
        self.assertIsNone(compare.difference(ours, copy.deepcopy(plain)))
        self.assertIn("by their weights", compare.summary(ours))
        plain[3]["weights"]["first"][1] = -1.25
        self.assertIn("step 3 is not that of plain PyTorch: weights are "
                      "0.05 apart", compare.difference(ours, plain))

    def test_average(self):
        """an average that differs is named, with how far it has come"""
        def change(plain):
            plain[2]["kept"]["average.last"] = [1.96]
        self.assertIn("step 2 is not that of plain PyTorch: "
                      "\"average.last\" is 0.02 apart, after a way of 0.04",
                      self.said(change))

    def test_buffer(self):
        """a buffer that is -inf in only one of them is named"""
        def change(plain):
            plain[1]["kept"]["buffer.mask"] = [0.0, 0.0]
        self.assertIn("step 1 is not that of plain PyTorch: \"buffer.mask\"",
                      self.said(change))

    def test_later(self):
        """rates and the mean loss are compared behind the first steps"""
        ours, plain = notes(30), notes(30)
        plain[25]["loss"] = 0.13  # one step is chance
        self.assertIsNone(compare.difference(ours, plain))
        plain[26]["rates"] = [[0.01, 0.2]]
        self.assertIn("step 26 is not that of plain PyTorch: the learning "
                      "rate is 0.1, there 0.01",
                      compare.difference(ours, plain))
        plain = notes(30)
        for step in plain[21:]:
            step["loss"] *= 1.2
        self.assertIn("steps 21 to 30 are not those of plain PyTorch: the "
                      "loss is 0.1192 on average, there 0.143",
                      compare.difference(ours, plain))

    def test_resized(self):
        """an average that is another one on two ranks is named"""
        one, two = notes(), notes()
        two[3]["weights"]["first"] = [1.25, -1.33]  # noise is another one
        self.assertIsNone(compare.resized(one, two))
        two[3]["kept"]["average.first"] = [1.06]
        self.assertIn("\"average\" has moved 0.082 times as far as the "
                      "weights in 3 steps on one rank",
                      compare.resized(one, two))

    def test_handed_over(self):
        """what is registered begins as it did in the other run"""
        model, tensor = torch.nn.Linear(2, 2), torch.ones(2)
        others = torch.nn.Linear(2, 2), torch.zeros(2), Average(0.0)
        extra = [("tensor", others[1]), ("average", others[2])]
        with tempfile.TemporaryDirectory() as folder, \
                mock.patch.object(rehearsal, "_folder", folder):
            rehearsal._save([model.state_dict(), tensor,
                             Average(4.0).state_dict()])
            rehearsal.load(others[0], extra)
        self.assertTrue(torch.equal(others[0].weight, model.weight))
        self.assertEqual(others[1].tolist(), [1.0, 1.0])
        self.assertEqual(others[2].tensor.tolist(), [4.0, 4.0, 4.0])

    def test_names(self):
        """every name of the package has a plain one"""
        for name in pollux._WHERE:
            self.assertTrue(callable(getattr(plain, name)), name)


if __name__ == "__main__":
    unittest.main()
