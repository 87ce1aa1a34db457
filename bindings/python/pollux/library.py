# SPDX-License-Identifier: MIT
"""libpollux as ctypes sees it: its structs, its functions, where it is.

The mirror of pollux.h, and nothing more. Sizes are told to the library
(pollux_config_init_sized), so a newer one with more fields works too.
"""

import collections
import ctypes
import ctypes.util
import functools
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char_p, c_double,
                    c_int, c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Iterator, Optional

SONAME = "libpollux.so.0"
NAME_MAX = 64  # bytes of a tensor's name, with its NUL
DIMS_MAX = 8
GROUPS_MAX = 16

SHUFFLED, SEQUENTIAL = 0, 1
DATA, PROGRESS = 0, 1
HOST, CUDA = 0, 1
EINVAL, ECALL = -1, -2  # of enum pollux_status
F32, F64, F16, BF16, I32, I64, U8 = range(7)


class Error(RuntimeError):
    """What libpollux, or this package, has to say about a failure."""

    def __init__(self, text: str, status: Optional[int] = None) -> None:
        super().__init__(text)
        self.status = status  # enum pollux_status, None: not the library's


class LrState(Structure):
    """struct pollux_lr_state: what a rule for the learning rate sees."""

    _fields_ = [
        ("scale", c_double),
        ("sqr", c_double),
        ("var", c_double),
        ("progress", c_double),
        ("batch", c_double),
        ("samples", c_uint64),
        ("group", c_int),
    ]


LrRule = CFUNCTYPE(c_double, POINTER(LrState), c_void_p)
Seek = CFUNCTYPE(c_int, c_void_p, c_int, c_uint64, c_uint64)


class Config(Structure):
    """struct pollux_config."""

    _fields_ = [
        ("size", c_size_t),
        ("samples", c_uint64),
        ("epochs", c_int),
        ("seed", c_uint64),
        ("order", c_int),
        ("counting", c_int),
        ("seek", Seek),
        ("seek_user", c_void_p),
        ("batch", c_int),
        ("max_batch", c_int),
        ("min_gpu_batch", c_int),
        ("max_gpu_batch", c_int),
        ("accumulate", c_bool),
        ("lr", c_double),
        ("lr_scaling", c_char_p),
        ("lr_warmup_epochs", c_double),
        ("lr_rule", LrRule),
        ("lr_user", c_void_p),
        ("collectives", c_char_p),
        ("timeout_s", c_double),
        ("checkpoint_dir", c_char_p),
        ("checkpoint_every_s", c_double),
        ("mtbf_s", c_double),
        ("checkpoint_keep", c_int),
        ("quiet", c_bool),
        ("noise_window", c_double),
        ("steps", c_uint64),  # of what is no training: stays 0
        ("finite", c_bool),
    ]


class Tensor(Structure):
    """struct pollux_tensor."""

    _fields_ = [
        ("name", c_char_p),
        ("data", c_void_p),
        ("type", c_int),
        ("dims", c_int),
        ("shape", c_uint64 * DIMS_MAX),
        ("memory", c_int),
    ]


BlobSize = CFUNCTYPE(c_size_t, c_void_p)
BlobSave = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
BlobLoad = CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)


class Blob(Structure):
    """struct pollux_blob."""

    _fields_ = [
        ("name", c_char_p),
        ("size", BlobSize),
        ("save", BlobSave),
        ("load", BlobLoad),
        ("user", c_void_p),
    ]


class Bucket(Structure):
    """struct pollux_bucket."""

    _fields_ = [
        ("count", c_size_t),
        ("memory", c_int),
        ("group", c_int),
        ("precondition", c_void_p),
    ]


class Pass(Structure):
    """struct pollux_pass: one forward and backward pass of this rank."""

    _fields_ = [
        ("samples", POINTER(c_uint64)),
        ("count", c_size_t),
        ("first", c_uint64),
        ("sync", c_bool),
        ("index", c_int),
        ("per_gpu", c_int),
        ("epoch", c_int),
        ("step", c_uint64),
    ]


class CInfo(Structure):
    """struct pollux_info."""

    _fields_ = [
        ("size", c_size_t),
        ("rank", c_int),
        ("gpus", c_int),
        ("nodes", c_int),
        ("collectives", c_char_p),
        ("restored", c_bool),
        ("epoch", c_int),
        ("step", c_uint64),
        ("samples_used", c_uint64),
        ("batch", c_int),
        ("per_gpu", c_int),
        ("accum", c_int),
        ("lr", c_double),
        ("loss", c_double),
        ("samples_per_s", c_double),
        ("goodput", c_double),
        ("noise_scale", c_double),
        ("profiled", c_bool),
        ("progress", c_double),
        ("efficiency", c_double),
        ("remaining_s", c_double),
        ("restart_s", c_double),
        ("checkpoint_s", c_double),
    ]


# How training goes: the fields of struct pollux_info, as in pollux.h.
Info = collections.namedtuple("Info", [field for field, _type
                                       in CInfo._fields_[1:]])

RUN = c_void_p  # struct pollux *

# name: (result, arguments)
FUNCTIONS = {
    "pollux_config_init_sized": (None, [POINTER(Config), c_size_t]),
    "pollux_create": (RUN, [POINTER(Config)]),
    "pollux_destroy": (None, [RUN]),
    "pollux_error": (c_char_p, [RUN]),
    "pollux_version": (c_char_p, []),
    "pollux_register_sized": (c_int, [RUN, POINTER(Tensor), c_size_t]),
    "pollux_register_blob_sized": (c_int, [RUN, POINTER(Blob), c_size_t]),
    "pollux_crc": (c_uint32, [RUN]),
    "pollux_bucket_sized": (c_int, [RUN, POINTER(Bucket), c_size_t]),
    "pollux_start": (c_int, [RUN]),
    "pollux_next_sized": (c_int, [RUN, POINTER(Pass), c_size_t]),
    "pollux_peek_sized": (c_int, [RUN, c_int, POINTER(Pass), c_size_t]),
    "pollux_stopped": (c_bool, [RUN]),
    "pollux_gradient": (c_int, [RUN, c_int, c_void_p]),
    "pollux_sync": (c_int, [RUN, c_double]),
    "pollux_out_of_memory": (c_int, [RUN]),
    "pollux_loss_scale": (c_int, [RUN, c_double]),
    "pollux_finite": (c_int, [RUN, c_bool]),
    "pollux_skipped": (c_bool, [RUN]),
    "pollux_lr": (c_double, [RUN]),
    "pollux_lr_factor": (c_double, [RUN, c_int]),
    "pollux_progress": (c_double, [RUN]),
    "pollux_mean": (c_int, [RUN, c_void_p, c_size_t, c_int]),
    "pollux_spread": (c_int, [RUN, c_void_p, c_size_t, c_int]),
    "pollux_sum": (c_int, [RUN, POINTER(c_double), c_size_t]),
    "pollux_commit": (c_int, [RUN]),
    "pollux_finish": (c_int, [RUN]),
    "pollux_beat": (c_int, [RUN]),
    "pollux_request": (c_int, [RUN, c_int]),
    "pollux_checkpoint": (c_int, [RUN]),
    "pollux_rescuing": (c_bool, [RUN]),
    "pollux_program_error": (c_int, [c_char_p]),
    "pollux_timing": (None, [RUN, c_double, c_double]),
    "pollux_info_sized": (None, [RUN, POINTER(CInfo), c_size_t]),
}


def _candidates() -> Iterator[str]:
    given = os.environ.get("POLLUX_LIBRARY")
    if given:
        yield given
        return
    try:
        from .installed import LIBDIR
    except ImportError:  # not installed: run from the source tree
        pass
    else:
        yield os.path.join(LIBDIR, SONAME)
    yield SONAME
    found = ctypes.util.find_library("pollux")
    if found:
        yield found


def _open() -> ctypes.CDLL:
    why = []
    for path in _candidates():
        try:
            # Open MPI's own plugins look for its symbols in this process.
            return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            why.append(str(error))
    raise Error("libpollux cannot be loaded (%s); set POLLUX_LIBRARY to "
                "the path of %s" % ("; ".join(why), SONAME))


def _check_layout(lib: ctypes.CDLL) -> None:
    config = Config()
    lib.pollux_config_init_sized(ctypes.byref(config), ctypes.sizeof(config))
    if config.size != ctypes.sizeof(config) or config.epochs != 1 or \
            config.batch != 32 or config.collectives != b"auto":
        raise Error("%s does not fit this package: its struct pollux_config "
                    "differs" % lib._name)


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library, with the types of its functions set."""
    lib = _open()
    for name, (result, arguments) in FUNCTIONS.items():
        try:
            function = getattr(lib, name)
        except AttributeError:
            raise Error("%s has no %s(): it is older than this package"
                        % (lib._name, name)) from None
        function.restype = result
        function.argtypes = arguments
    _check_layout(lib)
    return lib


def version() -> str:
    """Of the library in use."""
    return load().pollux_version().decode()
