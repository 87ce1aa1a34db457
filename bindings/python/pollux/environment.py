# SPDX-License-Identifier: MIT
"""What the launcher says about this rank before training begins."""

import os

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "WORLD_SIZE")
_LOCAL = ("OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID", "LOCAL_RANK")


def _first(names, default: int) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return default


def rank() -> int:
    return _first(_RANK, 0)


def world_size() -> int:
    return _first(_SIZE, 1)


def local_rank() -> int:
    """Among the ranks of this node."""
    return _first(_LOCAL, 0)


def under_launcher() -> bool:
    """pollux-launch has started this process."""
    return bool(os.environ.get("POLLUX_SOCKET"))
