# SPDX-License-Identifier: MIT
"""What the script asks for and a checkpoint that was found has otherwise."""

import inspect
from typing import Any, Dict, List

import torch

_PLAIN = (bool, int, float, str, tuple, list, type(None))
_NOT_ASKED = ("last_epoch", "verbose")


def _plain(values: Dict[str, Any], wanted: Any) -> Dict[str, Any]:
    return {key: value for key, value in values.items()
            if key in wanted and isinstance(value, _PLAIN)}


def _of_optimizer(optimizer: Any) -> Dict[str, Any]:
    """Its options; what it began with, where a schedule moves the rate."""
    options = {}
    groups = optimizer.param_groups
    for index, group in enumerate(groups):
        of_group = _plain(group, optimizer.defaults)
        if "initial_lr" in group:
            of_group["lr"] = group["initial_lr"]
        for key, value in of_group.items():
            name = key if len(groups) == 1 else "group %d's %s" % (index, key)
            options[name] = value
    return options


def options(thing: Any) -> Dict[str, Any]:
    """What its maker was told, as far as that can be seen."""
    if isinstance(thing, torch.optim.Optimizer):
        return _of_optimizer(thing)
    if not hasattr(thing, "last_epoch"):
        return {}  # only schedules are made of what they are told
    asked = inspect.signature(type(thing).__init__).parameters
    return _plain(vars(thing), [name for name in asked
                                if name not in _NOT_ASKED])


def differences(name: str, mine: Dict[str, Any],
                now: Dict[str, Any]) -> List[str]:
    """'optimizer: lr 0.1, not 0.2', one text an option."""
    return ["%s: %s %s, not %s" % (name, key, now[key], mine[key])
            for key in mine if key in now and now[key] != mine[key]]
