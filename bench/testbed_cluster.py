# SPDX-License-Identifier: MIT
"""The private clusters of testbed, and a replay on one of them."""

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time


class Failure(Exception):
    """A sentence for the user."""


class Workplace:
    """A folder for all that is written, gone at the end."""

    def __init__(self, srcdir, builddir, keep):
        self.builddir = os.path.abspath(builddir)
        self.keep = keep
        self.sandbox = None
        libs = [f"{self.builddir}/src/agent/.libs"]
        if os.environ.get("LD_LIBRARY_PATH"):
            libs.append(os.environ["LD_LIBRARY_PATH"])
        path = [f"{self.builddir}/src/{d}"
                for d in ("launcher", "report", "sandbox")]
        self.env = dict(
            os.environ, PATH=":".join(path + [os.environ["PATH"]]),
            LD_LIBRARY_PATH=":".join(libs),
            POLLUX_SANDBOX_LIB=os.path.abspath(f"{srcdir}/src/sandbox/lib"),
            POLLUX_PLUGIN_PATH=f"{self.builddir}/src/plugins/.libs")
        # What is inside libtool's script, where there is one.
        self.trainee = next(
            (p for p in (f"{self.builddir}/bench/.libs/trainee",
                         f"{self.builddir}/bench/trainee")
             if os.access(p, os.X_OK)), None)
        if not self.trainee:
            raise Failure(f"nothing is built in {self.builddir}; it wants MPI")

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="pollux-testbed.")
        os.chmod(self.dir, 0o755)
        return self

    def __exit__(self, *_):
        self.down()
        if self.keep:
            print(f"kept {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def run(self, program, *args):
        """Output of a program, of the build tree if it has a slash."""
        if "/" in program:
            program = os.path.join(self.builddir, program)
        done = subprocess.run([program, *args], env=self.env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().split("\n")[-1]
            raise Failure(f"{os.path.basename(program)} failed: {said}")
        return done.stdout

    def up(self, name, *args):
        self.sandbox = self.path(name)
        self.run("pollux-sandbox", "--dir", self.sandbox, "up", "--owner",
                 str(os.getpid()), *args)

    def sb(self, *args):
        return self.run("pollux-sandbox", "--dir", self.sandbox, "exec", *args)

    def down(self):
        if self.sandbox:
            subprocess.run(["pollux-sandbox", "--dir", self.sandbox, "down"],
                           env=self.env, stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
        self.sandbox = None


def say(text):
    print(text, flush=True)


def parameters(o, scheduler):
    """Slurm's periods, shortened as time is."""
    if scheduler == "backfill":
        return ["--params", "bf_interval=1,sched_interval=1"]
    interval = max(0.1, 60 / o.compress)
    text = f"bf_interval=1,sched_interval=1,pollux_interval={interval:g}," \
        "pollux_min_gap=0.3,pollux_weigh=left"
    return ["--params", text + ("," + o.params if o.params else "")]


def submit(place, o, job, scheduler):
    """Hand a job in; its number."""
    train = f"{place.trainee} --traces={os.path.abspath(o.traces)} " \
        f"--app={job['app']} --compress={o.compress:g}"
    if scheduler == "backfill":
        nodes = math.ceil(job["gpus"] / o.gpus_per_node)
        train += f" --batch={job['batch']}"
        # As a user who knows: half as long again, and time to start.
        minutes = math.ceil((1.5 * job["alone"] / o.compress + 20) / 60)
        how = [f"-N{nodes}", f"--ntasks={job['gpus']}", "--gpus-per-task=1",
               f"--time={minutes}"]
    else:
        how = ["--scheduler-params=pollux,max=16"]
    folder = f"{place.sandbox}-{job['name']}"
    out = place.sb(
        "sbatch", "--parsable", "-J", job["name"], "-o", folder + ".out",
        "-D", place.dir, *how, "--wrap",
        f"srun -n1 -N1 --overlap pollux-launch --quiet "
        f"--checkpoint-dir {folder} {train}")
    return out.strip()


def alive(place):
    return [line for line in place.sb("squeue", "-h", "-o", "%i").split()]


def report(place, count):
    """sacct is a moment behind: wait until it knows every job's end."""
    end = time.monotonic() + 60
    while True:
        text = place.sb("pollux-report", "--json", "--since", "now-3hours")
        jobs = json.loads(text)["jobs"]
        ended = [j for j in jobs if j["end"] and j["state"] not in
                 ("RUNNING", "PENDING", "RESIZING")]
        if len(ended) == count or time.monotonic() > end:
            return jobs
        time.sleep(1)


def replay(place, o, jobs, scheduler):
    """All jobs under a scheduler, to their ends; pollux-report's rows."""
    say(f"\nsched/{scheduler}: {len(jobs)} jobs")
    place.up(scheduler, "--nodes", str(o.nodes), "--gpus-per-node",
             str(o.gpus_per_node), "--cpus-per-node",
             str(2 * o.gpus_per_node), "--scheduler", scheduler,
             *parameters(o, scheduler))
    begin = told = time.monotonic()
    later = list(jobs)
    left = []
    most = begin + 4 * sum(j["alone"] for j in jobs) / o.compress + 600
    while later or left:
        now = time.monotonic()
        while later and later[0]["submit"] / o.compress <= now - begin:
            submit(place, o, later.pop(0), scheduler)
        left = alive(place)
        if now - told >= 15:
            told = now
            say(f"  {now - begin:4.0f} s: {len(left)} jobs there, "
                f"{len(later)} to come")
        if now > most:
            raise Failure(f"jobs are still there after {now - begin:.0f} s")
        time.sleep(0.25)
    rows = report(place, len(jobs))
    place.down()
    return rows
