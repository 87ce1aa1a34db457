# SPDX-License-Identifier: MIT
"""Evaluation on all ranks: each sample by one of them."""

from typing import Any, Iterator, Optional

from torch.utils.data import DataLoader, IterableDataset, Subset

from . import environment
from .library import Error
from .run import Run, current

_NOT_OURS = ("batch_sampler", "drop_last", "sampler", "shuffle")


class EvaluationLoader:
    """A torch.utils.data.DataLoader over this rank's part of a dataset.

    The parts of all ranks, however many there are, make up the dataset:
    nothing is left out, doubled or padded, so batches of ranks differ by one
    at most, and there may be none. batch_size is each rank's. Put numbers
    together with pollux.Metrics.
    """

    def __init__(self, dataset: Any, batch_size: int = 32, *,
                 run: Optional[Run] = None, **options: Any) -> None:
        for name in _NOT_OURS:
            if options.pop(name, None):
                raise Error("%s: each sample is evaluated, once, in the "
                            "order of the dataset" % name)
        if isinstance(dataset, IterableDataset):
            raise Error("an IterableDataset has no numbers that could be "
                        "parted: evaluate it on one rank")
        self.dataset = dataset
        self.batch_size = batch_size
        self._options = options
        self._run = run or current()

    def _part(self) -> range:
        """Not known before training begins: a resize may change it."""
        return range(environment.rank(), len(self.dataset),
                     environment.world_size())

    def __len__(self) -> int:
        """Batches of this rank."""
        return -(-len(self._part()) // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        part = Subset(self.dataset, self._part())
        with self._run.evaluation():
            if len(part):
                yield from DataLoader(part, self.batch_size, **self._options)
