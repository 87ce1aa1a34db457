# SPDX-License-Identifier: MIT
"""Which rank this is: as the launcher says, until training has begun."""

import os
from typing import Optional, Sequence, Tuple

_RANK = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID", "RANK")
_SIZE = ("OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "WORLD_SIZE")
# The launcher's is the number of the rank's GPU among those that it sees.
_LOCAL = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")


_known: Optional[Tuple[int, int]] = None  # rank and ranks, libpollux's


def set_known(known: Optional[Tuple[int, int]]) -> None:
    """What libpollux has found when training began."""
    global _known
    _known = known


def _first(names: Sequence[str], default: int) -> int:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdigit():
            return int(text)
    return default


def rank() -> int:
    """Of this process, from 0."""
    return _known[0] if _known else _first(_RANK, 0)


def world_size() -> int:
    """Ranks in all."""
    return _known[1] if _known else _first(_SIZE, 1)


def local_rank() -> int:
    """Of this rank's GPU, among those that it sees."""
    return _first(_LOCAL, 0)


def under_launcher() -> bool:
    """pollux-launch has started this process."""
    return bool(os.environ.get("POLLUX_SOCKET"))


def is_plain() -> bool:
    """A part of a rehearsal, without pollux: see plain.py."""
    return os.environ.get("POLLUX_REHEARSAL_PART") == "plain"


def first_start() -> bool:
    """No other ranks of this launcher trained before these."""
    return os.environ.get("POLLUX_STARTS", "0") == "0"
