# SPDX-License-Identifier: MIT
"""A state_dict() as bytes: JSON, and behind it tensors as they are.

Reading one makes numbers, texts, containers and tensors, and runs nothing:
a checkpoint may come from anybody. That is why pickle is not used.

    magic, length of the JSON (8 bytes, little-endian), JSON, raw bytes

What is no number, text or None is an object of one pair: its kind and what
it takes. Functions are left out: load_state_dict() keeps those it has.
"""

import collections
import ctypes
import functools
import json
import sys
import types
import weakref
from typing import Any, Callable, Dict, List, Optional

import torch

from .library import Error

MAGIC = b"pollux-state-1\n"
_LENGTH = 8
_DIMS = 64  # of a tensor: numpy and PyTorch take no more
_FORMER = (b"\x80", b"PK\x03\x04")  # how pickles and torch.save() begin
_PLAIN = (type(None), bool, int, float, str)
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType,
              functools.partial, weakref.ref)
_DTYPES = {str(value): value for value in vars(torch).values()
           if isinstance(value, torch.dtype)}

# Containers that are lists of values, by their exact type.
_SEQUENCES: Dict[type, str] = {
    list: "list", tuple: "tuple", set: "set", frozenset: "frozenset",
    torch.Size: "size",
}
_MAPPINGS: Dict[type, str] = {
    dict: "dict", collections.OrderedDict: "ordered",
    collections.Counter: "counter",
}


class _Writer:
    """Values to JSON's; bytes are collected in `raw`."""

    def __init__(self) -> None:
        self.raw = bytearray()

    def _keep(self, data: bytes) -> List[int]:
        at = len(self.raw)
        self.raw += data
        return [at, len(data)]

    def _tensor(self, value: torch.Tensor, where: str) -> Any:
        if value.layout != torch.strided or value.is_quantized or \
                str(value.dtype) not in _DTYPES:
            raise Error("%s is a sparse or quantized tensor: only dense ones "
                        "can be saved" % where)
        whole = value.detach().cpu().contiguous()
        data = ctypes.string_at(whole.data_ptr(),
                                whole.numel() * whole.element_size()) \
            if whole.numel() else b""
        return {"tensor": [str(value.dtype), list(value.shape),
                           value.device.type] + self._keep(data)}

    def _array(self, value: Any, where: str) -> Any:
        if value.dtype.kind not in "biufc":
            raise Error("%s is an array of %s: only numbers can be saved"
                        % (where, value.dtype))
        return {"array": [value.dtype.str, list(value.shape)] +
                self._keep(value.tobytes())}

    def _mapping(self, value: Any, where: str) -> List[Any]:
        return [[self.value(key, where + "'s key"),
                 self.value(item, "%s[%r]" % (where, key))]
                for key, item in value.items()
                if not isinstance(item, _FUNCTIONS)]

    def value(self, value: Any, where: str) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _SEQUENCES:
            return {_SEQUENCES[kind]: [self.value(item, "%s[%d]" % (where, i))
                                       for i, item in enumerate(value)]}
        if kind in _MAPPINGS:
            return {_MAPPINGS[kind]: self._mapping(value, where)}
        if isinstance(value, torch.Tensor):
            return self._tensor(value, where)
        if kind in (bytes, bytearray):
            return {"bytes": self._keep(bytes(value))}
        if kind is collections.deque:
            return {"deque": [value.maxlen, self.value(list(value), where)]}
        if kind is torch.dtype or kind is torch.device:
            return {kind.__name__: str(value)}
        numpy = sys.modules.get("numpy")
        if numpy and isinstance(value, numpy.generic):
            return self.value(value.item(), where)
        if numpy and isinstance(value, numpy.ndarray):
            return self._array(value, where)
        raise Error("%s is a %s.%s, which cannot be saved: state_dict() may "
                    "hold numbers, texts, containers and tensors"
                    % (where, kind.__module__, kind.__qualname__))


def _check_shape(shape: Any) -> None:
    # Anything else could be multiplied, too: a text, into a long one.
    if type(shape) is not list or len(shape) > _DIMS or \
            any(type(n) is not int or not 0 <= n < 1 << 62 for n in shape):
        raise ValueError("a tensor has a wrong shape")


class _Reader:
    """JSON's values to ours; `raw` is what stands behind the JSON."""

    def __init__(self, raw: memoryview, device: Optional[str]) -> None:
        self.raw = raw
        self.device = device

    def _bytes(self, at: int, size: int) -> bytes:
        if not 0 <= at <= at + size <= len(self.raw):
            raise ValueError("it ends too early")
        return bytes(self.raw[at:at + size])

    def _tensor(self, dtype: str, shape: List[int], device: str, at: int,
                size: int) -> torch.Tensor:
        data = self._bytes(at, size)
        _check_shape(shape)
        count = functools.reduce(lambda a, b: a * b, shape, 1)
        # Before there is memory for it: none for what is not in the file.
        if count > max(size, 1) and count:
            raise ValueError("a tensor is larger than its bytes")
        whole = torch.empty(shape, dtype=_DTYPES[dtype])
        if whole.numel() * whole.element_size() != size:
            raise ValueError("a tensor has other bytes than its shape")
        if size:
            ctypes.memmove(whole.data_ptr(), data, size)
        wanted = self.device or device
        if wanted == "cuda" and torch.cuda.is_available():
            return whole.cuda()
        return whole

    def _array(self, dtype: str, shape: List[int], at: int, size: int) -> Any:
        import numpy
        _check_shape(shape)
        kind = numpy.dtype(dtype)
        if kind.hasobject or kind.kind not in "biufc":
            raise ValueError("an array of no numbers")
        return numpy.frombuffer(self._bytes(at, size), kind) \
            .reshape(shape).copy()

    def _pairs(self, pairs: List[List[Any]]) -> List[Any]:
        return [(self.value(key), self.value(item)) for key, item in pairs]

    def _items(self, items: List[Any]) -> List[Any]:
        return [self.value(item) for item in items]

    def value(self, value: Any) -> Any:
        if type(value) in _PLAIN:
            return value
        (kind, given), = value.items()
        return _READ[kind](self, given)


_READ: Dict[str, Callable[[_Reader, Any], Any]] = {
    "tensor": lambda r, given: r._tensor(*given),
    "array": lambda r, given: r._array(*given),
    "bytes": lambda r, given: r._bytes(*given),
    "dtype": lambda r, given: _DTYPES[given],
    "device": lambda r, given: torch.device(given),
    "deque": lambda r, given: collections.deque(r.value(given[1]), given[0]),
}
for _type, _kind in _SEQUENCES.items():
    _READ[_kind] = lambda r, given, make=_type: make(r._items(given))
for _type, _kind in _MAPPINGS.items():
    _READ[_kind] = lambda r, given, make=_type: make(dict(r._pairs(given)))


def dump(value: Any, name: str) -> bytes:
    """Bytes of a state_dict(); an Error says what in it cannot be saved."""
    writer = _Writer()
    try:
        text = json.dumps(writer.value(value, name),
                          separators=(",", ":")).encode()
    except RecursionError:
        raise Error("%s is nested too deeply, or holds itself" % name) \
            from None
    return MAGIC + len(text).to_bytes(_LENGTH, "little") + text + writer.raw


def load(data: bytes, name: str, device: Optional[str] = None) -> Any:
    """What dump() was given, on `device` or where it was (cpu, cuda)."""
    if data.startswith(_FORMER):
        raise Error("the checkpoint's %s is a pickle, which could run "
                    "anything when it is read: it is refused" % name)
    if not data.startswith(MAGIC):
        raise Error("the checkpoint's %s is of no known kind" % name)
    begin = len(MAGIC) + _LENGTH
    end = begin + int.from_bytes(data[len(MAGIC):begin], "little")
    try:
        if not begin <= end <= len(data):
            raise ValueError("it ends too early")
        return _Reader(memoryview(data)[end:], device) \
            .value(json.loads(data[begin:end]))
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError,
            RecursionError, RuntimeError, SyntaxError) as error:
        raise Error("the checkpoint's %s is damaged: %s" % (name, error)) \
            from None
