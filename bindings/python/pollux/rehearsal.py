# SPDX-License-Identifier: MIT
"""A rank's part of pollux-launch --local --rehearse: it leaves notes.

Without the variable that rehearse.py sets nothing here does anything. The
notes of the recorded part, one rank at a fixed batch, are what plain.py
trains again and compare.py reads.
"""

import json
import os
import random
import sys
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch

VARIABLE = "POLLUX_REHEARSAL"  # a folder
PART = "POLLUX_REHEARSAL_PART"  # one of these, or neither
RECORDED, PLAIN, TOGETHER = "recorded", "plain", "together"

LOSSES = "losses"  # "step rank ranks samples loss", a line each; "-": unseen
BETWEEN = "between"  # steps after which an epoch ends or an evaluation begins
ARRIVED = "arrived"  # a line of each rank of each start, when it joins
BEGIN = "begin"  # the model, and what is registered, before the first step
STEPS = 20  # whose weights are noted
MOST = 200  # steps are noted, until an epoch has ended
BUFFERS = "buffer"  # the model's; what is registered has its own name
PIECE = 16  # numbers of each tensor, after each step

# While these files exist:
SLOWLY = "slowly"  # a step after the first ones takes PACE_S at least
HOLD = "hold"  # rank 0 waits where it writes to BETWEEN
PACE_S = 0.5
HOLD_S = 20  # at most

Named = List[Tuple[str, Any]]  # what a script has registered

_folder = os.environ.get(VARIABLE, "")
_part = os.environ.get(PART, "")


def path(name: str) -> str:
    return os.path.join(_folder, name)


class _Losses:
    """What backward() is called on, by the script or by pollux."""

    def __init__(self) -> None:
        self.seen: Optional[float] = None  # since the pass began
        self._depth = 0
        self._backward: Any = torch.autograd.backward
        torch.autograd.backward = self._noted

    def _noted(self, tensors: Any, grad_tensors: Any = None, *args: Any,
               **kwargs: Any) -> None:
        if not self._depth:  # else checkpoints of activations
            self._see(tensors, grad_tensors)
        self._depth += 1
        try:
            self._backward(tensors, grad_tensors, *args, **kwargs)
        finally:
            self._depth -= 1

    def _see(self, tensors: Any, weights: Any) -> None:
        if isinstance(tensors, torch.Tensor):
            tensors, weights = [tensors], [weights]
        tensors = list(tensors)
        if weights is None or isinstance(weights, torch.Tensor):
            weights = [weights] * len(tensors)
        for tensor, weight in zip(tensors, weights):
            value = tensor.detach()
            if weight is not None:  # of a tensor of several numbers
                value = value * weight
            self.seen = (self.seen or 0.0) + float(value.sum())


class Notes:
    """Of one step after the other: of a run with pollux, or plain."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.count = 0  # of steps
        self.flags = {"zeroed": False, "scheduled": False}  # by the script
        self._rates: List[List[float]] = []

    def is_open(self) -> bool:
        return self.count < MOST

    def rates(self, groups: List[Dict[str, Any]]) -> None:
        """An optimiser steps."""
        self._rates.append([float(group["lr"]) for group in groups])

    def begin(self, model: torch.nn.Module, extra: Named) -> None:
        self._write({"step": 0, **_pieces(model, extra)})

    def step(self, model: torch.nn.Module, extra: Named,
             **more: Any) -> None:
        pieces = _pieces(model, extra) if self.count < STEPS else {}
        self._write({**pieces, "rates": self._rates, **self.flags, **more})
        self._rates = []
        self.count += 1

    def _write(self, line: Dict[str, Any]) -> None:
        with open(path(self._name), "a") as file:
            file.write(json.dumps(line) + "\n")


def _piece(tensor: torch.Tensor) -> List[float]:
    """A few numbers, from all over it."""
    flat = tensor.detach().reshape(-1)
    return flat[::max(1, flat.numel() // PIECE)].tolist()


def _pieces(model: torch.nn.Module, extra: Named) -> Dict[str, Any]:
    """Of each parameter, and of what a training keeps beside them."""
    kept = [("%s.%s" % (BUFFERS, name), buffer)
            for name, buffer in model.named_buffers()]
    for name, thing in extra:
        kept += _inside(name, _state(thing))
    return {"weights": {name: _piece(param)
                        for name, param in model.named_parameters()},
            "kept": {name: _piece(tensor) for name, tensor in kept
                     if tensor.is_floating_point()}}


def _state(thing: Any) -> Any:
    return thing if isinstance(thing, torch.Tensor) else thing.state_dict()


def _inside(name: str, state: Any) -> Iterator[Tuple[str, torch.Tensor]]:
    """All tensors of a state, with names."""
    if isinstance(state, torch.Tensor):
        if state.numel():
            yield name, state
        return
    parts = state.items() if isinstance(state, dict) else \
        enumerate(state) if isinstance(state, (list, tuple)) else ()
    for key, part in parts:
        yield from _inside("%s.%s" % (name, key), part)


def read(folder: str, name: str) -> List[Dict[str, Any]]:
    """Lines of Notes; one that is being written is left out."""
    try:
        with open(os.path.join(folder, name)) as file:
            return [json.loads(line) for line in file
                    if line.endswith("\n")]
    except FileNotFoundError:
        return []


def _save(states: List[Any]) -> None:
    """Bytes, as the next process has the same tensors in the same order."""
    with open(path(BEGIN), "wb") as file:
        for _name, tensor in _inside("", states):
            flat = tensor.detach().cpu().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().tobytes())


def load(model: torch.nn.Module, extra: Named) -> None:
    """What start() has saved, in place."""
    states = [model.state_dict(), *(_state(thing) for _name, thing in extra)]
    with open(path(BEGIN), "rb") as file, torch.no_grad():
        for _name, tensor in _inside("", states):
            data = file.read(tensor.numel() * tensor.element_size())
            tensor.copy_(torch.frombuffer(
                bytearray(data), dtype=tensor.dtype).reshape(tensor.shape))
    for (_name, thing), state in zip(extra, states[1:]):
        # Its state may have been a copy.
        if state is not thing and any(_inside("", state)):
            thing.load_state_dict(state)


def draw_alike(step: int, index: int) -> None:
    """Dropout and augmentation of a pass: as in the run beside it."""
    number = 1000003 * step + index + 1
    random.seed(number)
    torch.manual_seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % (1 << 32))


_losses = _Losses() if _folder else None
_notes = Notes(_part) if _folder and _part in (RECORDED, TOGETHER) else None
_passes: List[Dict[str, Any]] = []  # of the step under way
_samples: List[Any] = []  # of each pass of it: how many, their loss
_stepped_s = 0.0  # when the last step was over


def _recorded() -> bool:
    return _part == RECORDED and _notes is not None and _notes.is_open()


def begin() -> None:
    """Models are to begin alike in each of the runs that are compared."""
    if _folder:
        torch.manual_seed(1)


def fix(config: Dict[str, Any]) -> None:
    """The batch stays what the script wants, on any number of ranks."""
    if _folder:
        config["max_batch"] = config["batch"]


def arrive() -> None:
    """The rank joins, or waits for those before it."""
    if _folder:
        with open(path(ARRIVED), "a") as file:
            file.write("rank\n")


def start(run: Any) -> None:
    """All is registered, and the first batch is due."""
    global _notes
    if _part == TOGETHER and (run.rank or os.path.exists(path(TOGETHER))):
        _notes = None  # those of rank 0, in the first start
    if _notes is None:
        return
    if _recorded():
        _save([run._model.state_dict(),
               *(_state(thing) for _name, thing in run._extra)])
    _notes.begin(run._model, run._extra)


def begin_pass(given: Any) -> None:
    if _losses is not None:
        _losses.seen = None
    if _recorded():
        draw_alike(given.step, given.index)


def take_loss(scale: float) -> Optional[float]:
    """Of the pass; None where there was no backward()."""
    loss, _losses.seen = _losses.seen, None
    return None if loss is None else loss / scale


def is_trained() -> bool:
    """The pass under way has had a backward()."""
    return _losses.seen is not None


def mean(losses: List[Any]) -> Optional[float]:
    """Of (samples, loss); of those that were seen."""
    seen = [pair for pair in losses if pair[1] is not None and pair[0]]
    total = sum(samples for samples, _loss in seen)
    return sum(samples * loss for samples, loss in seen) / total \
        if total else None


def end_pass(run: Any, done: Any, loader: Any) -> None:
    if not _folder:
        return
    scale = run._scaler.get_scale() if run._scaler is not None else 1.0
    _samples.append((done.count, take_loss(scale)))
    if _recorded():
        _passes.append({"epoch": done.epoch, "step": done.step,
                        "index": done.index, "first": done.first,
                        "samples": loader.indices(done)})


def stepped(groups: List[Dict[str, Any]]) -> None:
    """An optimiser, with these rates."""
    if _recorded():
        _notes.rates(groups)


def called(flag: str) -> None:
    """By the script: what pollux does without it."""
    if _notes is not None:
        _notes.flags[flag] = True


def step(run: Any) -> None:
    """A step has been committed."""
    if not _folder:
        return
    number, loss = run.info().step, mean(_samples)
    with open(path(LOSSES), "a") as file:
        file.write("%d %d %d %d %s\n" % (
            number, run.rank, run.world_size,
            sum(samples for samples, _loss in _samples),
            "-" if loss is None else "%.9g" % loss))
    if _recorded():
        _notes.step(run._model, run._extra, step=number, loss=loss,
                    passes=_passes)
    elif _notes is not None and _notes.count < STEPS:
        _notes.step(run._model, run._extra, step=number)
    _samples.clear()
    _passes.clear()
    if number > STEPS:
        _wait_for_pace()


def _wait_for_pace() -> None:
    """A training of seconds is not to be over before it was resized."""
    global _stepped_s
    if os.path.exists(path(SLOWLY)):
        time.sleep(max(0.0, _stepped_s + PACE_S - time.monotonic()))
    _stepped_s = time.monotonic()


def between(run: Any) -> None:
    """No step is under way: validation, most often."""
    if not _folder or run.rank != 0:
        return
    with open(path(BETWEEN), "a") as file:
        file.write("%d\n" % (run.info().step if run.started else 0))
    until_s = time.monotonic() + HOLD_S
    while os.path.exists(path(HOLD)) and time.monotonic() < until_s:
        time.sleep(0.05)
