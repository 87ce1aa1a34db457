# SPDX-License-Identifier: MIT
"""What is wrong is told in a sentence."""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

import pollux
import torch
from pollux import library

from common import Points, loss_of, network, sgd
from test_alone import Alone, start, train

SOURCE = os.path.join(os.path.dirname(__file__), "..", "..", "..", "src")
HEADER = os.path.join(SOURCE, "agent", "pollux.h")


class Refused(Alone):
    def refused(self, sentence, function, *args, **kwargs):
        with self.assertRaisesRegex(pollux.Error, sentence):
            function(*args, **kwargs)

    def test_option(self):
        """an option that does not exist"""
        self.refused('no option "batchsize"', pollux.init, batchsize=3)

    def test_twice(self):
        """two runs, models or loaders"""
        run, loader, model, _optimizer = start()
        self.refused("called twice", pollux.init)
        self.refused("second model", pollux.DistributedDataParallel,
                     network())
        self.refused("second pollux.DataLoader", pollux.DataLoader, Points())

    def test_parts(self):
        """training without a model"""
        loader = pollux.DataLoader(Points())
        self.refused("needs a pollux.DataLoader, a", next, iter(loader))

    def test_epochs(self):
        """training without a number of epochs"""
        parts = start(options={"epochs": None})
        self.refused("how many epochs", next, iter(parts[1]))

    def test_batching(self):
        """a loader that would lose samples, or has none"""
        self.refused("drop_last", pollux.DataLoader, Points(), drop_last=True)
        self.refused("1 <= batch_size", pollux.DataLoader, Points(), 8,
                     max_batch_size=4)
        self.refused("no samples", pollux.DataLoader, [])

    def test_stream(self):
        """a stream without its length, or with workers"""
        class Endless(torch.utils.data.IterableDataset):
            def __iter__(self):
                return iter(lambda: torch.zeros(1), None)
        self.refused("samples= is missing", pollux.DataLoader, Endless())
        self.refused("leave it out", pollux.DataLoader, Endless(),
                     samples=9, num_workers=1)

    def test_configuration(self):
        """what libpollux refuses, in its words"""
        self.refused("lr_scaling", train, start(
            options={"lr_scaling": "cubic"}), 1)

    def test_counting(self):
        """a way of counting that does not exist"""
        self.refused("counting is", train,
                     start(options={"counting": "steps"}), 1)

    def test_step(self):
        """step() before backward()"""
        _run, loader, _model, optimizer = start()
        self.refused("without a backward", optimizer.step)
        for _batch in loader:
            self.refused("without a backward", optimizer.step)
            break

    def test_body(self):
        """a loop's body without backward()"""
        run, loader, _model, _optimizer = start()
        with self.assertRaisesRegex(pollux.Error, "without a backward"):
            for _epoch in run.epochs(20):
                for _batch in loader:
                    pass
        self.assertEqual(run.info().step, 63)

    def test_second_backward(self):
        """a second backward() in one pass"""
        _run, loader, model, optimizer = start()
        for _own, inputs, targets in loader:
            loss = loss_of(model, inputs, targets)
            loss.backward(retain_graph=True)
            self.refused("second backward", loss.backward)
            break

    def test_late(self):
        """whatever comes after training has begun"""
        run, loader, _model, optimizer = start()
        next(iter(loader))
        self.refused("after training has begun", run.register, "x",
                     torch.zeros(1))
        self.refused("after training has begun", optimizer.load_state_dict,
                     {})

    def test_tensor(self):
        """state that has gaps in memory"""
        parts = start()
        parts[0].register("column", torch.zeros(4, 4)[:, 1])
        self.refused("not dense", train, parts, 1)

    def test_replaced(self):
        """an optimiser that puts other tensors in place of its state"""
        def make(model):
            inner = sgd(model)
            step = inner.step

            def replacing():
                step()
                for state in inner.state.values():
                    state["momentum_buffer"] = \
                        state["momentum_buffer"].clone()
            inner.step = replacing
            return inner
        self.refused("replaces the tensors", train,
                     start(make), 1)

    def test_no_library(self):
        """a library that is not there"""
        done = subprocess.run(
            [sys.executable, "-m", "pollux"], stderr=subprocess.PIPE,
            env={**os.environ, "POLLUX_LIBRARY": "/nowhere/libpollux.so.0"})
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), "^pollux: libpollux cannot be "
                         "loaded.*/nowhere/libpollux.so.0")


@unittest.skipUnless(os.path.exists(HEADER), "no source here")
class Layout(unittest.TestCase):
    """ctypes' structs are those of pollux.h."""

    STRUCTS = {
        "pollux_lr_state": library.LrState,
        "pollux_config": library.Config,
        "pollux_tensor": library.Tensor,
        "pollux_blob": library.Blob,
        "pollux_bucket": library.Bucket,
        "pollux_pass": library.Pass,
        "pollux_info": library.CInfo,
    }

    def source(self):
        lines = ["#include <stdio.h>", '#include "agent/pollux.h"',
                 "int main(void) {"]
        for name, struct in self.STRUCTS.items():
            lines.append('printf("%s %%zu\\n", sizeof(struct %s));'
                         % (name, name))
            for field, *_type in struct._fields_:
                lines.append('printf("%s.%s %%zu\\n", offsetof(struct %s, '
                             '%s));' % (name, field, name, field))
        return "\n".join(lines + ["return 0; }"])

    def measured(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "layout")
            with open(path + ".c", "w") as out:
                out.write(self.source())
            try:
                subprocess.run(["gcc", "-I", SOURCE, "-o",
                                path, path + ".c"], check=True)
            except FileNotFoundError:
                self.skipTest("no gcc")
            return subprocess.check_output([path]).decode().split("\n")

    def test_offsets(self):
        """every field is where the C compiler puts it"""
        expected = []
        for name, struct in self.STRUCTS.items():
            expected.append("%s %d" % (name, ctypes.sizeof(struct)))
            expected += ["%s.%s %d" % (name, field,
                                       getattr(struct, field).offset)
                         for field, *_type in struct._fields_]
        self.assertEqual(self.measured()[:-1], expected)

    def test_functions(self):
        """every function of pollux.h is known, with no other"""
        with open(HEADER) as header:
            declared = set(re.findall(r"^[a-z].*?\b(pollux_\w+)\(",
                                      header.read(), re.MULTILINE))
        declared -= {"pollux_lr_rule", "pollux_seek"}
        # Not for trainings in Python.
        declared -= {"pollux_reduce", "pollux_step", "pollux_hold",
                     "pollux_register_domain_sized"}
        self.assertEqual(declared, set(library.FUNCTIONS))


if __name__ == "__main__":
    unittest.main()
