# SPDX-License-Identifier: MIT
"""Which notes of a rehearsal are those of one training, and which are not."""

import copy
import math
import unittest

import pollux
from pollux import compare, plain


def notes(count=3):
    """As of rehearsal.Notes: two tensors that walk."""
    steps = [{"step": 0, "weights": {"first": [1.0, -1.0], "last": [2.0]}}]
    for step in range(1, count + 1):
        steps.append({
            "step": step, "loss": 3.0 / step, "rates": [[0.1, 0.2]],
            "weights": {"first": [1.0 + 0.1 * step, -1.0 - 0.1 * step],
                        "last": [2.0 - 0.1 * step]}})
    return steps


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

    def test_names(self):
        """every name of the package has a plain one"""
        for name in pollux._WHERE:
            self.assertTrue(callable(getattr(plain, name)), name)


if __name__ == "__main__":
    unittest.main()
