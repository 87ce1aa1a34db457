# SPDX-License-Identifier: MIT
"""Are two runs of a rehearsal the same training? By the notes they left."""

import math
from typing import Any, Dict, List, Optional

from .rehearsal import BUFFERS, STEPS

Step = Dict[str, Any]  # a line of rehearsal.Notes

PART = 0.01  # of a loss, or of the way that weights have come: too much
STILL = 1e-3  # of the way of all weights: this one is not trained
ROUNDING = 1e-6  # of the weights themselves
OF_WEIGHTS = 0.2  # of the way of an average, as a part of the weights' way
LATER = 0.1  # of the mean loss of steps whose weights are not compared


def _differ(one: float, other: float, scale: float = 0.0) -> bool:
    if math.isnan(one) and math.isnan(other) or one == other:
        return False
    return not abs(one - other) <= PART * max(abs(one), abs(other), scale)


def _rates(ours: Step, theirs: Step) -> Optional[str]:
    if len(ours["rates"]) != len(theirs["rates"]):
        return "optimisers have stepped %d times, there %d" \
            % (len(ours["rates"]), len(theirs["rates"]))
    for mine, plain in zip(ours["rates"], theirs["rates"]):
        for one, other in zip(mine, plain):
            if _differ(one, other):
                return "the learning rate is %.4g, there %.4g" % (one, other)
    return None


def _loss(ours: Step, theirs: Step, scale: float) -> Optional[str]:
    one, other = ours["loss"], theirs["loss"]
    if one is None and other is None:
        return None  # weights are compared
    if one is None or other is None or _differ(one, other, scale):
        return "the loss is %s, there %s" % tuple(
            "not seen" if x is None else "%.4g" % x for x in (one, other))
    return None


def _gap(one: float, other: float) -> float:
    """0 of two that are both -inf, or no number."""
    if one == other or math.isnan(one) and math.isnan(other):
        return 0.0
    return one - other


def _way(begin: List[float], now: List[float]) -> float:
    return math.sqrt(sum(_gap(a, b) ** 2 for a, b in zip(begin, now)))


def _size(numbers: List[float]) -> float:
    return math.sqrt(sum(x ** 2 for x in numbers if math.isfinite(x)))


def _weights(begin: Step, ours: Step, theirs: Step) -> Optional[str]:
    mine, plain = ours["weights"], theirs["weights"]
    ways = {name: (_way(first, mine[name]), _way(first, plain[name]),
                   _way(mine[name], plain[name]))
            for name, first in begin["weights"].items()}
    way = max(math.sqrt(sum(w[i] ** 2 for w in ways.values()))
              for i in (0, 1))
    for name, (one, other, _apart) in ways.items():
        if one == 0 and other > STILL * way:
            return "\"%s\" stays as it is, there it is trained" % name
        if other == 0 and one > STILL * way:
            return "\"%s\" is trained, there it stays as it is" % name
    size = _size([x for first in begin["weights"].values() for x in first])
    apart = math.sqrt(sum(w[2] ** 2 for w in ways.values()))
    if not apart <= PART * way + ROUNDING * size and not math.isnan(way):
        name = max(ways, key=lambda n: ways[n][2])
        return "weights are %.2g apart, after a way of %.2g; \"%s\" most" \
            % (apart, way, name)
    return None


def _groups(names: List[str]) -> Dict[str, List[str]]:
    """What belongs together: "average" of "average.0.weight"."""
    groups: Dict[str, List[str]] = {}
    for name in names:
        groups.setdefault(name.split(".")[0], []).append(name)
    return groups


def _kept(begin: Step, ours: Step, theirs: Step) -> Optional[str]:
    """Buffers, and what the script has registered, as averages."""
    first, mine, plain = (step["kept"] for step in (begin, ours, theirs))
    for names in _groups(list(first)).values():
        way, apart = (math.sqrt(sum(x ** 2 for x in xs)) for xs in zip(*(
            (max(_way(first[n], mine[n]), _way(first[n], plain[n])),
             _way(mine[n], plain[n])) for n in names)))
        size = _size([x for n in names for x in first[n]])
        if math.isinf(apart) or \
                not apart <= PART * way + ROUNDING * size:
            worst = max(names, key=lambda n: _way(mine[n], plain[n]))
            return "\"%s\" is %.2g apart, after a way of %.2g" \
                % (worst, _way(mine[worst], plain[worst]), max(
                    _way(first[worst], mine[worst]),
                    _way(first[worst], plain[worst])))
    return None


def _norm(begin: Step, now: Step, what: str, names: List[str]) -> float:
    return math.sqrt(sum(_way(begin[what][n], now[what][n]) ** 2
                         for n in names))


def _part_of_weights(begin: Step, now: Step, names: List[str]) -> float:
    way = _norm(begin, now, "weights", list(begin["weights"]))
    return _norm(begin, now, "kept", names) / way if way else 0.0


def resized(one: List[Step], two: List[Step]) -> Optional[str]:
    """What is registered follows the weights alike on one rank and on two.

    Weights themselves may differ, as noise is another one.
    """
    last = min(len(one), len(two), STEPS + 1) - 1
    if last < 1:
        return None
    for group, names in _groups(list(one[0]["kept"])).items():
        if group == BUFFERS:
            continue  # parts of a batch have statistics of their own
        alone, together = (_part_of_weights(x[0], x[last], names)
                           for x in (one, two))
        if abs(alone - together) > OF_WEIGHTS * max(alone, together):
            return "\"%s\" has moved %.2g times as far as the weights in " \
                "%d steps on one rank, %.2g times on two" % (
                    group, alone, last, together)
    return None


def _scale(recorded: List[Step]) -> float:
    """A loss that is nearly nothing by then is rounding."""
    losses = [abs(step["loss"]) for step in recorded[1:]
              if step["loss"] is not None]
    return PART * max((x for x in losses if math.isfinite(x)), default=0.0)


def _mean(steps: List[Step]) -> float:
    losses = [s["loss"] for s in steps if s["loss"] is not None]
    return sum(losses) / len(losses) if losses else 0.0


def _later(recorded: List[Step], plain: List[Step]) -> Optional[str]:
    """Where rounding has grown: rates of each step, losses on average."""
    steps = min(len(recorded), len(plain))
    for ours, theirs in zip(recorded[:steps], plain):
        said = _rates(ours, theirs)
        if said:
            return "step %d is not that of plain PyTorch: %s" \
                % (ours["step"], said)
    one, other = _mean(recorded[:steps]), _mean(plain[:steps])
    if steps and abs(one - other) > LATER * max(abs(one), abs(other)):
        return "steps %d to %d are not those of plain PyTorch: the loss is " \
            "%.4g on average, there %.4g" % (
                recorded[0]["step"], recorded[steps - 1]["step"], one, other)
    return None


def difference(recorded: List[Step], plain: List[Step]) -> Optional[str]:
    """The first one, in words; each begins with step 0."""
    scale = _scale(recorded)
    for ours, theirs in zip(recorded[1:STEPS + 1], plain[1:STEPS + 1]):
        said = _rates(ours, theirs) or _loss(ours, theirs, scale) or \
            _weights(recorded[0], ours, theirs) or \
            _kept(recorded[0], ours, theirs)
        if said:
            return "step %d is not that of plain PyTorch: %s" \
                % (ours["step"], said)
    return _later(recorded[STEPS + 1:], plain[STEPS + 1:])


def summary(recorded: List[Step]) -> str:
    """Of steps that are the same."""
    losses = [step["loss"] for step in recorded[1:]
              if step["loss"] is not None]
    said = "the first %d steps are those of plain PyTorch" \
        % (len(recorded) - 1)
    if not losses:
        return said + ", by their weights (no backward() shows a loss)"
    return said + ": loss %.4g to %.4g" % (losses[0], losses[-1])
