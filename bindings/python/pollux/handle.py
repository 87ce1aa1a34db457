# SPDX-License-Identifier: MIT
"""One struct pollux, with failures as exceptions. No PyTorch here."""

import ctypes
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import library
from .library import Error


class Handle:
    """Owns a struct pollux, and what it was given to call."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self._lib = library.load()
        self._kept: List[Any] = []  # callbacks, borrowed by the library
        self._raised: Optional[BaseException] = None  # in one of them
        self.failed = False
        config = library.Config()
        self._lib.pollux_config_init_sized(ctypes.byref(config),
                                           ctypes.sizeof(config))
        for name, value in options.items():
            setattr(config, name, self._as_c(name, value))
        self._run = self._lib.pollux_create(ctypes.byref(config))
        if not self._run:
            raise MemoryError("pollux_create: out of memory")

    def _as_c(self, name: str, value: Any) -> Any:
        if name == "lr_rule":
            return self._keep(library.LrRule(self._rule(value)))
        return value.encode() if isinstance(value, str) else value

    def _keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    def _rule(self, rule: Callable[[library.LrState], float]) -> Callable:
        def call(state, _user):
            try:
                return float(rule(state.contents))
            except BaseException as error:  # must not cross into C
                self._raised = error
                return 1.0
        return call

    def _check(self, status: int) -> int:
        raised, self._raised = self._raised, None
        if status < 0:
            self.failed = True
            text = self._lib.pollux_error(self._run).decode(errors="replace")
            raise Error(text, status) from raised
        if raised is not None:
            self.failed = True
            raise raised
        return status

    def register(self, name: str, data: int, kind: int,
                 shape: Sequence[int], memory: int) -> None:
        """Have the array at address `data` saved and restored."""
        if len(shape) > library.DIMS_MAX:
            raise Error("tensor \"%s\" has %d dimensions, at most %d can be "
                        "registered" % (name, len(shape), library.DIMS_MAX))
        tensor = library.Tensor(name=name.encode(), data=data, type=kind,
                                dims=len(shape), memory=memory)
        tensor.shape[:len(shape)] = list(shape)
        self._check(self._lib.pollux_register_sized(
            self._run, ctypes.byref(tensor), ctypes.sizeof(tensor)))

    def register_blob(self, name: str, dump: Callable[[], bytes],
                      load: Callable[[bytes], None]) -> None:
        """Have what dump() returns saved, and given to load()."""
        held: Dict[str, bytes] = {}

        def guarded(function: Callable[..., int], failed: int) -> Callable:
            def call(*args: Any) -> int:
                try:
                    return function(*args)
                except BaseException as error:  # must not cross into C
                    self._raised = error
                    return failed
            return call

        def size(_user: Any) -> int:
            held["bytes"] = dump()
            return len(held["bytes"])

        def save(_user: Any, to: int, count: int) -> int:
            data = held.pop("bytes", None)
            if data is None or len(data) != count:
                return -1
            ctypes.memmove(to, data, count)
            return 0

        def restore(_user: Any, data: int, count: int) -> int:
            load(ctypes.string_at(data, count))
            return 0

        blob = library.Blob(name=name.encode(),
                            size=library.BlobSize(guarded(size, 0)),
                            save=library.BlobSave(guarded(save, -1)),
                            load=library.BlobLoad(guarded(restore, -1)))
        self._keep(blob)
        self._check(self._lib.pollux_register_blob_sized(
            self._run, ctypes.byref(blob), ctypes.sizeof(blob)))

    def bucket(self, count: int, memory: int, group: int,
               precondition: Optional[int]) -> int:
        """Number of a new bucket of gradients."""
        bucket = library.Bucket(count=count, memory=memory, group=group,
                                precondition=precondition)
        return self._check(self._lib.pollux_bucket_sized(
            self._run, ctypes.byref(bucket), ctypes.sizeof(bucket)))

    def start(self) -> None:
        self._check(self._lib.pollux_start(self._run))

    def next(self) -> Optional[library.Pass]:
        """The next pass; None when there is none: see stopped()."""
        out = library.Pass()
        if self._check(self._lib.pollux_next_sized(
                self._run, ctypes.byref(out), ctypes.sizeof(out))):
            return out
        return None

    def peek(self, ahead: int) -> Optional[library.Pass]:
        """What will probably come `ahead` passes after this one."""
        out = library.Pass()
        if self._check(self._lib.pollux_peek_sized(
                self._run, ahead, ctypes.byref(out), ctypes.sizeof(out))):
            return out
        return None

    def stopped(self) -> bool:
        return self._lib.pollux_stopped(self._run)

    def gradient(self, bucket: int, data: int) -> None:
        self._check(self._lib.pollux_gradient(self._run, bucket, data))

    def sync(self, loss: float) -> None:
        self._check(self._lib.pollux_sync(self._run, loss))

    def out_of_memory(self) -> None:
        self._check(self._lib.pollux_out_of_memory(self._run))

    def loss_scale(self, scale: float) -> None:
        self._check(self._lib.pollux_loss_scale(self._run, scale))

    def mean(self, data: int, count: int, memory: int) -> None:
        """Over the step's samples, of means over those of each rank."""
        self._check(self._lib.pollux_mean(self._run, data, count, memory))

    def spread(self, data: int, count: int, memory: int) -> None:
        """So many bytes of rank 0, to all."""
        self._check(self._lib.pollux_spread(self._run, data, count, memory))

    def sum(self, values: Sequence[float]) -> List[float]:
        """Over all ranks, number by number."""
        numbers = (ctypes.c_double * len(values))(*values)
        self._check(self._lib.pollux_sum(self._run, numbers, len(values)))
        return list(numbers)

    def skipped(self) -> bool:
        return self._lib.pollux_skipped(self._run)

    def lr_factor(self, group: int) -> float:
        return self._lib.pollux_lr_factor(self._run, group)

    def progress(self) -> float:
        return self._lib.pollux_progress(self._run)

    def commit(self) -> None:
        self._check(self._lib.pollux_commit(self._run))

    def finish(self) -> None:
        """Training has come far enough: the last checkpoint."""
        self._check(self._lib.pollux_finish(self._run))

    def beat(self) -> None:
        """Alive, but busy with something else than steps."""
        self._check(self._lib.pollux_beat(self._run))

    def request(self, gpus: int) -> None:
        self._check(self._lib.pollux_request(self._run, gpus))

    def rescuing(self) -> bool:
        """Does this rank save on its own, in a blob's dump()?"""
        return self._lib.pollux_rescuing(self._run)

    def checkpoint(self) -> None:
        self._check(self._lib.pollux_checkpoint(self._run))

    def crc(self) -> int:
        """CRC-32C of all registered state."""
        return self._lib.pollux_crc(self._run)

    def info(self) -> library.Info:
        out = library.CInfo()
        self._lib.pollux_info_sized(self._run, ctypes.byref(out),
                                    ctypes.sizeof(out))
        info = library.Info(*(getattr(out, name)
                              for name in library.Info._fields))
        return info._replace(collectives=info.collectives.decode())

    def destroy(self, failed: bool = False) -> None:
        """Leave; after a failure of ours the other ranks are ended too."""
        if failed:
            # A call out of order: from then on the run counts as failed.
            # At most the first of two can be in order.
            self._lib.pollux_commit(self._run)
            self._lib.pollux_commit(self._run)
        self._lib.pollux_destroy(self._run)
        self._run = None
