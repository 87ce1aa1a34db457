# SPDX-License-Identifier: MIT
"""One training run: what the loader, the model and the optimiser share.

Everything is put together when the first batch is asked for: only then are
model, optimisers and data known. From then on a loop over the data loader is

    pollux_next -> forward, backward (buckets, pollux_sync) -> steps ->
    pollux_commit, when the loop comes round for the next batch
"""

import atexit
import contextlib
import os
import sys
import traceback
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import torch

from . import chance, ending, environment, library, rehearsal
from .buckets import Bucket, Buckets
from .handle import Handle
from .library import Error
from .state import State
from .statistics import Statistics
from .tail import Tail
from .tensors import memory_of

OPTIONS = ("epochs", "seed", "counting", "min_gpu_batch", "max_gpu_batch",
           "accumulate", "lr_scaling", "lr_warmup_epochs", "lr_rule",
           "collectives", "timeout_s", "checkpoint_dir",
           "checkpoint_every_s", "mtbf_s", "checkpoint_keep", "quiet",
           "noise_window", "finite")
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


# Passes without a backward() in a row, each of which may be meant.
IDLE_MAX = 64


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
        self.tail = Tail()  # what the script does between two epochs
        self._pass: Optional[library.Pass] = None  # under way
        self._ahead: Optional[library.Pass] = None  # asked for, not used
        self._synced = False
        self._trained = False  # the pass had a backward()
        self._idle = 0  # passes without one, in a row
        self._anyone_trained = False  # in this step, of ranks with samples
        self._steps: Optional[int] = None  # after so many it ends
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
            raise Error("how many epochs? Loop over pollux.epochs(count) or "
                        "pollux.steps(count), or give epochs to "
                        "pollux.init()")
        self._make_buckets()
        self._choose_device()
        self._handle = Handle(self._config())
        state = self._register_all()
        self._hand_in_buckets()
        self.started = True
        rehearsal.arrive()
        self._handle.start()
        info = self._handle.info()
        environment.set_known((info.rank, info.gpus))
        self._statistics.begin(info.gpus)
        chance.reseed(self.seed(), info.step, info.rank)
        self._follow()
        rehearsal.start(self)
        self._tell(info)
        if state.overridden and environment.first_start():
            self._say("what the checkpoint says is used: %s"
                      % "; ".join(state.overridden))

    def _say(self, text: str) -> None:
        """As libpollux does: by rank 0, unless quiet."""
        if self.rank == 0 and not self._options.get("quiet"):
            print("pollux: " + text, file=sys.stderr, flush=True)

    def _tell(self, info: library.Info) -> None:
        """What a new user may not have meant."""
        folder = self._options.get("checkpoint_dir") or \
            os.environ.get("POLLUX_CHECKPOINT_DIR")
        if not environment.under_launcher() and not folder:
            self._say("without pollux-launch nothing is saved and the number "
                      "of ranks stays: pollux-launch python3 %s"
                      % (sys.argv[0] or "SCRIPT"))
        if info.batch < info.gpus:
            self._say("a batch of %d leaves %d of %d ranks without work: "
                      "allow a larger one (max_batch_size), or fewer GPUs"
                      % (info.batch, info.gpus - info.batch, info.gpus))

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
        if self.buckets.several:
            config.setdefault("accumulate", False)
        if self._steps is not None:
            config["epochs"] = -(-self._steps // len(self._loader))
        rehearsal.fix(config)
        return config

    def _choose_device(self) -> None:
        """libpollux, too, is to use the GPU that the model is on."""
        device = self.buckets.all[0].device
        if device.type == "cuda":
            torch.cuda.set_device(device)

    def _check_parts(self) -> None:
        several = len(self._optimizers) > 1 or \
            self._optimizers[0].is_repeating()
        if several and self._scaler is not None:
            raise Error("a GradScaler goes with one optimiser that calls "
                        "backward() once")
        params = set(self._model.parameters())
        for optimizer in self._optimizers:
            for _index, _group, param in optimizer.params():
                if param not in params:
                    raise Error("the optimiser has a parameter of shape %s "
                                "that the model has not: put all that is "
                                "trained into one Module"
                                % list(param.shape))

    def _make_buckets(self) -> None:
        self._check_parts()
        first, *others = self._optimizers
        group_of = {param: group for group, own
                    in enumerate(first.param_groups)
                    for param in own["params"]}
        number_of = {param: number for number, other in enumerate(others)
                     for _index, _group, param in other.params()}
        several = bool(others) or first.is_repeating()
        self.buckets = Buckets(list(self._model.parameters()), group_of,
                               number_of if several else None)
        if not any(param.requires_grad for bucket in self.buckets.all
                   for param in bucket.params):
            raise Error("the model has no parameter to be trained")
        for optimizer in self._optimizers:
            optimizer.prepare(self.buckets.all, optimizer is first)
        self._statistics = Statistics(self._model,
                                      self.buckets.all[0].device)
        self.buckets.hook(self._gradient, self._sync_trained, self._mean)

    def _register_all(self) -> State:
        state = State(self._handle, self.tail)
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

    def epochs(self, count: Optional[int] = None,
               steps: Optional[int] = None) -> Iterator[int]:
        """Numbers of the epochs that are still to be trained, from 0.

        count: how many in all; or steps: to be trained in all, each of the
        base batch or what brings as much. A restored run begins where it
        was, which may be in the middle of an epoch.
        """
        if count is not None or steps is not None:
            self._before_start("epochs(count) is called")
            self._options["epochs"] = count
        if steps is not None:
            self._steps = steps
            self._options.update(epochs=1, counting="progress")
        self.start()
        yield from self.tail.repeated()
        last = -1
        while True:
            following = self.look_ahead()
            if following is None:
                return
            if following.epoch == last:
                self._say("the loop has left epoch %d before its end, and "
                          "goes on with what is left of it" % last)
            last = following.epoch
            yield last

    def steps(self, count: int) -> Iterator[Any]:
        """Batches, for so many steps in all: see epochs(steps=)."""
        for _epoch in self.epochs(steps=count):
            yield from self._loader

    def look_ahead(self) -> Optional[library.Pass]:
        """The pass that is due next; None when training has finished."""
        if self._over:
            return None
        self.start()
        self.end_pass()
        if self._steps is not None and \
                self.iterations_done() >= self._steps:
            self._over = True
            self._loader.close()
            self._handle.finish()
            return None
        if self._ahead is None:
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
        self._synced = self._trained = False
        if self._pass.index == 0:
            self._anyone_trained = False
        for optimizer in self._optimizers:
            optimizer.finite = True
        self.buckets.begin()
        rehearsal.begin_pass(self._pass)
        return self._pass

    def give_back(self) -> None:
        """The loop was left: what it has not trained on comes next."""
        if self._pass is not None and not self._synced and \
                not self._trained:
            self._ahead, self._pass = self._pass, None
            self.buckets.stage = 0

    def end_pass(self) -> None:
        """The loop's body is done with its batch."""
        if self._pass is None:
            return
        if not self._synced:
            self._pass_over()
        done, self._pass = self._pass, None
        self.buckets.stage = 0
        rehearsal.end_pass(self, done, self._loader)
        if done.sync:
            for optimizer in self._optimizers:
                optimizer.end_pass()
            if self._scaler is not None:
                self._scaler.follow(self._handle.skipped())
            if self._handle.skipped():
                for metrics in self._metrics:
                    metrics.drop()
            self._handle.commit()
            self._follow()
            self.tail.committed(done.epoch, self.epoch_is_over(done.epoch))
            self._gather_metrics()
            rehearsal.step(self)

    def _gather_metrics(self) -> None:
        """What the step has added goes with it.

        Not before the commit: where a rank is lost meanwhile, the others
        save the step that is committed, and could not save half of one.
        """
        if self._metrics:
            self._metrics[0].gather(self._metrics, of_step=True)

    def repeat_pass(self, fetch: Callable) -> Iterator[Any]:
        """For an epoch whose end is done again: see Tail."""
        return self.tail.filler(self, self._model, fetch)

    def _pass_over(self) -> None:
        """The body has left its batch out ("continue")."""
        self._idle = 0 if self._trained else self._idle + 1
        if self._idle == IDLE_MAX:
            raise Error("the loop's body has ended without a backward() "
                        "through the model's parameters %d times in a row"
                        % IDLE_MAX)
        self.buckets.pass_over(self._sync)
        # Other ranks have not: this one steps with them.
        if self._pass.sync and self._anyone_trained and not self._trained:
            self._trained = True
            for optimizer in self._optimizers:
                optimizer.step()

    def peek(self, ahead: int) -> Optional[library.Pass]:
        """What will probably follow, to read ahead."""
        return self._handle.peek(ahead)

    def epoch_is_over(self, epoch: int) -> bool:
        """Without asking for a batch: a checkpoint may be taken there."""
        if self._over:
            return True
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

    def added_up(self) -> None:
        """At the end of no_sync()."""
        if self.buckets.added_up():
            self._optimizers[0].waits = True

    def _gradient(self, bucket: Bucket) -> None:
        self._handle.gradient(bucket.number, bucket.flat.data_ptr())

    def _sync_trained(self) -> None:
        """At the end of backward()."""
        self._trained = self._optimizers[0].waits = True
        self._sync()

    def _sync(self) -> None:
        if self._trained and self._pass.count:
            self._anyone_trained = True
        self._statistics.send(self._handle, self._pass.sync, self._trained)
        loss, self._loss = self._loss, 0.0
        self._handle.sync(float(loss))
        if self._pass.sync:
            self._anyone_trained = self._statistics.receive(
                self._handle, self._anyone_trained)
        self._synced = True
        if self._trained:
            self._idle = 0

    def _mean(self, bucket: Bucket) -> None:
        """Of several optimisers' gradients, at the end of backward()."""
        self._handle.mean(bucket.flat.data_ptr(), bucket.count,
                          memory_of(bucket.flat))
        self._trained = True
        finite = bool(torch.isfinite(bucket.flat).all())
        for optimizer in self._optimizers:
            optimizer.has_gradient(bucket, finite)

    def mean_loss(self, loss: torch.Tensor) -> torch.Tensor:
        """Over the ranks' samples, for a line search."""
        value = torch.tensor([float(loss)])
        self._handle.mean(value.data_ptr(), 1, library.HOST)
        return value[0]

    def out_of_memory(self) -> None:
        """The pass under way does not fit: it is given up."""
        if self._pass is None or self._synced:
            raise Error("out_of_memory() outside of a pass")
        if self.buckets.several:
            raise Error("memory_guard() goes with one optimiser")
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

    def request(self, gpus: int) -> None:
        """A wish: so many GPUs, and no more; 0: as many as are of use.

        To the scheduler, within the job's min= and max=. On all ranks alike,
        once the training has begun.
        """
        self._need().request(gpus)

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

    def is_step(self) -> bool:
        """After backward(): has this pass ended a step that counts?

        Not where it only accumulates, or the gradient is not finite.
        """
        return self.may_step(self._optimizers[0])

    def begins_step(self) -> bool:
        """A step that calls backward() itself may be taken."""
        if self._pass is None:
            raise Error("step() outside of a loop over a pollux.DataLoader")
        return self._pass.sync

    def may_step(self, optimizer: Any) -> bool:
        if self._pass is None or not self._trained:
            raise Error("step() without a backward() in the body of a loop "
                        "over a pollux.DataLoader")
        if not self._pass.sync or not self.is_finite(optimizer):
            return False
        # This rank has no samples perhaps, and all others left theirs out.
        return self.buckets.several or self._anyone_trained

    def is_finite(self, optimizer: Any) -> bool:
        """Its gradient, on all ranks alike."""
        if optimizer is self._optimizers[0] and self._handle.skipped():
            return False
        return optimizer.finite

    def lr_factor(self, group: int) -> float:
        return self._handle.lr_factor(min(group, library.GROUPS_MAX - 1))

    def seed(self) -> int:
        return self._options.get("seed", 0)

    def zero_grad(self, params: Set[torch.nn.Parameter]) -> None:
        """Those of an optimiser."""
        if self.buckets is None:
            return
        if self.buckets.several:
            self.buckets.zero(params)
        elif not self._synced:
            self.buckets.zero()

    def zero_all(self) -> None:
        for optimizer in self._optimizers:
            optimizer.zero_grad()

    def epochs_done(self) -> int:
        """Whole epochs, for schedules."""
        if not self.started:
            return 0
        if self._options.get("counting") == "progress":
            return self.iterations_done() // len(self._loader)
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
        """Leave, also before training has finished (on all ranks alike).

        What has been trained is saved, unless it has failed.
        """
        try:
            if not failed:
                self._finish_early()
        finally:
            self._leave(failed)

    def _leave(self, failed: bool) -> None:
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

    def _finish_early(self) -> None:
        if self._handle is None or not self.started or self._over or \
                self._handle.failed:
            return
        if self._synced:
            self.end_pass()
        self._pass, self._over = None, True
        self._handle.finish()

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
steps = _of_current("steps")
backward = _of_current("backward")
register = _of_current("register")
info = _of_current("info")
checkpoint = _of_current("checkpoint")
memory_guard = _of_current("memory_guard")
is_step = _of_current("is_step")
busy = _of_current("busy")
request = _of_current("request")


def finish(failed: bool = False) -> None:
    """Leave, also before training has finished (on all ranks alike)."""
    # What has been trained is saved, unless it has failed.
    if _current is not None:
        _current.finish(failed)
