# SPDX-License-Identifier: MIT
"""How a rank ends: by an error of the script's own, or of the machine.

The launcher starts ranks again that were lost to a fault. An exception of
the script would only be raised again, or worse: the others have saved the
step before it, and a new start would go on behind it. So it is told to the
launcher, which ends the job; and its traceback is printed by one rank.
"""

import sys
import traceback
from typing import Any, Callable, Optional

from . import environment, library

# What a broken or crowded machine, or the loss of another rank, shows as.
_MACHINES = ("CUDA error", "cuDNN", "CUBLAS", "cuBLAS", "NCCL", "MIG ",
             "out of memory", "can't allocate memory", "DataLoader worker",
             "Connection reset", "Connection refused", "Broken pipe")
# Of OSError: what is wrong is the name, not the disk.
_NAMES = (FileNotFoundError, FileExistsError, PermissionError,
          IsADirectoryError, NotADirectoryError)

_watching = False
_told: Optional[BaseException] = None  # this one has been reported


def is_programs(error: BaseException) -> bool:
    """Would another start of the ranks meet it again?"""
    if not isinstance(error, Exception):
        return False  # Ctrl-C, sys.exit()
    if isinstance(error, library.Error):
        if error.__cause__ is not None:
            return is_programs(error.__cause__)
        return error.status in (None, library.EINVAL, library.ECALL)
    if isinstance(error, (OSError, MemoryError, EOFError)):
        return isinstance(error, _NAMES)
    return not any(text in str(error) for text in _MACHINES)


def tell(why: str) -> bool:
    """The script has ended itself. False: another rank has told an error."""
    if not environment.under_launcher():
        return True
    try:
        return library.load().pollux_program_error(why.encode()) == 0
    except library.Error:
        return True  # no library: it has been said


def report(error: BaseException, show: Callable[[], Any]) -> None:
    """error ends this process: tell the launcher, and show it, once."""
    global _told
    if error is _told:
        return
    _told = error
    last = traceback.format_exception_only(type(error), error)[-1].strip()
    if not is_programs(error) or tell(last):
        show()
    else:
        print("pollux: rank %d ends, too: %s" % (environment.rank(), last),
              file=sys.stderr)


def watch() -> None:
    """From now on, have exceptions that nobody catches told."""
    global _watching
    if _watching or not environment.under_launcher():
        return
    _watching = True
    before = sys.excepthook

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        report(error, lambda: before(kind, error, trace))
    sys.excepthook = hook


def left(step: int) -> None:
    """The script ends, by itself, before its training does."""
    why = "the script ended at step %d, before its training had" % step
    if tell(why):
        print("pollux: the process ends before its training has finished "
              "(rank %d, step %d); pollux.finish() says that this is meant"
              % (environment.rank(), step), file=sys.stderr)
