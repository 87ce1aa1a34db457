# SPDX-License-Identifier: MIT
"""A data loader whose batches are those that libpollux asks for."""

from typing import Any, Dict, Iterator, List, Optional

from torch.utils.data import IterableDataset, Sampler

from . import library
from .feed import Indexed, Sampled, Stream
from .library import Error
from .run import Run, current

_BATCHING = ("batch_sampler", "drop_last")


class DataLoader:
    """Used as torch.utils.data.DataLoader is, and takes its options.

    batch_size is the total batch over all ranks that the learning rate was
    tuned for; max_batch_size what it may grow to. Each rank gets its part;
    each sample is used once an epoch, through all resizes. A rank that has
    no sample left at the end of an epoch gets a few to keep in step, which
    count for nothing.

    dataset: indexed (shuffled by libpollux, or in the order of a sampler),
    or an IterableDataset that yields all samples of an epoch in the same
    order each time. The latter needs samples=, how many they are, and may
    have a method seek(epoch, position) that says where the next iteration
    begins; without it samples that are other ranks' are read and dropped.
    """

    def __init__(self, dataset: Any, batch_size: int = 32,
                 shuffle: bool = False, sampler: Optional[Sampler] = None, *,
                 max_batch_size: Optional[int] = None,
                 samples: Optional[int] = None, run: Optional[Run] = None,
                 **options: Any) -> None:
        for name in _BATCHING:
            if options.pop(name, None):
                raise Error("%s: the batches are libpollux's, and each "
                            "sample is used" % name)
        if batch_size < 1 or (max_batch_size or batch_size) < batch_size:
            raise Error("batch_size %s and max_batch_size %s: want 1 <= "
                        "batch_size <= max_batch_size"
                        % (batch_size, max_batch_size))
        if hasattr(sampler, "num_replicas"):
            raise Error("a DistributedSampler would leave samples out: leave "
                        "it out, each rank gets its part of each step "
                        "(shuffle=True)")
        if sampler is not None and shuffle:
            raise Error("shuffle and a sampler exclude each other")
        self.dataset = dataset
        self.batch_size = batch_size
        self.is_filler = False  # the batch counts for nothing
        self._max = max_batch_size or batch_size
        self._shuffle = shuffle
        self._run = run or current()
        seed = self._run.seed()
        if isinstance(dataset, IterableDataset):
            if sampler is not None or shuffle:
                raise Error("a stream has its own order: neither shuffle nor "
                            "sampler goes with an IterableDataset")
            self._feed = Stream(dataset, samples, options)
        elif sampler is not None:
            self._feed = Sampled(dataset, sampler, seed, options)
        else:
            self._feed = Indexed(dataset, options)
        if len(self._feed) < 1:
            raise Error("the dataset has no samples")
        self._run.attach_loader(self)

    def config(self) -> Dict[str, Any]:
        """What struct pollux_config is told."""
        return {
            "samples": len(self._feed),
            "batch": self.batch_size,
            "max_batch": self._max,
            "order": library.SHUFFLED if self._shuffle
            else library.SEQUENTIAL,
        }

    def indices(self, given: library.Pass) -> List[int]:
        """Of a pass's samples in the dataset."""
        return self._feed.indices(given)

    def close(self) -> None:
        """No batch will be asked for any more."""
        self._feed.close()

    def __len__(self) -> int:
        """Steps of an epoch at the base batch; in fact there may be fewer."""
        return -(-len(self._feed) // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        """What is left of the epoch that is under way."""
        run = self._run
        run.start()
        if run.tail.again is not None:
            self.is_filler = True
            yield from run.repeat_pass(self._feed.fetch)
            return
        upcoming = run.look_ahead()
        if upcoming is None:
            return
        epoch = upcoming.epoch
        while True:
            given = run.begin_pass()
            self.is_filler = given.count == 0
            batch = self._feed.fetch(given, run.peek)
            try:
                yield batch
            except GeneratorExit:
                run.give_back()
                raise
            run.end_pass()
            # Not by asking for more: what the script does at the end of an
            # epoch must come before a checkpoint is taken there.
            if run.epoch_is_over(epoch):
                return
            if run.look_ahead() is None:
                return
