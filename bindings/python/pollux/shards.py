# SPDX-License-Identifier: MIT
"""Samples in tar files, as webdataset writes them: each has a place.

A sample is what follows each other in a shard with the same name up to the
first dot. Where it begins is known for all of them, so that any rank can read
any sample: libpollux deals them out, each once an epoch.
"""

import array
import fnmatch
import glob
import io
import itertools
import json
import os
import random
import re
import tarfile
import zlib
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, \
    Tuple, Union

from torch.utils.data import Dataset, Sampler

from .library import Error

_BLOCK = 512  # of a tar file


def _expand(shards: Union[str, Sequence[str]]) -> List[str]:
    """Paths, in the same order on all ranks."""
    if not isinstance(shards, str):
        return [path for shard in shards for path in _expand(str(shard))]
    braces = re.search(r"\{(\d+)\.\.(\d+)\}", shards)
    if braces:
        first, last = braces.groups()
        return [path for number in range(int(first), int(last) + 1)
                for path in _expand(shards[:braces.start()] +
                                    str(number).zfill(len(first)) +
                                    shards[braces.end():])]
    if any(c in shards for c in "*?["):
        return sorted(glob.glob(shards))
    return [shards]


def _key(name: str) -> Tuple[str, str]:
    """Of a sample, and what of it this is: "a/007", "seg.png"."""
    folder, slash, file = name.rpartition("/")
    stem, _dot, kind = file.partition(".")
    return folder + slash + stem, kind.lower()


def _members(file: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Those that are part of a sample."""
    for member in file:
        if member.isfile() and not fnmatch.fnmatch(member.name, "__*__"):
            yield member


def _check_end(path: str, at: int) -> None:
    """A copy that was cut short may end between two members."""
    with open(path, "rb") as file:
        file.seek(at)
        if file.read(_BLOCK) != bytes(_BLOCK):
            raise Error("%s: it ends too early, at byte %d" % (path, at))


def _starts(path: str) -> List[int]:
    """Where each sample begins, and the last one ends."""
    starts, last, end = [], None, 0
    try:
        with tarfile.open(path, "r:") as file:
            for member in _members(file):
                key = _key(member.name)[0]
                if key != last:
                    starts.append(member.offset)
                last = key
            end = file.offset
    except (OSError, tarfile.TarError) as error:
        raise Error("%s: %s (a tar file is wanted, not compressed)"
                    % (path, error)) from error
    _check_end(path, end)
    return starts + [end]


def _stamp(path: str) -> List[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]


def _indexed(path: str, folder: Optional[str]) -> "array.array[int]":
    """As an earlier start has noted it, else read from the shard."""
    if folder is None:
        return array.array("q", _starts(path))
    # Shards of two folders may have one name.
    place = zlib.crc32(os.path.abspath(path).encode())
    name = os.path.join(folder, "%s.%08x.index"
                        % (os.path.basename(path), place))
    try:
        with open(name) as file:
            found = json.load(file)
        if found["stamp"] == _stamp(path):
            return array.array("q", found["starts"])
    except (OSError, ValueError, KeyError, TypeError):
        pass  # none yet, or of another shard
    starts = _starts(path)
    os.makedirs(folder, exist_ok=True)
    new = "%s.%d" % (name, os.getpid())
    with open(new, "w") as file:
        json.dump({"stamp": _stamp(path), "starts": starts}, file)
    os.replace(new, name)
    return array.array("q", starts)


class TarShards(Dataset):
    """A dataset of tar shards, for a pollux.DataLoader.

        data = pollux.TarShards("train-{000000..000063}.tar", decode)
        loader = pollux.DataLoader(data, batch_size=64, sampler=data.order())

    shards: a path, with braces or wildcards, or a list of them. decode gets
    {"__key__": "a/007", "jpg": b"...", "cls": b"3"} and returns a sample.
    index: a folder in which to note where samples begin, so that later starts
    need not walk through all shards.
    """

    def __init__(self, shards: Union[str, Sequence[str]],
                 decode: Optional[Callable[[Dict[str, Any]], Any]] = None,
                 *, index: Optional[str] = None) -> None:
        self.shards = _expand(shards)
        self._decode = decode
        self._starts = [_indexed(path, index) for path in self.shards]
        # Number of each shard's first sample, and how many there are in all.
        self._first = [0, *itertools.accumulate(
            len(starts) - 1 for starts in self._starts)]
        if not len(self):
            raise Error("no samples in %s" % (shards,))

    def __len__(self) -> int:
        return self._first[-1]

    def where(self, number: int) -> Tuple[int, int]:
        """The shard of a sample and its place in there, from 0."""
        if not 0 <= number < len(self):
            raise IndexError("sample %d of %d" % (number, len(self)))
        low, high = 0, len(self.shards) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self._first[middle] <= number:
                low = middle
            else:
                high = middle - 1
        return low, number - self._first[low]

    def __getitem__(self, number: int) -> Any:
        shard, place = self.where(int(number))
        begin, end = self._starts[shard][place:place + 2]
        sample = self._parse(shard, self._read(shard, begin, end - begin))
        return self._decode(sample) if self._decode else sample

    def _read(self, shard: int, at: int, count: int) -> bytes:
        path = self.shards[shard]
        with open(path, "rb") as file:
            file.seek(at)
            data = file.read(count)
        if len(data) != count:
            raise Error("%s: it has been cut short since training began"
                        % path)
        return data

    def _parse(self, shard: int, data: bytes) -> Dict[str, Any]:
        sample: Dict[str, Any] = {}
        end = bytes(2 * _BLOCK)
        with tarfile.open(fileobj=io.BytesIO(data + end), mode="r:") as file:
            for member in _members(file):
                sample["__key__"], kind = _key(member.name)
                if kind in sample:
                    raise Error("%s: two files of sample %s are called .%s"
                                % (self.shards[shard], sample["__key__"],
                                   kind))
                content = file.extractfile(member)
                assert content is not None
                sample[kind] = content.read()
        return sample

    def order(self, seed: int = 0) -> "ShardOrder":
        """Shuffled so that a shard is read through before the next one."""
        return ShardOrder(self, seed)


class ShardOrder(Sampler):
    """Shards in another order each epoch, and the samples of each."""

    def __init__(self, data: TarShards, seed: int) -> None:
        # Not super().__init__(): PyTorch 2 has nothing to be told there.
        self._data = data
        self._seed = seed
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[int]:
        chance = random.Random(self._seed * 1000003 + self._epoch)
        firsts = self._data._first
        shards = list(range(len(self._data.shards)))
        chance.shuffle(shards)
        for shard in shards:
            numbers = list(range(firsts[shard], firsts[shard + 1]))
            chance.shuffle(numbers)
            yield from numbers
