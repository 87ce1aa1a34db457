# SPDX-License-Identifier: MIT
"""pollux-launch --local --rehearse: does a script come through it all?

    python3 -m pollux.rehearse PROGRAM ARGUMENTS...

Runs it for about a minute, in a folder of its own: at the size that the
script wants on one rank, its first steps again by PyTorch alone (plain.py), on
two ranks, then fewer and more ranks, one that
is killed, and a resize at the end of an epoch. "ready", or a line a problem.
A training that would be over by then is slowed down.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Optional

from . import compare, rehearsal

STEPS = rehearsal.STEPS  # whose losses are compared
APART = 0.1  # as a part: more, and two ranks train something else
WAIT_S = float(os.environ.get("POLLUX_REHEARSAL_WAIT", 60))
LOOK_S = 0.2
JOIN_S = 5  # from a rank's pollux_start() to the launcher's next request

# What pollux-rank tells a rank that is alone.
SOLE_RANK = {"RANK": "0", "LOCAL_RANK": "0", "GROUP_RANK": "0",
             "ROLE_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1",
             "GROUP_WORLD_SIZE": "1", "ROLE_WORLD_SIZE": "1"}


class Problem(Exception):
    """One line about what does not work."""


def _lines_of(said: bytes) -> List[str]:
    """Without the NUL byte with which Open MPI 5 tells of an MPI_Abort()."""
    return said.replace(b"\0", b"").decode(errors="replace").splitlines()


class Job:
    """The script under pollux-launch --local, in a folder of its own."""

    def __init__(self, program: List[str], ranks: int, folder: str,
                 part: str) -> None:
        self._folder = folder
        self.name = "rehearsal-%d-%d" % (os.getpid(), ranks)
        os.makedirs(folder)
        if part == rehearsal.TOGETHER:
            self.mark(rehearsal.SLOWLY)
        self._said = open(os.path.join(folder, "said"), "w+b")
        self._launcher = subprocess.Popen(
            ["pollux-launch", "--local", "--name=" + self.name, "-n",
             str(ranks), "--params=min=1,max=2", "--no-progress", "-d",
             os.path.join(folder, "run"), *program],
            stdin=subprocess.DEVNULL, stdout=self._said, stderr=self._said,
            env={**os.environ, rehearsal.VARIABLE: folder,
                 rehearsal.PART: part})

    def said(self) -> List[str]:
        with open(os.path.join(self._folder, "said"), "rb") as file:
            return _lines_of(file.read())

    def _lines(self, name: str) -> List[List[str]]:
        """Words of what ranks have noted so far."""
        try:
            with open(os.path.join(self._folder, name)) as file:
                return [line.split() for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def losses(self) -> Dict[int, Optional[float]]:
        """By step, over all ranks: None where no backward() shows one.

        Of a step that was trained again, what came last.
        """
        lines = self._lines(rehearsal.LOSSES)
        steps: Dict[int, Dict[int, Any]] = {}
        for step, rank, ranks, samples, loss in lines:
            of_step = steps.setdefault(int(step), {})
            of_step[int(rank)] = (int(samples), None if loss == "-"
                                  else float(loss))
            for gone in [r for r in of_step if r >= int(ranks)]:
                del of_step[gone]
            of_step[-1] = int(ranks)
        return {step: rehearsal.mean([of_step[r] for r in of_step if r >= 0])
                for step, of_step in steps.items()
                if len(of_step) == of_step[-1] + 1}

    def mark(self, what: str, on: bool = True) -> None:
        """For the ranks to see."""
        path = os.path.join(self._folder, what)
        if on:
            open(path, "w").close()
        elif os.path.exists(path):
            os.remove(path)

    def has_ended(self) -> bool:
        return self._launcher.poll() == 0

    def between(self) -> List[int]:
        """Steps after which no step was under way so far."""
        return [int(step) for step, in self._lines(rehearsal.BETWEEN)]

    def first_step(self, ranks: int, after: int) -> int:
        """On so many ranks."""
        return min(int(line[0]) for line in self._lines(rehearsal.LOSSES)
                   if int(line[0]) > after and int(line[2]) == ranks)

    def tell(self, request: str) -> str:
        done = subprocess.run(["pollux-launch", "--job=" + self.name,
                               request], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode(errors="replace").strip()

    def _let_go(self, arrived: int) -> None:
        until = time.monotonic() + rehearsal.HOLD_S
        while len(self._lines(rehearsal.ARRIVED)) == arrived and \
                time.monotonic() < until:
            time.sleep(LOOK_S)
        time.sleep(JOIN_S)
        self.mark(rehearsal.HOLD, False)

    def _tell_meanwhile(self, request: str) -> str:
        """Rank 0, which is held, goes on when the next ranks wait for it."""
        arrived = len(self._lines(rehearsal.ARRIVED))
        thread = threading.Thread(target=self._let_go, args=(arrived,))
        thread.start()
        try:
            return self.tell(request)
        finally:
            thread.join()

    def last_words(self, otherwise: str) -> str:
        """The most telling of what was said."""
        errors = [line.strip() for line in self.said() if "Error" in line]
        return errors[-1] if errors else otherwise

    def _last(self) -> str:
        lines = [line.strip() for line in self.said() if line.strip()]
        return lines[-1] if lines else "it said nothing"

    def wait(self, what: str, so: Callable[[], bool],
             wait_s: float = WAIT_S) -> None:
        until = time.monotonic() + wait_s
        while not so():
            if self._launcher.poll() is not None:
                if self._launcher.returncode == 0:
                    raise Problem("the training ends before %s: rehearse it "
                                  "with more epochs" % what)
                raise Problem("the job ends before %s: %s"
                              % (what, self.last_words(self._last())))
            if time.monotonic() > until:
                raise Problem("waited %.0f s for %s: %s"
                              % (wait_s, what, self.last_words(self._last())))
            time.sleep(LOOK_S)

    def trains(self, ranks: int) -> bool:
        status = self.tell("--status")
        return "%d rank" % ranks in status and "training" in status

    def wait_for_steps(self, count: int, what: str) -> None:
        """So many more steps."""
        last = max(self.losses(), default=0)
        self.wait(what, lambda: max(self.losses(), default=0) >= last + count)

    def resize(self, ranks: int, when: str = "") -> None:
        what = "%d rank%s%s" % (ranks, "s" * (ranks > 1), when)
        said = (self._tell_meanwhile if when else self.tell)(
            "--resize=%d" % ranks)
        late = "does not train on %d ranks yet" % ranks
        if "it has %d rank" % ranks not in said and late not in said:
            raise Problem("no resize to %s: %s"
                          % (what, self.last_words(said)))
        self.wait("training on " + what, lambda: self.trains(ranks))
        self.wait_for_steps(2, "a step on " + what)

    def ranks(self) -> Iterator[int]:
        """Process numbers of what pollux-rank has started."""
        below = _children()
        shims = [pid for mpirun in below.get(self._launcher.pid, ())
                 for pid in below.get(mpirun, ())]
        return (rank for shim in shims for rank in below.get(shim, ()))

    def kill_one(self) -> None:
        # Those before the resize may take a moment to leave.
        self.wait("two ranks", lambda: len(list(self.ranks())) == 2)
        os.kill(list(self.ranks())[-1], signal.SIGKILL)
        self.wait("a restart after a rank was killed", lambda: any(
            "restart 1 of" in line for line in self.said()))
        self.wait("training after a rank was killed",
                  lambda: self.trains(2))
        self.wait_for_steps(2, "a step after a rank was killed")

    def stop(self) -> None:
        self.tell("--stop")
        try:
            code = self._launcher.wait(WAIT_S)
        except subprocess.TimeoutExpired:
            raise Problem("it does not stop within %.0f s" % WAIT_S) from None
        if code:
            raise Problem("told to stop it ends with code %d: %s"
                          % (code, self.last_words(self._last())))

    def end(self) -> None:
        """Whatever state it is in."""
        for _ in range(2):  # the second one kills its ranks
            if self._launcher.poll() is None:
                self._launcher.terminate()
                try:
                    self._launcher.wait(WAIT_S)
                except subprocess.TimeoutExpired:
                    continue
        if self._launcher.poll() is None:
            self._launcher.kill()
            self._launcher.wait()
        self._said.close()


def _last_of(path: str) -> str:
    with open(path, "rb") as file:
        lines = [line.strip() for line in _lines_of(file.read())]
    errors = [line for line in lines if "Error" in line]
    return (errors or [line for line in lines if line]
            or ["it said nothing"])[-1]


def _children() -> Dict[int, List[int]]:
    """Of each process."""
    below: Dict[int, List[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError, ValueError):
            continue
        below.setdefault(parent, []).append(int(name))
    return below


def _compare(alone: Dict[int, Optional[float]],
             together: Dict[int, Optional[float]]) -> None:
    """The same batch, on one rank and on two."""
    steps = [s for s in sorted(alone) if s in together][:STEPS]
    if not steps:
        raise Problem("no step was seen on one rank and on two")
    steps = [s for s in steps
             if alone[s] is not None and together[s] is not None]
    if not steps:
        raise Problem("one rank and two are not compared: no backward() "
                      "shows a loss")
    one = sum(alone[s] for s in steps) / len(steps)
    two = sum(together[s] for s in steps) / len(steps)
    said = "loss over the first %d steps: %.4g on one rank, %.4g on two" \
        % (len(steps), one, two)
    print("pollux: " + said, flush=True)
    if not abs(one - two) <= APART * max(abs(one), abs(two)):
        raise Problem(said + ": the ranks train something else")


def _compare_what_is_kept(folder: str) -> None:
    """Averages, on one rank and on two."""
    different = compare.resized(
        rehearsal.read(os.path.join(folder, "one"), rehearsal.RECORDED),
        rehearsal.read(os.path.join(folder, "two"), rehearsal.TOGETHER))
    if different:
        raise Problem(different)


def _compare_with_plain(program: List[str], folder: str) -> None:
    """The recorded steps once more, by PyTorch alone."""
    recorded = rehearsal.read(folder, rehearsal.RECORDED)
    said = os.path.join(folder, "said-plain")
    checkpoints = os.path.join(folder, "run-plain")
    os.makedirs(checkpoints)
    with open(said, "wb") as out:
        try:
            subprocess.run(program, stdin=subprocess.DEVNULL, stdout=out,
                           stderr=out, check=False, timeout=2 * WAIT_S,
                           env={**os.environ, **SOLE_RANK,
                                "POLLUX_CHECKPOINT_DIR": checkpoints,
                                rehearsal.VARIABLE: folder,
                                rehearsal.PART: rehearsal.PLAIN})
        except (OSError, subprocess.TimeoutExpired):
            pass  # its notes tell how far it came
    plain = rehearsal.read(folder, rehearsal.PLAIN)
    different = compare.difference(recorded, plain)
    if different:
        raise Problem(different)
    if len(plain) < len(recorded):
        raise Problem("not compared with plain PyTorch, which trains %d of "
                      "%d steps: %s" % (max(0, len(plain) - 1),
                                        len(recorded) - 1, _last_of(said)))
    print("pollux: " + compare.summary(recorded), flush=True)


def _told(job: Job, problems: List[str]) -> List[str]:
    """What libpollux itself found wrong meanwhile, if no problem says so."""
    for said in ("differs between rank", "has other "):
        lines = [line.strip() for line in job.said() if said in line]
        if lines and not any(said in problem for problem in problems):
            return lines[:1]
    return []


def _act(job: Job, problems: List[str], act: Callable[[], Any]) -> bool:
    """One part of it; False where the job is gone."""
    try:
        act()
        return True
    except Problem as problem:
        problems.append(str(problem))
        return False


def _at_a_boundary(job: Job) -> None:
    """A resize where an epoch ends, which is where validation begins."""
    before = len(job.between())
    job.mark(rehearsal.HOLD)
    job.mark(rehearsal.SLOWLY, False)
    try:
        job.wait("the end of an epoch", lambda: len(job.between()) > before)
    except Problem as problem:
        job.mark(rehearsal.HOLD, False)
        if "waited" not in str(problem):
            raise
        print("pollux: no epoch ended within %.0f s: a resize during "
              "validation is not rehearsed" % WAIT_S, flush=True)
        return
    finally:
        job.mark(rehearsal.SLOWLY)
    step = job.between()[before]
    job.resize(1, ", asked for at the end of an epoch")
    late = job.first_step(1, step) - step - 1
    print("pollux: resized %s, after step %d" % (
        "%d steps late for validation" % late if late else
        "during validation", step), flush=True)


def _enough(job: Job) -> None:
    """Of steps that take long, fewer."""
    begun = time.monotonic()

    def enough() -> bool:
        count = len(job.losses())
        return count >= STEPS or (
            count >= 3 and time.monotonic() - begun > WAIT_S / 3)
    job.wait("its first steps", enough)


def _over_an_epoch(job: Job) -> None:
    """Until the first epoch has ended, if that does not take long."""
    begun = time.monotonic()
    ended_at: List[int] = []

    def over() -> bool:
        count = len(job.losses())
        if job.between() and not ended_at:
            ended_at.append(count)
        return (count >= min(ended_at + [rehearsal.MOST]) + 2 or
                job.has_ended() or time.monotonic() - begun > WAIT_S / 3)
    job.wait("the end of an epoch", over)


def rehearse_alone(program: List[str], folder: str,
                   problems: List[str]) -> Optional[Job]:
    """On one rank, and again without pollux; None: it does not train."""
    alone = Job(program, 1, folder, rehearsal.RECORDED)
    try:
        for act in (lambda: _enough(alone), lambda: _over_an_epoch(alone),
                    alone.stop):
            if not _act(alone, problems, act):
                return None
    finally:
        alone.end()
    _act(alone, problems, lambda: _compare_with_plain(program, folder))
    return alone


def rehearse(program: List[str], folder: str) -> List[str]:
    """The problems, a line each."""
    problems: List[str] = []
    alone = rehearse_alone(program, os.path.join(folder, "one"), problems)
    if alone is None:
        return problems
    job = Job(program, 2, os.path.join(folder, "two"), rehearsal.TOGETHER)
    try:
        for act in (lambda: _enough(job),
                    lambda: _compare(alone.losses(), job.losses()),
                    lambda: _compare_what_is_kept(folder),
                    lambda: job.resize(1), lambda: job.resize(2),
                    job.kill_one, lambda: job.tell("--checkpoint"),
                    lambda: _at_a_boundary(job), job.stop):
            if not _act(job, problems, act):
                break
        problems += _told(job, problems)
    finally:
        job.end()
    return problems


def main(program: Optional[List[str]] = None) -> int:
    program = sys.argv[1:] if program is None else program
    if not program:
        print("usage: python3 -m pollux.rehearse PROGRAM ARGUMENTS...",
              file=sys.stderr)
        return 2
    print("pollux: rehearsing, about a minute: %s" % " ".join(program),
          flush=True)
    folder = tempfile.mkdtemp(prefix="pollux-rehearsal-")
    try:
        problems = rehearse(program, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for problem in problems:
        print("problem: " + problem)
    if not problems:
        print("ready")
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
