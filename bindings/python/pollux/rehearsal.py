# SPDX-License-Identifier: MIT
"""A rank's part of pollux-launch --local --rehearse: it leaves notes.

Without the variable that rehearse.py sets nothing here does anything.
"""

import os
from typing import Any, Dict

import torch

VARIABLE = "POLLUX_REHEARSAL"  # a folder
LOSSES = "losses"  # "step loss", a line each, of the step's samples
BETWEEN = "between"  # touched where an epoch ends or an evaluation begins

_folder = os.environ.get(VARIABLE, "")


def begin() -> None:
    """Models are to begin alike in each of the runs that are compared."""
    if _folder:
        torch.manual_seed(1)


def fix(config: Dict[str, Any]) -> None:
    """The batch stays what the script wants, on any number of ranks."""
    if _folder:
        config["max_batch"] = config["batch"]


def step(run: Any) -> None:
    """A step has been committed."""
    if _folder and run.rank == 0:
        info = run.info()
        with open(os.path.join(_folder, LOSSES), "a") as file:
            file.write("%d %.9g\n" % (info.step, info.loss))


def between(run: Any) -> None:
    """No step is under way: validation, most often."""
    if _folder and run.rank == 0:
        with open(os.path.join(_folder, BETWEEN), "a") as file:
            file.write(".")
