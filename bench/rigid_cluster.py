# SPDX-License-Identifier: MIT
"""Private clusters with sched/pollux or sched/backfill; for bench/rigid."""

import datetime
import os
import subprocess

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCE = os.environ.get("POLLUX_SRCDIR", os.path.dirname(HERE))
BUILD = os.environ.get("POLLUX_BUILDDIR", SOURCE)
SANDBOX = BUILD + "/src/sandbox/pollux-sandbox"
LIGHT = BUILD + "/tests/light"
SLURMDS = BUILD + "/bench/slurmds"


def use_build_tree():
    os.environ["POLLUX_SANDBOX_LIB"] = SOURCE + "/src/sandbox/lib"
    os.environ["POLLUX_PLUGIN_PATH"] = BUILD + "/src/plugins/.libs"


def answered(gpus):
    """Options of a cluster whose nodes one process answers for."""
    return ["--slurmds", SLURMDS, "--cpus-per-node", str(8 * gpus),
            "--conf-extra", "TreeWidth=65533", "--ready-timeout", "300"]


def seconds(text):
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


class Cluster:
    """Of nodes with GPUs each; wait_up() before anything else."""

    def __init__(self, scheduler, folder, size, options=()):
        self.scheduler = scheduler
        self.dir = f"{folder}/{scheduler}"
        self.env = None
        # Jobs without accounting cannot have their comment set.
        books = ["--no-accounting"] if scheduler == "backfill" and \
            "--like" not in options else []
        self.up = subprocess.Popen(
            [SANDBOX, "up", "--dir", self.dir, "--scheduler", scheduler,
             *books, "--nodes", str(size[0]), "--gpus-per-node", str(size[1]),
             "--owner", str(os.getpid()), "--conf-extra", "MinJobAge=86400",
             *options],
            stdout=subprocess.DEVNULL)

    def wait_up(self):
        if self.up.wait():
            raise SystemExit(f"rigid: the sandbox of {self.scheduler} "
                             "did not start")
        text = subprocess.run([SANDBOX, "exec", "--dir", self.dir, "env",
                               "-0"], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        self.env = dict(line.split("=", 1) for line in text.split("\0")
                        if "=" in line)

    def run(self, *command):
        return subprocess.run(command, check=True, text=True, env=self.env,
                              stdout=subprocess.PIPE).stdout

    def submit(self, name, options, command):
        self.run("sbatch", "-o", "/dev/null", "-J", name, *options, "--wrap",
                 command)

    def jobs(self, prefix):
        """By name: state, start, submission and end (s)."""
        found = {}
        for line in self.run("squeue", "-h", "-t", "all", "-o",
                             "%j|%T|%S|%V|%e").split("\n"):
            if line.startswith(prefix):
                name, state, *times = line.split("|")
                found[name] = (state, *map(seconds, times))
        return found

    def clear(self):
        self.run("scancel", "-u", str(os.getuid()))

    def down(self):
        subprocess.run([SANDBOX, "down", "--dir", self.dir], check=False,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
