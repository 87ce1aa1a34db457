# SPDX-License-Identifier: MIT
"""Are two runs of a rehearsal the same training? By the notes they left."""

import math
from typing import Any, Dict, List, Optional

Step = Dict[str, Any]  # a line of rehearsal.Notes

PART = 0.01  # of a loss, or of the way that weights have come: too much
STILL = 1e-3  # of the way of all weights: this one is not trained
ROUNDING = 1e-6  # of the weights themselves


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


def _way(begin: List[float], now: List[float]) -> float:
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(begin, now)))


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
    size = math.sqrt(sum(_way([0.0] * len(first), first) ** 2
                         for first in begin["weights"].values()))
    apart = math.sqrt(sum(w[2] ** 2 for w in ways.values()))
    if not apart <= PART * way + ROUNDING * size and not math.isnan(way):
        name = max(ways, key=lambda n: ways[n][2])
        return "weights are %.2g apart, after a way of %.2g; \"%s\" most" \
            % (apart, way, name)
    return None


def difference(recorded: List[Step], plain: List[Step]) -> Optional[str]:
    """The first one, in words; each begins with step 0."""
    losses = [abs(step["loss"]) for step in recorded[1:]
              if step["loss"] is not None]
    # A loss that is nearly nothing by then is rounding.
    scale = PART * max((x for x in losses if math.isfinite(x)), default=0.0)
    for ours, theirs in zip(recorded[1:], plain[1:]):
        said = _rates(ours, theirs) or _loss(ours, theirs, scale) or \
            _weights(recorded[0], ours, theirs)
        if said:
            return "step %d is not that of plain PyTorch: %s" \
                % (ours["step"], said)
    return None


def summary(recorded: List[Step]) -> str:
    """Of steps that are the same."""
    losses = [step["loss"] for step in recorded[1:]
              if step["loss"] is not None]
    said = "the first %d steps are those of plain PyTorch" \
        % (len(recorded) - 1)
    if not losses:
        return said + ", by their weights (no backward() shows a loss)"
    return said + ": loss %.4g to %.4g" % (losses[0], losses[-1])
