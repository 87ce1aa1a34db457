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
from typing import Any, Dict, Iterator, List, Optional

import torch

VARIABLE = "POLLUX_REHEARSAL"  # a folder
PART = "POLLUX_REHEARSAL_PART"  # one of these, or neither
RECORDED, PLAIN = "recorded", "plain"

LOSSES = "losses"  # "step rank ranks samples loss", a line each; "-": unseen
BETWEEN = "between"  # touched where an epoch ends or an evaluation begins
BEGIN = "begin"  # the model before its first step
STEPS = 20  # are noted
PIECE = 16  # numbers of each tensor, after each step

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
        return self.count < STEPS

    def rates(self, groups: List[Dict[str, Any]]) -> None:
        """An optimiser steps."""
        self._rates.append([float(group["lr"]) for group in groups])

    def begin(self, model: torch.nn.Module) -> None:
        self._write({"step": 0, "weights": _pieces(model)})

    def step(self, model: torch.nn.Module, **more: Any) -> None:
        self._write({"weights": _pieces(model), "rates": self._rates,
                     **self.flags, **more})
        self._rates = []
        self.count += 1

    def _write(self, line: Dict[str, Any]) -> None:
        with open(path(self._name), "a") as file:
            file.write(json.dumps(line) + "\n")


def _pieces(model: torch.nn.Module) -> Dict[str, List[float]]:
    """A few numbers of each parameter, from all over it."""
    pieces = {}
    for name, param in model.named_parameters():
        flat = param.detach().reshape(-1)
        pieces[name] = flat[::max(1, flat.numel() // PIECE)].tolist()
    return pieces


def read(folder: str, name: str) -> List[Dict[str, Any]]:
    """Lines of Notes; one that is being written is left out."""
    try:
        with open(os.path.join(folder, name)) as file:
            return [json.loads(line) for line in file
                    if line.endswith("\n")]
    except FileNotFoundError:
        return []


def _tensors(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    return (tensor for tensor in model.state_dict().values()
            if isinstance(tensor, torch.Tensor) and tensor.numel())


def _save(model: torch.nn.Module) -> None:
    """Bytes, as the next process has the same tensors in the same order."""
    with open(path(BEGIN), "wb") as file:
        for tensor in _tensors(model):
            flat = tensor.detach().cpu().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().tobytes())


def load(model: torch.nn.Module) -> None:
    """What _save() has written, in place."""
    with open(path(BEGIN), "rb") as file, torch.no_grad():
        for tensor in _tensors(model):
            data = file.read(tensor.numel() * tensor.element_size())
            tensor.copy_(torch.frombuffer(
                bytearray(data), dtype=tensor.dtype).reshape(tensor.shape))


def draw_alike(step: int, index: int) -> None:
    """Dropout and augmentation of a pass: as in the run beside it."""
    number = 1000003 * step + index + 1
    random.seed(number)
    torch.manual_seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % (1 << 32))


_losses = _Losses() if _folder else None
_notes = Notes(RECORDED) if _folder and _part == RECORDED else None
_passes: List[Dict[str, Any]] = []  # of the step under way
_samples: List[Any] = []  # of each pass of it: how many, their loss


def _recorded() -> bool:
    return _notes is not None and _notes.is_open()


def begin() -> None:
    """Models are to begin alike in each of the runs that are compared."""
    if _folder:
        torch.manual_seed(1)


def fix(config: Dict[str, Any]) -> None:
    """The batch stays what the script wants, on any number of ranks."""
    if _folder:
        config["max_batch"] = config["batch"]


def start(model: torch.nn.Module) -> None:
    """All is registered, and the first batch is due."""
    if _recorded():
        _save(model)
        _notes.begin(model)


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
        _notes.step(run._model, step=number, loss=loss, passes=_passes)
    _samples.clear()
    _passes.clear()


def between(run: Any) -> None:
    """No step is under way: validation, most often."""
    if _folder and run.rank == 0:
        with open(path(BETWEEN), "a") as file:
            file.write(".")
