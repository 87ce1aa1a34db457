# SPDX-License-Identifier: MIT
"""A script's training once more, by PyTorch alone: part of a rehearsal.

In a process that rehearse.py starts for it these names stand for those of
the package. Samples, weights and random numbers at the beginning are those
that the recorded run had; all that is done with them is PyTorch's. Neither
libpollux nor the package's gradients, steps and schedules have a part in it.
What the script leaves to pollux is done as any loop would: gradients are
zeroed before a step, schedules move after it, passes of a step add up.
"""

import contextlib
import types
from typing import Any, Callable, Dict, Iterator, List, Optional

import torch
from torch.utils.data import IterableDataset

from . import evaluation, feed, library, metrics, rehearsal, scaler
from .library import Error
from .run import Stopped  # for the script, as is the next
from .shards import TarShards


class _Pass:
    """As it was recorded."""

    def __init__(self, told: Dict[str, Any], share: float,
                 sync: bool) -> None:
        self.epoch: int = told["epoch"]
        self.step: int = told["step"]
        self.index: int = told["index"]
        self.first: int = told["first"]
        self.samples: List[int] = told["samples"]
        self.count = len(self.samples)
        self.share = share  # of its step's samples
        self.sync = sync  # the last one of its step


def _read_passes(steps: List[Dict[str, Any]]) -> List[_Pass]:
    passes = []
    for step in steps:
        told = step["passes"]
        total = sum(len(t["samples"]) for t in told)
        passes += [_Pass(t, len(t["samples"]) / total, t is told[-1])
                   for t in told]
    return passes


class Run:
    """As pollux.Run, as far as scripts use it."""

    rank, world_size = 0, 1

    def __init__(self, **options: Any) -> None:
        steps = rehearsal.read(rehearsal.path(""), rehearsal.RECORDED)[1:]
        if not steps:
            raise Error("no step was recorded")
        self.started = False
        self._options = options
        self._flags = steps[-1]
        self._passes = _read_passes(steps)
        self._at = 0  # of what comes next
        self._open: Optional[_Pass] = None  # under way
        self._done = 0  # steps
        self._stepped = False  # in the pass under way
        self._over = False
        self._model: Any = None
        self._loader: Any = None
        self._scaler: Any = None
        self._optimizers: List[Any] = []
        self._schedulers: List[Any] = []
        self._extra: rehearsal.Named = []  # as registered
        self._losses: List[Any] = []  # of the step's passes
        self._notes = rehearsal.Notes(rehearsal.PLAIN)
        rehearsal.begin()

    def start(self) -> None:
        if self.started:
            return
        if self._model is None or self._loader is None:
            raise Error("training needs a DataLoader and a "
                        "DistributedDataParallel before it begins")
        self.started = True
        rehearsal.load(self._model, self._extra)
        for param in self._model.parameters():
            trained = param.requires_grad
            param.requires_grad_(True).register_hook(self._share)
            param.requires_grad_(trained)
        self._notes.begin(self._model, self._extra)

    def _share(self, gradient: torch.Tensor) -> torch.Tensor:
        """Of a pass in its step; unscaled."""
        factor = self._open.share if self._open is not None else 1.0
        if self._scaler is not None:
            factor /= self._scaler.get_scale()
        return gradient if factor == 1.0 else gradient * factor

    # The loop.

    def epochs(self, count: Optional[int] = None,
               steps: Optional[int] = None) -> Iterator[int]:
        self.start()
        while True:
            self.end_pass()
            if self._over:
                return
            yield self._next().epoch

    def steps(self, count: int) -> Iterator[Any]:
        for _epoch in self.epochs(steps=count):
            yield from self._loader

    def _next(self) -> _Pass:
        if self._at == len(self._passes):
            raise Stopped(0)  # more was not recorded
        return self._passes[self._at]

    def follow(self) -> Iterator[_Pass]:
        """The rest of an epoch."""
        self.start()
        self.end_pass()
        if self._over:
            return
        epoch = self._next().epoch
        while not self._over and self._next().epoch == epoch:
            self._open = self._next()
            self._at += 1
            self._stepped = False
            rehearsal.begin_pass(self._open)
            rehearsal.draw_alike(self._open.step, self._open.index)
            if not self._open.index and not self._flags["zeroed"]:
                for optimizer in self._optimizers:
                    optimizer.zero_grad()
            try:
                yield self._open
            except GeneratorExit:
                self._give_back()
                raise
            self.end_pass()

    def _give_back(self) -> None:
        """The loop was left; what was not trained on comes again."""
        if self._open is not None and not rehearsal.is_trained():
            self._open = None
            self._at -= 1

    def end_pass(self) -> None:
        if self._open is None:
            return
        done, self._open = self._open, None
        scale = self._scaler.get_scale() if self._scaler else 1.0
        self._losses.append((done.count, rehearsal.take_loss(scale)))
        if not done.sync:
            return
        self._done = done.step + 1
        if not self._flags["scheduled"]:
            self._schedule(done)
        self._notes.step(self._model, self._extra, step=self._done,
                         loss=rehearsal.mean(self._losses))
        self._losses = []

    def _schedule(self, done: _Pass) -> None:
        over = self._at < len(self._passes) and \
            self._passes[self._at].epoch != done.epoch
        for scheduler in self._schedulers:
            if scheduler.unit == "step" or over:
                scheduler.follow()

    def backward(self, loss: torch.Tensor, **kwargs: Any) -> None:
        if self._scaler is not None:
            loss = self._scaler.scale(loss)
        loss.backward(**kwargs)

    def is_step(self) -> bool:
        return self._open is None or self._open.sync

    def may_step(self, optimizer: Any) -> bool:
        """Only a scaler leaves out what is not finite."""
        if not self.is_step():
            return False
        self._stepped = True
        if self._scaler is None:
            self._notes.rates(optimizer.param_groups)
            return True
        finite = all(bool(torch.isfinite(param.grad).all())
                     for group in optimizer.param_groups
                     for param in group["params"] if param.grad is not None)
        self._scaler.follow(not finite)
        if finite:
            self._notes.rates(optimizer.param_groups)
        return finite

    def may_zero(self) -> bool:
        """Not between the passes of a step."""
        return self._open is None or self._open.index == 0 or self._stepped

    def finish(self, failed: bool = False) -> None:
        self.end_pass()
        self._over = True

    # Who takes part.

    def attach_model(self, model: torch.nn.Module) -> None:
        self._model = model

    def attach_loader(self, loader: Any) -> None:
        self._loader = loader

    def attach_scaler(self, scaler_: Any) -> None:
        self._scaler = scaler_

    def attach_optimizer(self, optimizer: Any) -> None:
        self._optimizers.append(optimizer)

    def attach_scheduler(self, scheduler: Any) -> None:
        self._schedulers.append(scheduler)

    def attach_metrics(self, _metrics: Any) -> None:
        """Its sums are this process's alone."""

    def register(self, name: str, thing: Any) -> None:
        """It is compared; nothing is saved."""
        self._extra.append((name, thing))

    # What else a script may ask.

    def info(self) -> library.Info:
        values = dict.fromkeys(library.Info._fields, 0)
        values.update(gpus=1, nodes=1, collectives=b"", restored=False,
                      step=self._done, epoch=self._passes[max(
                          0, self._at - 1)].epoch,
                      batch=self._loader.batch_size,
                      per_gpu=self._loader.batch_size, accum=1)
        return library.Info(**values)

    def sum(self, values: List[float]) -> List[float]:
        return values

    def is_filling(self) -> bool:
        return False

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        yield

    @contextlib.contextmanager
    def memory_guard(self) -> Iterator[None]:
        yield

    def request(self, gpus: int) -> None:
        """Nobody decides here."""

    def checkpoint(self) -> None:
        """Nothing is saved."""

    def crc(self) -> int:
        return 0

    def seed(self) -> int:
        return self._options.get("seed", 0)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_error: Any) -> None:
        self.finish()


class DataLoader:
    """PyTorch's, with the samples that were recorded."""

    def __init__(self, dataset: Any, batch_size: int = 32,
                 shuffle: bool = False, sampler: Any = None, *,
                 max_batch_size: Optional[int] = None,
                 samples: Optional[int] = None, run: Optional[Run] = None,
                 **options: Any) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.is_filler = False
        self._options = options
        self._run = run or current()
        self._stream: Any = None
        self._count = samples or len(dataset if sampler is None else sampler)
        self._batches: Any = None
        if isinstance(dataset, IterableDataset):
            self._stream = feed.Stream(dataset, samples, dict(options))
        self._run.attach_loader(self)

    def close(self) -> None:
        self._batches = None

    def __len__(self) -> int:
        return -(-self._count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        for given in self._run.follow():
            yield self._fetch(given)

    def _fetch(self, given: _Pass) -> Any:
        if self._stream is not None:
            return self._stream.fetch(given, lambda _ahead: None)
        if self._batches is None:
            left = self._run._passes[self._run._at - 1:]
            self._batches = iter(torch.utils.data.DataLoader(
                self.dataset, batch_sampler=[p.samples for p in left],
                **self._options))
        return next(self._batches)


class DistributedDataParallel(torch.nn.Module):
    """The model, called as it is."""

    def __init__(self, module: torch.nn.Module, *_devices: Any,
                 run: Optional[Run] = None, **_options: Any) -> None:
        super().__init__()
        self.module = module
        (run or current()).attach_model(module)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        yield


def _replace(optimizer: Any, name: str, make: Callable) -> None:
    """A method of this one object, which schedulers wrap in turn."""
    setattr(optimizer, name, types.MethodType(make(
        getattr(optimizer, name)), optimizer))


def Optimizer(optimizer: Any, run: Optional[Run] = None) -> Any:
    """It itself; what it does is noted."""
    used = run or current()

    def stepping(step: Callable) -> Callable:
        def noted(self: Any, closure: Any = None) -> Any:
            if closure is not None and not isinstance(
                    self, torch.optim.LBFGS):
                with torch.enable_grad():
                    loss = closure()
                noted(self)
                return loss
            if not used.may_step(self):
                return None
            return step() if closure is None else step(closure)
        return noted

    def zeroing(zero_grad: Callable) -> Callable:
        def noted(self: Any, *args: Any, **kwargs: Any) -> None:
            if used.may_zero():
                zero_grad(*args, **kwargs)
        return noted

    _replace(optimizer, "step", stepping)
    _replace(optimizer, "zero_grad", zeroing)
    optimizer.inner = optimizer
    used.attach_optimizer(optimizer)
    return optimizer


class LRScheduler:
    """As the script moves it; else with the epochs or steps."""

    def __init__(self, scheduler: Any, unit: str = "epoch",
                 run: Optional[Run] = None) -> None:
        self.inner = scheduler
        self.unit = unit
        self._follows = not isinstance(
            scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
        (run or current()).attach_scheduler(self)

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def step(self, *args: Any) -> None:
        self.inner.step(*args)

    def follow(self) -> None:
        if self._follows:
            self.inner.step()


class GradScaler(scaler.GradScaler):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"run": current(), **kwargs})


class Metrics(metrics.Metrics):
    def __init__(self, name: str = "metrics", run: Any = None) -> None:
        super().__init__(name, run or current())


class EvaluationLoader(evaluation.EvaluationLoader):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"run": current(), **kwargs})


_current: Optional[Run] = None


def init(**options: Any) -> Run:
    global _current
    _current = Run(**options)
    return _current


def current() -> Run:
    return _current if _current is not None else init()


def __getattr__(name: str) -> Callable:
    """steps(), backward() and so on are those of the current run."""
    if name.startswith("_") or not hasattr(Run, name):
        raise AttributeError("plain PyTorch has no %s" % name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(current(), name)(*args, **kwargs)
    return call
