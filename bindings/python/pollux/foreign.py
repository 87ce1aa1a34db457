# SPDX-License-Identifier: MIT
"""For trainings with another framework's loop: saved and started again.

pollux-launch tells such a program by a signal that its job is to have another
shape. It saves, ends with a code of its own, and is started again with as many
ranks as there are GPUs then. Batch and learning rate stay as they are: for
that, and for resizes without a pause, the loop must be pollux's.
"""

import os
import signal
import sys
from typing import Any, Optional

from . import environment

SAVED_CODE = 85  # of pollux-launch --on-resize: saved, start me again


def share(total_batch: int) -> int:
    """This rank's part of a batch, so that the total stays about the same."""
    return max(1, -(-total_batch // environment.world_size()))


def folder(default: str = ".") -> str:
    """Where checkpoints belong: the launcher's folder, else `default`."""
    return os.environ.get("POLLUX_CHECKPOINT_DIR", default)


def tell_accelerate() -> None:
    """Before accelerate, or transformers, looks for devices: is there a GPU?

    Without one accelerate connects no ranks from its release 1.13 on, unless
    it is told to. It also gives its device a number then, and to such a one
    PyTorch loads no checkpoint.
    """
    if not environment.under_launcher():
        return
    import torch
    if not torch.cuda.is_available():
        os.environ.setdefault("ACCELERATE_USE_CPU", "true")
        os.environ.setdefault("ACCELERATE_TORCH_DEVICE", "cpu")


def connected(how: str) -> None:
    """Refuses ranks of which each would train a model of its own.

    how: what its author is to write, so that the framework connects them.
    """
    ranks = environment.world_size()
    if ranks == 1 or not environment.under_launcher():
        return
    dist = _distributed()
    if dist is None or dist.get_world_size() != ranks:
        raise RuntimeError(
            "these %d ranks are not connected: each would train a model of "
            "its own; %s" % (ranks, how))


class Stop:
    """Whether the launcher wants the ranks to save and leave.

        stop = pollux.Stop()            # before training begins
        if stop.asked():                # after each step, on all ranks
            save()
            stop.leave()
    """

    def __init__(self, number: int = signal.SIGUSR1) -> None:
        self._told = False
        self._sent: Any = None
        self._before = signal.signal(number, self._tell)

    def _tell(self, number: int, frame: Any) -> None:
        self._told = True
        if callable(self._before):
            self._before(number, frame)

    def asked(self) -> bool:
        """The same on all ranks of torch.distributed, if there are any."""
        dist = _distributed()
        if dist is None:
            return self._told
        import torch
        told = torch.tensor(float(self._told))
        if dist.get_backend() == "nccl":
            told = told.cuda()
        dist.all_reduce(told, op=dist.ReduceOp.MAX)
        # A thread of Gloo's may hold it for a moment longer than we do. Were
        # it the last one, it would want the interpreter to free it; while
        # that ends, it would end the process instead ("terminate called").
        self._sent = told
        self._told = bool(told)
        return self._told

    @staticmethod
    def leave(at_once: bool = False) -> None:
        """All is saved: end, to be started again with other ranks.

        at_once: not by an exception, which a framework might catch.
        """
        dist = _distributed()
        if dist is not None:
            dist.barrier()
        if not at_once:
            sys.exit(SAVED_CODE)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(SAVED_CODE)


def _distributed() -> Optional[Any]:
    """torch.distributed, if ranks have been connected by it."""
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    return dist
