# SPDX-License-Identifier: MIT
"""What researchers are told, and given, beside the training itself."""

import contextlib
import gc
import io
import os
import signal
import tempfile
import textwrap
import unittest
import unittest.mock
import weakref

import pollux

import torch
import torch.distributed as dist
from pollux import checkup, environment

from common import SAMPLES, Points, loss_of
from test_alone import Alone, start, train


class Asked(unittest.TestCase):
    """Of ranks that are connected by torch.distributed, with Gloo."""

    def setUp(self):
        self.sent = []  # weak references to what Gloo was given
        self.handler = signal.getsignal(signal.SIGUSR1)
        self.folder = tempfile.TemporaryDirectory()
        store = dist.FileStore(self.folder.name + "/store", 1)
        dist.init_process_group("gloo", store=store, rank=0, world_size=1)

    def tearDown(self):
        dist.destroy_process_group()
        self.folder.cleanup()
        signal.signal(signal.SIGUSR1, self.handler)

    def ask(self, stop):
        """stop.asked(), and nobody but it may keep the tensor."""
        send = dist.all_reduce

        def noted(tensor, **options):
            self.sent.append(weakref.ref(tensor))
            send(tensor, **options)
        with unittest.mock.patch.object(dist, "all_reduce", noted):
            return stop.asked()

    def test_kept(self):
        """what Gloo's thread may still hold is kept when asked() is over"""
        stop = pollux.Stop()
        self.assertFalse(self.ask(stop))
        gc.collect()
        self.assertIsNotNone(self.sent[0]())
        os.kill(os.getpid(), signal.SIGUSR1)
        self.assertTrue(self.ask(stop))
        self.assertEqual(float(self.sent[1]()), 1.0)

    def test_kept_to_the_end(self):
        """also where the script's function, and its Stop, are over"""
        self.ask(pollux.Stop())
        gc.collect()
        self.assertIsNotNone(self.sent[0]())


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


class Measured(Alone):
    def test_whole_epoch(self):
        """metrics are means over all samples, also of an interrupted epoch"""
        with tempfile.TemporaryDirectory() as folder:
            options = {"checkpoint_dir": folder, "checkpoint_every_s": 0.0}
            self.count(options, stop_at=3)
            pollux.finish()
            self.assertEqual(self.count(options),
                             {"number": (SAMPLES - 1) / 2, "one": 1.0})

    def count(self, options, stop_at=0):
        run, loader, model, optimizer = start(options=options, shuffle=True)
        metrics = pollux.Metrics()
        for _epoch in run.epochs(1):
            for step, (numbers, inputs, targets) in enumerate(loader):
                loss_of(model, inputs, targets).backward()
                optimizer.step()
                metrics.add("number", numbers.sum(), len(numbers))
                metrics.add("one", len(numbers), len(numbers))
                if step + 1 == stop_at:
                    run.checkpoint()
                elif stop_at and step == stop_at:
                    return None
            return metrics.take()

    def test_skipped(self):
        """a step that was given up adds nothing"""
        run, loader, model, optimizer = start(
            options={"max_gpu_batch": 8, "accumulate": True})
        metrics = pollux.Metrics()
        for _epoch in run.epochs(1):
            for step, (numbers, inputs, targets) in enumerate(loader):
                loss = loss_of(model, inputs, targets)
                (loss * (float("nan") if step == 2 else 1)).backward()
                optimizer.step()
                metrics.add("count", len(numbers), 0)
                metrics.add("nan", float("nan") if step == 2 else 1.0)
        self.assertEqual(metrics.take()["nan"], 1.0)

    def test_none(self):
        """of no samples the mean is not a number, and none is added twice"""
        start()
        metrics = pollux.Metrics()
        metrics.add("none", 0.0, 0)
        metrics.add("two", torch.tensor(4.0), 2)
        self.assertEqual(metrics.means()["two"], 2.0)
        taken = metrics.take()
        self.assertEqual(taken["two"], 2.0)
        self.assertNotEqual(taken["none"], taken["none"])
        self.assertEqual(metrics.take(), {})


class Evaluated(Alone):
    def parts(self, ranks, count, **options):
        """What each of so many ranks evaluates."""
        found = []
        for rank in range(ranks):
            environment.set_known((rank, ranks))
            loader = pollux.EvaluationLoader(Points(count), 4, **options)
            batches = [own.tolist() for own, _inputs, _targets in loader]
            self.assertEqual(len(batches), len(loader))
            found.append(sum(batches, []))
        environment.set_known(None)
        return found

    def test_once(self):
        """each sample is evaluated once, whatever the number of ranks"""
        start()
        for ranks in (1, 2, 3, 7):
            for count in (1, 6, 37):
                parts = self.parts(ranks, count)
                self.assertEqual(sorted(sum(parts, [])), list(range(count)))
                sizes = [len(part) for part in parts]
                self.assertLessEqual(max(sizes) - min(sizes), 1)

    def test_workers(self):
        """workers read them, too"""
        start()
        parts = self.parts(2, 9, num_workers=1)
        self.assertEqual(sorted(sum(parts, [])), list(range(9)))

    def test_refused(self):
        """what would leave samples out, or shuffle them, is refused"""
        start()
        for name in ("shuffle", "drop_last"):
            with self.assertRaisesRegex(pollux.Error, name):
                pollux.EvaluationLoader(Points(), 4, **{name: True})


class Checked(unittest.TestCase):
    def found(self, body, head="import pollux"):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
            file.write(head + "\n" + textwrap.dedent(body))
            file.flush()
            return [(f.state, f.name, f.text.split(":")[0])
                    for f in checkup.script(file.name)]

    def test_each(self):
        """each line that will not work is named with its number"""
        cases = [
            ("DistributedSampler(data)", "wrong", "sampler"),
            ("dist.init_process_group('gloo')", "wrong", "torchrun"),
            ("torch.nn.parallel.DistributedDataParallel(m)", "wrong", "ddp"),
            ("FullyShardedDataParallel(m)", "wrong", "sharding"),
            ("import deepspeed", "wrong", "sharding"),
            ("pollux.DataLoader(d, 64 // ranks)", "warning", "batch"),
            ("pollux.DataLoader(d, 64, drop_last=True)", "wrong",
             "drop_last"),
            ("o.step(lambda: 1)", "warning", "closure"),
            ("for b in l: p.requires_grad = True", "warning", "unfreeze"),
            ("for b in l: m.requires_grad_()", "warning", "unfreeze"),
            ("for b in l: o.add_param_group(g)", "wrong", "unfreeze"),
            ("for b in l:\n    if i % 4 == 0:\n        o.step()", "wrong",
             "accumulate"),
            ("for b in l:\n    last = i % 4 == 3\n    if last: o.step()",
             "wrong", "accumulate"),
            ("signal.signal(signal.SIGTERM, save)", "warning", "sigterm"),
            ("l = pollux.DataLoader(d)\nprint(total / len(l))", "warning",
             "mean"),
            ("o = pollux.Optimizer(o)\no.load_state_dict(saved['o'])",
             "warning", "checkpoint"),
            ("s.o = pollux.LRScheduler(o)\ns.o.load_state_dict(saved['o'])",
             "warning", "checkpoint"),
        ]
        for body, state, name in cases:
            found = self.found(body)
            self.assertEqual([f[:2] for f in found], [(state, name)], body)
            self.assertRegex(found[0][2], r"line [2-5]$")

    def test_nothing(self):
        """what works is not named"""
        for body in ("pollux.DistributedDataParallel(m)",
                     "pollux.DataLoader(d, 64, drop_last=False)",
                     "for b in l:\n    o.step()\n    plateau.step(loss)",
                     "for b in l:\n    if i % 9 == 0: print(i)",
                     "for b in l:\n    if i % 5 == 0:\n"
                     "        loss.backward()\n        generator.step()",
                     "for e in es:\n    if e % 9 == 0: scheduler.step()",
                     "signal.signal(signal.SIGUSR1, save)",
                     "o = pollux.Optimizer(o)\nm.load_state_dict(pretrained)",
                     "signal.signal(signal.SIGTERM, signal.SIG_DFL)",
                     "l = torch.utils.data.DataLoader(d)\nt / len(l)",
                     "l = pollux.DataLoader(d)\nprint(i / len(d), len(l))",
                     "l = pollux.DataLoader(d)\nt / len()",
                     "m.requires_grad_(True)",
                     "for b in l: m.requires_grad_(False)"):
            self.assertEqual([f[:2] for f in self.found(body)],
                             [("ok", "script")], body)

    def test_own_loop(self):
        """a loop that only asks whether to stop keeps what is PyTorch's"""
        loop = """
            dist.init_process_group('gloo')
            model = torch.nn.parallel.DistributedDataParallel(m)
            sampler = DistributedSampler(data)
            for b in l:
                if i % 4 == 0:
                    o.step()
                ASKS"""
        for asks, head in (
                ("if stop.asked(): stop.leave()", "import pollux"),
                ("pass", "from pollux.accelerated import Resumable")):
            head += "\nstop = pollux.Stop()" * ("stop" in asks)
            self.assertEqual([f[:2] for f in self.found(
                loop.replace("ASKS", asks), head)],
                             [("ok", "script")], head)

    def test_no_pollux(self):
        """a script without pollux is told what becomes of it"""
        self.assertEqual([f[:2] for f in self.found(
            "DistributedSampler(d)", "import torch")], [("warning", "script")])

    def test_broken(self):
        """one that is no Python is wrong"""
        self.assertEqual(self.found("for")[0][:2], ("wrong", "script"))


if __name__ == "__main__":
    unittest.main()
