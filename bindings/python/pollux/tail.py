# SPDX-License-Identifier: MIT
"""What a script does at the end of an epoch: validating, logging, exporting.

The epoch's last step is committed by then, so ranks that are lost there are
restored behind it. The state that one of the others rescues says so, and the
next start has that end of the epoch done again: pollux.epochs() gives its
number once more, and the loader one batch that counts for nothing, so that
what the loop's body sets is there.
"""

import contextlib
import json
import sys
from typing import Any, Callable, Dict, Iterator, Optional

import torch

from . import environment
from .library import Pass

NAME = "end of epoch"


class _Muted:
    """A handle for a pass that counts for nothing."""

    def __init__(self, handle: Any) -> None:
        self._inner = handle

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def gradient(self, bucket: int, data: int) -> None:
        """Of nothing."""

    def sync(self, loss: float) -> None:
        """With nobody."""

    def mean(self, data: int, count: int, memory: int) -> None:
        """Of this rank alone."""

    def out_of_memory(self) -> None:
        """It is over."""


class Tail:
    def __init__(self) -> None:
        self.again: Optional[int] = None  # epoch whose end is to be redone
        self._open: Optional[int] = None  # may not be over on all ranks
        self._handle: Any = None
        self._dumps: Dict[str, Callable[[], bytes]] = {}
        self._kept: Dict[str, bytes] = {}  # state at the epoch's last step

    def register(self, handle: Any) -> None:
        self._handle = handle
        handle.register_blob(NAME, self._dump, self._load)

    def kept(self, name: str, dump: Callable[[], bytes]) \
            -> Callable[[], bytes]:
        """dump, but of the epoch's last step where its end is redone."""
        def call() -> bytes:
            if name in self._kept and self._handle.rescuing():
                return self._kept[name]
            return dump()
        self._dumps[name] = dump
        return call

    def committed(self, epoch: int, last: bool) -> None:
        """A step is: all ranks were there, and this may be epoch's last."""
        self._open = epoch if last else None
        self._kept = {name: dump() for name, dump in self._dumps.items()} \
            if last else {}

    def repeated(self) -> Iterator[int]:
        """The epoch whose end is to be done again, if there is one."""
        if self.again is None:
            return
        if environment.rank() == 0:
            print("pollux: the end of epoch %d is done again" % self.again,
                  file=sys.stderr, flush=True)
        yield self.again
        self.again = None

    def _dump(self) -> bytes:
        rescuing = self._handle.rescuing()
        return json.dumps({"epoch": self._open if rescuing else None}) \
            .encode()

    def _load(self, data: bytes) -> None:
        epoch = json.loads(data)["epoch"]
        self.again = self._open = epoch if isinstance(epoch, int) else None

    @contextlib.contextmanager
    def _unseen(self, run: Any, model: torch.nn.Module) -> Iterator[None]:
        """Nothing that happens here lasts."""
        kept = [(buffer, buffer.detach().clone())
                for buffer in model.buffers()]
        handle, run._handle = run._handle, _Muted(run._handle)
        try:
            yield
        finally:
            run._handle = handle
            run._pass = run._ahead = None
            run.buckets.stage = 0
            for optimizer in run._optimizers:
                optimizer.waits = False
            with torch.no_grad():
                for buffer, before in kept:
                    buffer.copy_(before)

    def filler(self, run: Any, model: torch.nn.Module,
               fetch: Callable[[Pass, Callable], Any]) -> Iterator[Any]:
        """The batch, in a pass of no samples that is not its step's last."""
        given = Pass(epoch=self.again)
        with self._unseen(run, model):
            run._ahead = given
            run.begin_pass()
            yield fetch(given, lambda _ahead: None)
            run.end_pass()
