# SPDX-License-Identifier: MIT
"""What researchers are told, and given, beside the training itself."""

import contextlib
import io
import os
import tempfile
import unittest

import pollux

import common
from common import Points, schedule
from test_alone import Alone, start, train


class Told(Alone):
    def stopped_and_changed(self, change, quiet=False):
        """A run that was stopped goes on, changed: what it says."""
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            train(start(options=options), 3, stop_at=2)
            pollux.finish()
            parts = start(options={**options, "quiet": quiet})
            change(parts[3].inner)
            with contextlib.redirect_stderr(said):
                train(parts, 3)
        return said.getvalue()

    def test_overridden(self):
        """the options that a reused folder overrides are named"""
        def change(optimizer):
            optimizer.param_groups[0].update(lr=0.3, momentum=0.8)
        said = self.stopped_and_changed(change)
        self.assertIn("optimizer: momentum 0.9, not 0.8", said)
        self.assertIn("optimizer: lr 0.05, not 0.3", said)

    def test_schedule_is_no_override(self):
        """a schedule that has moved the learning rate is not"""
        self.assertNotIn("checkpoint says is used", self.stopped_and_changed(
            lambda optimizer: None))

    def test_quiet(self):
        """a quiet run names none"""
        def change(optimizer):
            optimizer.param_groups[0].update(momentum=0.8)
        self.assertEqual(self.stopped_and_changed(change, quiet=True), "")


if __name__ == "__main__":
    unittest.main()
