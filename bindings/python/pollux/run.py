# SPDX-License-Identifier: MIT
"""One training run: what the loader, the model and the optimiser share.

Everything is put together when the first batch is asked for: only then are
model, optimisers and data known. From then on a loop over the data loader is

    pollux_next -> forward, backward (buckets, pollux_sync) -> steps ->
    pollux_commit, when the loop comes round for the next batch
"""

import atexit
import contextlib
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch

from . import ending, environment, library, rehearsal
from .buckets import Bucket, Buckets
from .handle import Handle
from .library import Error
from .state import State
from .statistics import Statistics
from .tensors import memory_of

OPTIONS = ("epochs", "seed", "counting", "min_gpu_batch", "max_gpu_batch",
           "accumulate", "lr_scaling", "lr_warmup_epochs", "lr_rule",
           "collectives", "timeout_s", "checkpoint_dir",
           "checkpoint_every_s", "mtbf_s", "checkpoint_keep", "quiet",
           "noise_window")
_COUNTING = {"data": library.DATA, "progress": library.PROGRESS}


class Stopped(SystemExit):
    """The launcher wants the GPUs: all is saved, the process is to end.

    Raised where the next batch is asked for. A SystemExit with code 0, so a
    script need not know of it.
    """


def _is_out_of_memory(error: BaseException) -> bool:
    kind = getattr(torch.cuda, "OutOfMemoryError", MemoryError)
    return isinstance(error, (kind, MemoryError)) or any(
        text in str(error) for text in ("out of memory",
                                        "can't allocate memory"))


class Run:
    """Made by pollux.init(); a process has one at a time."""

    def __init__(self, **options: Any) -> None:
        for name in options:
            if name not in OPTIONS:
                raise Error("init() has no option \"%s\"; there are %s"
                            % (name, ", ".join(OPTIONS)))
        library.load()  # a missing library is told now, not hours later
        self.started = False
        self.buckets: Optional[Buckets] = None
        self._options = options
        self._handle: Optional[Handle] = None
        self._model: Optional[torch.nn.Module] = None
        self._optimizers: List[Any] = []
        self._schedulers: List[Any] = []
        self._scaler: Any = None
        self._loader: Any = None
        self._extra: List[Tuple[str, Any]] = []  # the program's own state
        self._metrics: List[Any] = []
        self._evaluating = 0  # loops over evaluation loaders
        self._statistics: Optional[Statistics] = None
        self._pass: Optional[library.Pass] = None  # under way
        self._ahead: Optional[library.Pass] = None  # asked for, not used
        self._synced = False
        self._loss: Any = 0.0  # a number or a tensor of one
        self._over = False  # pollux_next() has said so
        atexit.register(self._at_exit)
        rehearsal.begin()

    # Who takes part.

    def _before_start(self, what: str) -> None:
        if self.started:
            raise Error("%s after training has begun" % what)

    def attach_model(self, model: torch.nn.Module) -> None:
        self._before_start("a model is wrapped")
        if self._model is not None:
            raise Error("a second model is wrapped: put both into one Module")
        self._model = model

    def attach_optimizer(self, optimizer: Any) -> None:
        self._before_start("an optimiser is wrapped")
        self._optimizers.append(optimizer)

    def attach_scheduler(self, scheduler: Any) -> None:
        self._before_start("a scheduler is wrapped")
        self._schedulers.append(scheduler)

    def attach_scaler(self, scaler: Any) -> None:
        self._before_start("a gradient scaler is made")
        self._scaler = scaler

    def attach_loader(self, loader: Any) -> None:
        self._before_start("a data loader is made")
        if self._loader is not None:
            raise Error("a second pollux.DataLoader: training has one; use "
                        "torch's for evaluation")
        self._loader = loader

    def attach_metrics(self, metrics: Any) -> None:
        self._metrics.append(metrics)

    def register(self, name: str, thing: Any) -> None:
        """Have more state saved and restored, the same on all ranks.

        A tensor is restored in place. Anything else has state_dict() and
        load_state_dict().
        """
        self._before_start("state is registered")
        self._extra.append((name, thing))

    # The start.

    def start(self) -> None:
        """Connect, restore. Called by the first loop that needs it."""
        if self.started:
            return
        if self._loader is None or self._model is None or \
                not self._optimizers:
            raise Error("training needs a pollux.DataLoader, a "
                        "pollux.DistributedDataParallel and a "
                        "pollux.Optimizer before it begins")
        if self._options.get("epochs") is None:
            raise Error("how many epochs? Loop over pollux.epochs(count), or "
                        "give epochs to pollux.init()")
        self._make_buckets()
        self._choose_device()
        self._handle = Handle(self._config())
        state = self._register_all()
        self._hand_in_buckets()
        self.started = True
        self._handle.start()
        info = self._handle.info()
        environment.set_known((info.rank, info.gpus))
        self._statistics.begin(info.gpus)
        self._follow()
        if state.overridden and environment.first_start():
            self._say("what the checkpoint says is used: %s"
                      % "; ".join(state.overridden))

    def _say(self, text: str) -> None:
        """As libpollux does: by rank 0, unless quiet."""
        if self.rank == 0 and not self._options.get("quiet"):
            print("pollux: " + text, file=sys.stderr, flush=True)

    def _config(self) -> Dict[str, Any]:
        config = {k: v for k, v in self._options.items() if v is not None}
        counting = config.pop("counting", "data")
        if counting not in _COUNTING:
            raise Error("counting is \"%s\", want \"data\" or \"progress\""
                        % counting)
        config["counting"] = _COUNTING[counting]
        config.setdefault("lr_scaling", "adamscale" if all(
            o.is_adam() for o in self._optimizers) else "adascale")
        # lr 0, as of a warm-up, is the schedule's: here only for reports.
        lr = float(self._optimizers[0].param_groups[0]["lr"])
        if lr > 0:
            config["lr"] = lr
        config.update(self._loader.config())
        rehearsal.fix(config)
        return config

    def _choose_device(self) -> None:
        """libpollux, too, is to use the GPU that the model is on."""
        device = self.buckets.all[0].device
        if device.type == "cuda":
            torch.cuda.set_device(device)

    def _make_buckets(self) -> None:
        group_of: Dict[torch.nn.Parameter, int] = {}
        first_groups, group = [], 0
        for optimizer in self._optimizers:
            first_groups.append(group)
            for own in optimizer.param_groups:
                for param in own["params"]:
                    group_of[param] = group
                group += 1
        params = list(self._model.parameters())
        self.buckets = Buckets(params, group_of)
        if not self.buckets.all:
            raise Error("the model has no parameter to be trained")
        for optimizer, first in zip(self._optimizers, first_groups):
            optimizer.prepare(first, self.buckets.all)
        self._statistics = Statistics(self._model)
        self.buckets.hook(self._gradient, self._sync)

    def _register_all(self) -> State:
        state = State(self._handle)
        state.add_model(self._model, self._statistics)
        for i, optimizer in enumerate(self._optimizers):
            state.add_optimizer("optimizer%s" % (i or ""), optimizer)
        for i, scheduler in enumerate(self._schedulers):
            state.add("scheduler%s" % (i or ""), scheduler.inner)
        if self._scaler is not None:
            state.add("scaler", self._scaler)
        for name, thing in self._extra:
            state.add(name, thing)
        return state

    def _hand_in_buckets(self) -> None:
        for bucket in self.buckets.all:
            divisor = bucket.precondition
            bucket.number = self._handle.bucket(
                bucket.count, memory_of(bucket.flat), bucket.group,
                None if divisor is None else divisor.data_ptr())
        self._statistics.hand_in(self._handle)

    # The loop.

    def epochs(self, count: Optional[int] = None) -> Iterator[int]:
        """Numbers of the epochs that are still to be trained, from 0.

        count: how many in all. A restored run begins where it was, which
        may be in the middle of an epoch.
        """
        if count is not None:
            self._before_start("epochs(count) is called")
            self._options["epochs"] = count
        while True:
            following = self.look_ahead()
            if following is None:
                return
            yield following.epoch

    def look_ahead(self) -> Optional[library.Pass]:
        """The pass that is due next; None when training has finished."""
        self.start()
        self.end_pass()
        if self._ahead is None and not self._over:
            if self._scaler is not None:
                self._handle.loss_scale(self._scaler.get_scale())
            self._ahead = self._handle.next()
            if self._ahead is None:
                self._over = True
                self._loader.close()
                if self._handle.stopped():
                    raise Stopped(0)
        return self._ahead

    def begin_pass(self) -> library.Pass:
        """Use what look_ahead() has shown."""
        self._pass, self._ahead = self._ahead, None
        self._synced = False
        self.buckets.begin()
        return self._pass

    def end_pass(self) -> None:
        """The loop's body is done with its batch."""
        if self._pass is None:
            return
        if not self._synced:
            raise Error("the loop's body ended without a backward() through "
                        "the model's parameters")
        done, self._pass = self._pass, None
        self.buckets.stage = 0
        if done.sync:
            if self._scaler is not None:
                self._scaler.follow(self._handle.skipped())
            self._gather_metrics()
            self._handle.commit()
            self._follow()
            rehearsal.step(self)

    def _gather_metrics(self) -> None:
        """Before the step counts: what it has added goes with it."""
        if self._handle.skipped():
            for metrics in self._metrics:
                metrics.drop()
        elif self._metrics:
            self._metrics[0].gather(self._metrics)

    def peek(self, ahead: int) -> Optional[library.Pass]:
        """What will probably follow, to read ahead."""
        return self._handle.peek(ahead)

    def epoch_is_over(self, epoch: int) -> bool:
        """Without asking for a batch: a checkpoint may be taken there."""
        over = self._handle.info().epoch != epoch
        if over:
            rehearsal.between(self)
        return over

    def _follow(self) -> None:
        for scheduler in self._schedulers:
            scheduler.follow()

    def backward(self, loss: torch.Tensor, **kwargs: Any) -> None:
        """loss.backward(), with the loss told to libpollux for reports.

        With a GradScaler the loss is scaled on the way.
        """
        # Not read before the end of backward(): that would wait for the GPU.
        self._loss = loss.detach()
        if self._scaler is not None:
            loss = self._scaler.scale(loss)
        loss.backward(**kwargs)

    def _gradient(self, bucket: Bucket) -> None:
        self._handle.gradient(bucket.number, bucket.flat.data_ptr())

    def _sync(self) -> None:
        self._statistics.send(self._handle, self._pass.sync)
        loss, self._loss = self._loss, 0.0
        self._handle.sync(float(loss))
        if self._pass.sync:
            self._statistics.receive()
        self._synced = True

    def out_of_memory(self) -> None:
        """The pass under way does not fit: it is given up."""
        if self._pass is None or self._synced:
            raise Error("out_of_memory() outside of a pass")
        for bucket in self.buckets.all:
            bucket.missing = 0
        self._handle.out_of_memory()
        self._synced = True

    @contextlib.contextmanager
    def memory_guard(self) -> Iterator[None]:
        """Around the loop's body: a batch too large is made smaller.

        Memory that runs out ends the body, and the step begins anew with
        fewer samples a pass; libpollux remembers the limit.
        """
        try:
            yield
        except (MemoryError, RuntimeError) as error:
            if not _is_out_of_memory(error):
                raise
            error.__traceback__ = None  # it holds on to the tensors
        else:
            return
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.out_of_memory()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Around what takes long and is no step, in the middle of an epoch.

        These ranks do not hang, and resizes wait for them. A step that is
        complete is committed first: it is safe, and nothing may follow it.
        At the end of an epoch all this is so without a word.
        """
        if self._pass is not None and self._synced and self._pass.sync:
            self.end_pass()
        self._beat()
        try:
            yield
        finally:
            self._beat()

    def _beat(self) -> None:
        if self.started and not self._over and self._handle is not None:
            self._handle.beat()

    # For the wrappers.

    def sum(self, values: List[float]) -> List[float]:
        """Over all ranks, which call this alike."""
        if self.world_size == 1:
            return values
        self.start()
        return self._need().sum(values)

    def is_filling(self) -> bool:
        """The pass under way has no samples of its own."""
        return self._pass is not None and not self._pass.count and \
            not self._evaluating

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[None]:
        """What is looked at is no sample of the training."""
        rehearsal.between(self)
        self._evaluating += 1
        try:
            yield
        finally:
            self._evaluating -= 1

    def may_step(self) -> bool:
        """After backward(): has this pass ended a step that counts?

        Not where it only accumulates, or the gradient is not finite.
        """
        if self._pass is None or not self._synced:
            raise Error("step() without a backward() in the body of a loop "
                        "over a pollux.DataLoader")
        return self._pass.sync and not self._handle.skipped()

    def lr_factor(self, group: int) -> float:
        return self._handle.lr_factor(min(group, library.GROUPS_MAX - 1))

    def seed(self) -> int:
        return self._options.get("seed", 0)

    def zero_grad(self) -> None:
        if self.buckets is not None and not self._synced:
            self.buckets.zero()

    def epochs_done(self) -> int:
        """Whole epochs, for schedules."""
        if not self.started:
            return 0
        if self._options.get("counting") == "progress":
            return self.iterations_done() // self._loader.base_steps()
        return self._handle.info().epoch

    def iterations_done(self) -> int:
        """Of the base batch, for schedules."""
        return int(self._handle.progress() + 1e-6) if self.started else 0

    # For the program.

    def info(self) -> library.Info:
        """How training goes: the fields of struct pollux_info."""
        return self._need().info()

    def checkpoint(self) -> None:
        """Have a checkpoint written after this step, or the next."""
        self._need().checkpoint()

    def crc(self) -> int:
        """CRC-32C of all registered state."""
        return self._need().crc()

    def _need(self) -> Handle:
        if not self.started or self._handle is None:
            raise Error("training has not begun" if not self.started
                        else "training has been finished")
        return self._handle

    @property
    def rank(self) -> int:
        return environment.rank()

    @property
    def world_size(self) -> int:
        return environment.world_size()

    # The end.

    def finish(self, failed: bool = False) -> None:
        """Leave, also before training has finished (on all ranks alike)."""
        global _current
        handle, self._handle = self._handle, None
        atexit.unregister(self._at_exit)
        if _current is self:
            _current = None
            environment.set_known(None)
        if self._loader is not None:
            self._loader.close()
        if handle is None:
            return
        sys.stdout.flush()
        sys.stderr.flush()
        handle.destroy(failed)

    def _at_exit(self) -> None:
        if self.started and not self._over and \
                getattr(sys, "last_type", None) is None:
            ending.left(self._handle.info().step)
        self.finish(failed=self.started and not self._over)

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, kind: Any, _value: Any, _trace: Any) -> None:
        failed = kind is not None and not issubclass(kind, Stopped)
        if failed and _value is not None:  # finish() may end the process
            ending.report(_value, lambda: traceback.print_exception(
                kind, _value, _trace))
        self.finish(failed)


_current: Optional[Run] = None


def init(**options: Any) -> Run:
    """Begin a run. Options are those of struct pollux_config (pollux.h)
    that are not told by the data loader or the optimiser."""
    global _current
    if _current is not None:
        raise Error("init() is called twice; finish() comes between")
    _current = Run(**options)
    return _current


def current() -> Run:
    """The run of this process, made with default options if need be."""
    return _current if _current is not None else init()


def _of_current(name: str) -> Callable:
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(current(), name)(*args, **kwargs)
    call.__name__ = name
    call.__doc__ = getattr(Run, name).__doc__
    return call


epochs = _of_current("epochs")
backward = _of_current("backward")
register = _of_current("register")
info = _of_current("info")
checkpoint = _of_current("checkpoint")
memory_guard = _of_current("memory_guard")
is_step = _of_current("may_step")
busy = _of_current("busy")


def finish(failed: bool = False) -> None:
    """Leave, also before training has finished (on all ranks alike)."""
    if _current is not None:
        _current.finish(failed)
