# SPDX-License-Identifier: MIT
"""The example of another framework, by pollux-launch without Slurm.

    python3 frameworks.py NAME gpu|cpu

gpu: one rank to its end. cpu: on processors, one rank that becomes two in
mid-training. Prints a line of JSON; exit code 1, with what was said, where
something is wrong.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 200  # of each example, with any number of ranks


class Wrong(Exception):
    """And why."""


class Launched:
    """One example, in a folder of its own."""

    def __init__(self, name, folder, **more):
        self.name, self.folder = name, folder
        self.env = dict(os.environ, XDG_RUNTIME_DIR=folder, EPOCHS="5",
                        STEPS=str(STEPS), PYTHONUNBUFFERED="1", **more)
        with open(self.path("slow"), "w"), \
                open(self.path("said"), "w") as said:
            self.process = subprocess.Popen(
                ["pollux-launch", "--local", "--params=max=2",
                 "--name=" + name, sys.executable, HERE + "/paced.py",
                 "%s/examples/with_%s.py" % (HERE, name)],
                cwd=folder, env=self.env, stdin=subprocess.DEVNULL,
                stdout=said, stderr=subprocess.STDOUT)

    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self):
        with open(self.path("said"), errors="replace") as file:
            return file.read()

    def rank(self, rank, ranks):
        """Steps, checksum and device; None: it has not begun."""
        with contextlib.suppress(FileNotFoundError):
            with open(self.path("%d-of-%d" % (rank, ranks))) as file:
                steps, crc, device = file.read().split()
            return int(steps), crc, device
        return None

    def wait_for(self, rank, ranks, steps):
        while (self.rank(rank, ranks) or (0,))[0] < steps:
            if self.process.poll() is not None:
                raise Wrong("rank %d of %d did not take %d steps" % (
                    rank, ranks, steps))
            time.sleep(0.1)

    def resize(self, ranks):
        """Again, until the launcher has seen that it catches signals."""
        while subprocess.run(
                ["pollux-launch", "--job=" + self.name,
                 "--resize=%d" % ranks], env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.STDOUT).returncode != 0:
            if self.process.poll() is not None:
                raise Wrong("it was not resized")
            time.sleep(0.2)

    def hurry(self):
        os.remove(self.path("slow"))

    def end(self, ranks):
        """Each rank says so, and the launcher's exit code is 0."""
        if self.process.wait() != 0:
            raise Wrong("exit code %d" % self.process.returncode)
        if self.said().count("trained ") != ranks:
            raise Wrong("not all of %d ranks say what they trained" % ranks)


def on_gpu(launched):
    launched.hurry()
    launched.end(1)
    steps, _crc, device = launched.rank(0, 1)
    if steps != STEPS or device != "cuda":
        raise Wrong("%d steps on %s" % (steps, device))
    return {"steps": steps}


def resized(launched):
    begin = time.monotonic()
    launched.wait_for(0, 1, 5)
    started = time.monotonic()
    launched.resize(2)
    for rank in (0, 1):
        launched.wait_for(rank, 2, 5)
    again = time.monotonic()
    launched.hurry()
    launched.end(2)
    alone, first, second = [launched.rank(*which)
                            for which in ((0, 1), (0, 2), (1, 2))]
    if first[:2] != second[:2]:
        raise Wrong("the ranks have come apart: %s, %s" % (first, second))
    # Lightning before 2.5 trains the batch again after which it has saved.
    if not STEPS <= alone[0] + first[0] <= STEPS + 1:
        raise Wrong("%d steps before and %d after, want %d in all" % (
            alone[0], first[0], STEPS))
    return {"steps_before": alone[0], "steps_after": first[0],
            "start_s": round(started - begin, 1),
            "resize_s": round(again - started, 1)}


def main():
    name, where = sys.argv[1:3]
    # A path of sockets may not be long.
    here = os.getcwd()
    folder = tempfile.mkdtemp(prefix="plx.",
                              dir=here if len(here) < 50 else "/tmp")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    launched = None
    try:
        # Empty, so that no GPU is seen.
        hidden = {} if where == "gpu" else {"CUDA_VISIBLE_DEVICES": ""}
        launched = Launched(name, folder, **hidden)
        found = (on_gpu if where == "gpu" else resized)(launched)
        print(json.dumps(found))
    except Wrong as why:
        print(launched.said()[-3000:])
        print(why)
        sys.exit(1)
    finally:
        if launched and launched.process.poll() is None:
            launched.process.terminate()
            launched.process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
