# SPDX-License-Identifier: MIT
"""Numbers of a training or an evaluation, gathered over all ranks.

What is added in the body of a training loop belongs to its step: it is summed
over ranks when the step is committed, and saved with it. So a run that is
resized or stopped has counted each sample once. Where a rank is lost, what it
had added to the step under way is lost with it, and the means are over the
rest. What is added elsewhere, as in an evaluation, is summed when it is asked
for.
"""

import zlib
from typing import Any, Dict, List, Optional, Set

from .library import Error
from .run import Run, current

# Sums, by name: of values, and of how many they were.
Sums = Dict[str, List[float]]


def _add(to: Sums, name: str, total: float, count: float) -> None:
    entry = to.setdefault(name, [0.0, 0.0])
    entry[0] += total
    entry[1] += count


class Metrics:
    """Means over all samples that all ranks have seen.

        metrics = pollux.Metrics()          # before training begins
        metrics.add("loss", loss * len(labels), len(labels))
        metrics.take()                      # {"loss": 0.42}, on all ranks

    All ranks add the same names, and take() alike; once a name is known, a
    rank may leave a batch out. Made before training
    begins, it is saved and restored with the run; several need names.
    """

    def __init__(self, name: str = "metrics",
                 run: Optional[Run] = None) -> None:
        self._run = run or current()
        self._done: Sums = {}  # over all ranks
        self._here: Sums = {}  # of this rank, since then
        self._names: Set[str] = set()  # of steps so far, on all ranks alike
        if not self._run.started:
            self._run.register(name, self)
            self._run.attach_metrics(self)

    def add(self, name: str, total: Any, count: float = 1) -> None:
        """A sum over `count` samples: a number or a tensor of one.

        Of a batch that only keeps a rank in step, nothing is counted.
        """
        if self._run.is_filling():
            total, count = 0.0, 0.0
        _add(self._here, name, float(total), float(count))

    def means(self) -> Dict[str, float]:
        """So far, on all ranks alike; of no samples: not a number."""
        self.gather([self])
        return {name: total / count if count else float("nan")
                for name, (total, count) in sorted(self._done.items())}

    def take(self) -> Dict[str, float]:
        """The means, and begin anew."""
        means = self.means()
        self._done = {}
        return means

    # For the run.

    def drop(self) -> None:
        """The step under way does not count."""
        self._here = {}

    def state_dict(self) -> Dict[str, Any]:
        return {"sums": self._done, "names": sorted(self._names)}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self._done = {name: list(sums)
                      for name, sums in state["sums"].items()}
        self._names = set(state.get("names", self._done))
        self._here = {}

    def gather(self, metrics: "List[Metrics]", of_step: bool = False) -> None:
        """What each rank has added to them becomes what all of them have.

        of_step: a rank may have left its batch out, and so added nothing.
        """
        entries = [(m, name) for m in metrics for name in sorted(
            m._names.union(m._here) if of_step else m._here)]
        if not entries:
            return
        names = ", ".join(name for _m, name in entries)
        mark = float(zlib.crc32(names.encode()))
        sums = self._run.sum([mark] + [number for m, name in entries
                                       for number in
                                       m._here.get(name, (0.0, 0.0))])
        if sums[0] != mark * self._run.world_size:
            raise Error("ranks have added different metrics; this one: %s"
                        % names)
        for index, (m, name) in enumerate(entries):
            _add(m._done, name, *sums[1 + 2 * index:3 + 2 * index])
            if of_step:
                m._names.add(name)
        for m in metrics:
            m._here = {}
