# SPDX-License-Identifier: MIT
"""From the numbers of samples to batches of data."""

import collections
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

import torch
from torch.utils.data import DataLoader, Sampler, default_collate

from . import chance
from .library import Error, Pass

# A rank without samples runs a pass on some, for two is the least that
# batch normalisation can do with.
FILLERS = 2


Peek = Callable[[int], Optional[Pass]]  # so many passes ahead


def numbers_of(given: Pass) -> List[int]:
    return given.samples[:given.count]


class _Plan:
    """As torch's loader sees it: batches, one after the other, for ever.

    It asks for some that are not due yet, for its workers to fetch. These are
    guesses: what follows a pass if nothing changes.
    """

    def __init__(self, batch_of: Callable[[Pass], List[int]]) -> None:
        self._batch_of = batch_of
        self._peek: Peek
        self.due: List[int] = []
        self.asked: Deque[List[int]] = collections.deque()
        self.stale = 0  # of those asked for: guessed wrong

    def follow(self, given: Pass, peek: Peek) -> None:
        """This pass is due."""
        self._peek = peek
        self.due = self._batch_of(given)
        if self.asked and self.asked[0] != self.due:
            self.stale = len(self.asked)

    def __iter__(self) -> Iterator[List[int]]:
        while True:
            ahead = len(self.asked) - self.stale
            batch = self.due
            if ahead:
                given = self._peek(ahead)
                # Beyond the end of training any batch will do.
                batch = self._batch_of(given) if given else self.due
            self.asked.append(batch)
            yield batch


class Indexed:
    """A dataset with numbers; torch's loader and its workers fetch."""

    def __init__(self, dataset: Any, options: Dict[str, Any]) -> None:
        self._dataset = dataset
        self._options = options
        self._plan = _Plan(self.indices)
        self._batches: Optional[Iterator[Any]] = None

    def __len__(self) -> int:
        return len(self._dataset)

    def index(self, number: int, epoch: int) -> int:
        """Of sample `number`: with a sampler another one."""
        return number

    def indices(self, given: Pass) -> List[int]:
        """Of its samples in the dataset."""
        numbers = numbers_of(given) or range(min(FILLERS, len(self)))
        return [self.index(number, given.epoch) for number in numbers]

    def fetch(self, given: Pass, peek: Peek) -> Any:
        plan = self._plan
        plan.follow(given, peek)
        if self._batches is None:
            self._batches = iter(DataLoader(
                self._dataset, batch_sampler=plan, **self._options))
        while plan.stale:
            self._take()
            plan.stale -= 1
        return self._take()

    def close(self) -> None:
        """End the workers now: found by a later clean-up they take long."""
        self._batches = None

    def _take(self) -> Any:
        batch = next(self._batches)
        self._plan.asked.popleft()
        return batch


class Sampled(Indexed):
    """The order of a sampler of the program's, the same on all ranks."""

    def __init__(self, dataset: Any, sampler: Sampler, seed: int,
                 options: Dict[str, Any]) -> None:
        super().__init__(dataset, options)
        self._sampler = sampler
        self._seed = seed
        self._orders: Dict[int, List[int]] = {}  # of this epoch and the next
        self._is_checked = False

    def __len__(self) -> int:
        return len(self._sampler)

    def index(self, number: int, epoch: int) -> int:
        if epoch not in self._orders:
            self._orders = {e: order for e, order in self._orders.items()
                            if e == epoch - 1}
            self._orders[epoch] = self._draw(epoch)
        return self._orders[epoch][number]

    def _draw(self, epoch: int) -> List[int]:
        order = self._order(epoch)
        # Other ranks draw it, too, and who goes on after a resize.
        if not self._is_checked and order != self._order(epoch):
            raise Error("the sampler's order is another one each time: it "
                        "has to depend on the epoch (set_epoch()), or on the "
                        "generators of Python, numpy and PyTorch")
        self._is_checked = True
        if len(order) != len(self):
            raise Error("the sampler yields %d samples and says that it has "
                        "%d" % (len(order), len(self)))
        return order

    def _order(self, epoch: int) -> List[int]:
        if hasattr(self._sampler, "set_epoch"):
            self._sampler.set_epoch(epoch)
        with chance.seeded(self._seed * 1000003 + epoch,
                           getattr(self._sampler, "generator", None)):
            return [int(index) for index in self._sampler]


class Stream:
    """An IterableDataset, read where this rank's samples are."""

    def __init__(self, dataset: Any, samples: Optional[int],
                 options: Dict[str, Any]) -> None:
        if samples is None:
            raise Error("samples= is missing: how many samples an epoch of "
                        "the IterableDataset has; of an endless one, how "
                        "many you want to call an epoch")
        self._collate = options.pop("collate_fn", None) or default_collate
        self._pin = options.pop("pin_memory", False)
        if options.pop("num_workers", 0):
            raise Error("num_workers: a stream is read by the rank itself, "
                        "leave it out")
        if options:
            raise Error("not for a stream: %s" % ", ".join(sorted(options)))
        self._dataset = dataset
        self._samples = samples
        self._epoch = -1
        self._position = 0  # of what the iterator yields next
        self._iterator: Iterator[Any] = iter(())
        self._last: List[Any] = []

    def __len__(self) -> int:
        return self._samples

    def indices(self, given: Pass) -> List[int]:
        return list(range(given.first, given.first + given.count))

    def fetch(self, given: Pass, _peek: Peek) -> Any:
        if given.count:
            self._seek(given.epoch, given.first)
            self._last = [self._take() for _ in range(given.count)]
        elif not self._last:
            self._seek(given.epoch, 0)
            self._last = [self._take()
                          for _ in range(min(FILLERS, len(self)))]
        batch = self._collate(self._last)
        return torch.utils.data._utils.pin_memory.pin_memory(batch) \
            if self._pin else batch

    def close(self) -> None:
        self._iterator = iter(())

    def _seek(self, epoch: int, position: int) -> None:
        if epoch == self._epoch and position == self._position:
            return
        if hasattr(self._dataset, "seek"):
            self._dataset.seek(epoch, position)
            self._iterator = iter(self._dataset)
        else:
            if epoch != self._epoch or position < self._position:
                self._restart(epoch)
            while self._position < position:
                self._take()
        self._epoch, self._position = epoch, position

    def _restart(self, epoch: int) -> None:
        if hasattr(self._dataset, "set_epoch"):
            self._dataset.set_epoch(epoch)
        self._iterator = iter(self._dataset)
        self._epoch, self._position = epoch, 0

    def _take(self) -> Any:
        try:
            sample = next(self._iterator)
        except StopIteration:
            raise Error("the dataset ends at sample %d of %d"
                        % (self._position, self._samples)) from None
        self._position += 1
        return sample

