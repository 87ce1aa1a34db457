# SPDX-License-Identifier: MIT
"""What a checkpoint holds, by name: tensors in place, all else as bytes."""

from typing import Any, Callable, Dict, List, Optional

import torch

from . import encoding, overridden
from .handle import Handle
from .statistics import Statistics
from .tail import Tail
from .tensors import describe, memory_of, short_name


class State:
    """Registers with libpollux, before it starts."""

    def __init__(self, handle: Handle, tail: Optional[Tail] = None) -> None:
        self._handle = handle
        self._tail = tail
        if tail is not None:
            tail.register(handle)
        self._names: Dict[torch.nn.Parameter, str] = {}
        self.overridden: List[str] = []  # by a checkpoint that was found

    def add_model(self, model: torch.nn.Module,
                  statistics: Statistics) -> None:
        """Parameters and persistent buffers."""
        for name, param in model.named_parameters():
            self._names[param] = name
            self._add_tensor("model." + name, param)
        for name, buffer in statistics.named():
            self._add_tensor("model." + name, buffer)

    def add_optimizer(self, prefix: str, optimizer: Any) -> None:
        """After the model, whose names its state has."""
        for key, param, tensor in optimizer.tensors():
            name = self._names.get(param, "?")
            self._add_tensor("%s.%s.%s" % (prefix, key, name), tensor)
        self._handle.register_blob(prefix, optimizer.dump, self._compared(
            prefix, optimizer, optimizer.load))

    def add(self, name: str, thing: Any) -> None:
        """A tensor, or whatever has state_dict() and load_state_dict()."""
        if isinstance(thing, torch.Tensor):
            self._add_tensor(name, thing)
            return

        def dump() -> bytes:
            return encoding.dump(thing.state_dict(), name)

        def load(data: bytes) -> None:
            thing.load_state_dict(encoding.load(data, name))

        dump()  # what cannot be saved is better known before training
        self._handle.register_blob(
            short_name(name),
            dump if self._tail is None else self._tail.kept(name, dump),
            self._compared(name, thing, load))

    def _compared(self, name: str, thing: Any,
                  load: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """load, and what the script had asked for otherwise is noted."""
        def compare(data: bytes) -> None:
            before = overridden.options(thing)
            load(data)
            self.overridden += overridden.differences(
                name, before, overridden.options(thing))
        return compare

    def _add_tensor(self, name: str, tensor: torch.Tensor) -> None:
        data, kind, shape = describe(name, tensor)
        self._handle.register(short_name(name), data, kind, shape,
                              memory_of(tensor))
