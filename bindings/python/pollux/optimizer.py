# SPDX-License-Identifier: MIT
"""An optimiser whose learning rate follows the batch."""

from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch

from . import encoding, rehearsal
from .buckets import Bucket
from .library import Error
from .run import Run, current

# Adam's first steps know too little of the second moment to divide by it.
SETTLED_STEPS = 5


def _zeros(param: torch.nn.Parameter) -> torch.Tensor:
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def _sgd_state(group: Dict[str, Any], param: torch.nn.Parameter) -> dict:
    # With dampening the first step is another one when there is no buffer.
    if not group["momentum"] or group["dampening"]:
        return {}
    return {"momentum_buffer": _zeros(param)}


def _adam_state(group: Dict[str, Any], param: torch.nn.Parameter) -> dict:
    on_device = group.get("capturable") or group.get("fused")
    state = {
        "step": torch.zeros((), device=param.device if on_device else "cpu"),
        "exp_avg": _zeros(param),
        "exp_avg_sq": _zeros(param),
    }
    if group["amsgrad"]:
        state["max_exp_avg_sq"] = _zeros(param)
    return state


# What step() would make at first. Other optimisers are saved as a copy.
_FIRST_STATE = {
    torch.optim.SGD: _sgd_state,
    torch.optim.Adam: _adam_state,
    torch.optim.AdamW: _adam_state,
}


def _numbers(tensors: List[Any]) -> List[float]:
    """What they say. A GPU, which holds them for some, is waited for once."""
    on = {getattr(tensor, "device", None) for tensor in tensors}
    if len(tensors) > 1 and len(on) == 1 and on != {None}:
        return torch.stack([t.reshape(()) for t in tensors]).tolist()
    return [float(tensor) for tensor in tensors]


class _NotFinite(Exception):
    """A gradient before the first step of a search."""


class Optimizer(torch.optim.Optimizer):
    """Wraps any torch.optim.Optimizer.

    Several may step by turns, each after a backward() of its own.
    step() does nothing in a pass that only accumulates or whose gradient is
    not finite; else each group's lr is multiplied by libpollux's factor for
    the time of the step. zero_grad() is allowed and never needed.
    """

    def __init__(self, optimizer: torch.optim.Optimizer,
                 run: Optional[Run] = None) -> None:
        # Not super().__init__(): all that it would set is the inner one's.
        self.inner = optimizer
        self._run = run or current()
        self._is_first = True  # libpollux has our gradients
        self._in_place: Set[Tuple[int, str]] = set()
        self._steps_checked = 0
        self._preconditioned: List[Tuple[Bucket, torch.Tensor, tuple]] = []
        self._sizes: List[int] = []  # of the groups, when training began
        self._all: Set[torch.nn.Parameter] = set()
        self.waits = False  # has gradients that no step() has used
        self._carries = False  # ... of an earlier pass
        self.finite = True  # what libpollux does not see of them
        self._run.attach_optimizer(self)

    # What belongs to the inner one.

    def __getattr__(self, name: str) -> Any:
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def param_groups(self) -> List[Dict[str, Any]]:
        return self.inner.param_groups

    @property
    def state(self) -> Dict[torch.nn.Parameter, Any]:
        return self.inner.state

    @property
    def defaults(self) -> Dict[str, Any]:
        return self.inner.defaults

    def state_dict(self) -> Dict[str, Any]:
        return self.inner.state_dict()

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        if self._run.started:
            raise Error("load_state_dict() after training has begun: its "
                        "state is libpollux's to restore")
        self.inner.load_state_dict(state_dict)

    def add_param_group(self, param_group: Dict[str, Any]) -> None:
        if self._run.started:
            raise Error("add_param_group() after training has begun")
        self.inner.add_param_group(param_group)

    def __repr__(self) -> str:
        return "pollux.Optimizer(%r)" % (self.inner,)

    def zero_grad(self, set_to_none: bool = False) -> None:
        """Zero the gradients; they stay where they are."""
        rehearsal.called("zeroed")
        self.waits = self._carries = False
        self.finite = True
        self._run.zero_grad(self._all)

    # The step.

    def step(self, closure: Any = None) -> Any:
        """closure: calls backward(), and returns the loss."""
        if closure is not None:
            return self._step_with(closure)
        self._check_groups()
        if self._carries:
            raise Error("step() with gradients of more than one batch, and "
                        "of those before only this one is left: do not "
                        "accumulate, give the whole batch to "
                        "pollux.DataLoader and max_gpu_batch to "
                        "pollux.init(), and step each time")
        self.waits = False
        if self._run.may_step(self):
            self._run.buckets.settle()
            self._apply(self.inner.step)
        return None

    def _step_with(self, closure: Any) -> Any:
        if self.is_repeating() and self._run.begins_step():
            return self._apply_repeating(closure)
        with torch.enable_grad():
            loss = closure()
        self.step()
        return loss

    def _apply_repeating(self, closure: Any) -> Any:
        """The same on all ranks: their mean gradient, and mean loss."""
        losses = []

        def trained() -> torch.Tensor:
            with torch.enable_grad():
                losses.append(self._run.mean_loss(closure()))
            if len(losses) == 1 and not self._run.is_finite(self):
                raise _NotFinite()
            return losses[-1]
        try:
            self._apply(lambda: self.inner.step(trained))
        except _NotFinite:
            pass
        self.waits = False
        return losses[0]

    def has_gradient(self, bucket: Bucket, finite: bool) -> None:
        """It is in this bucket, perhaps."""
        if any(param in self._all for param in bucket.params):
            self.waits = True
            self.finite = self.finite and finite

    def is_repeating(self) -> bool:
        """step() calls backward() several times."""
        return isinstance(self.inner, torch.optim.LBFGS)

    def end_pass(self) -> None:
        self._carries = self._carries or self.waits
        self.waits = False

    def _check_groups(self) -> None:
        if self._sizes and self._sizes != self._count():
            raise Error("a parameter was added to the optimiser after "
                        "training has begun: add it before, frozen")

    def _count(self) -> List[int]:
        return [len(group["params"]) for group in self.param_groups]

    def _apply(self, step: Any) -> Any:
        own = [group["lr"] for group in self.param_groups]
        for index, group in enumerate(self.param_groups):
            # The noise of all is that of the first optimiser.
            factor = self._run.lr_factor(index if self._is_first else 0)
            if factor != 1.0:
                group["lr"] = own[index] * factor
        rehearsal.stepped(self.param_groups)
        try:
            result = step()
        finally:
            for group, lr in zip(self.param_groups, own):
                group["lr"] = lr
        if self._steps_checked < 2:
            self._check_in_place()
        self._precondition()
        return result

    # State: tensors in place where their shape is known beforehand.

    def params(self) -> Iterator[Tuple[int, Dict[str, Any], Any]]:
        """(index as in state_dict, group, parameter)."""
        index = 0
        for group in self.param_groups:
            for param in group["params"]:
                yield index, group, param
                index += 1

    def is_adam(self) -> bool:
        return type(self.inner) in (torch.optim.Adam, torch.optim.AdamW)

    def prepare(self, buckets: List[Bucket], is_first: bool) -> None:
        """Before the start: make the state that step() would make."""
        self._is_first = is_first
        self._sizes = self._count()
        self._all = {param for _index, _group, param in self.params()}
        make = _FIRST_STATE.get(type(self.inner))
        for index, group, param in self.params():
            if make is None:
                continue
            for key, value in make(group, param).items():
                self.state[param].setdefault(key, value)
        if make is not None:
            for index, _group, param in self.params():
                for key, value in self.state.get(param, {}).items():
                    if isinstance(value, torch.Tensor):
                        self._in_place.add((index, key))
        if self.is_adam():
            self._flatten(buckets)

    def _flatten(self, buckets: List[Bucket]) -> None:
        """One buffer a bucket for Adam's second moments."""
        where = {id(param): group for _i, group, param in self.params()}
        for bucket in buckets:
            if any(id(param) not in where for param in bucket.params):
                continue
            flat = torch.zeros(bucket.count, device=bucket.device)
            group = where[id(bucket.params[0])]
            for param, view in zip(bucket.params, bucket.views_of(flat)):
                if param.dtype != torch.float32:
                    break
                view.copy_(self.state[param]["exp_avg_sq"])
                self.state[param]["exp_avg_sq"] = view
            else:
                bucket.precondition = torch.ones_like(flat)
                self._preconditioned.append(
                    (bucket, flat, (group, bucket.params[0])))

    def _precondition(self) -> None:
        """Tell libpollux what the next step will divide by."""
        steps = _numbers([self.state[param]["step"] for _bucket, _flat,
                          (_group, param) in self._preconditioned])
        for (bucket, flat, (group, _param)), step in zip(
                self._preconditioned, steps):
            if step < SETTLED_STEPS:
                continue
            beta = group["betas"][1]
            torch.sqrt(flat, out=bucket.precondition)
            bucket.precondition.mul_((1 - beta ** step) ** -0.5)
            bucket.precondition.add_(group["eps"])

    def tensors(self) -> Iterator[Tuple[str, torch.nn.Parameter, Any]]:
        """(key, parameter, tensor) of all state that is saved in place."""
        for index, _group, param in self.params():
            for key in sorted(k for i, k in self._in_place if i == index):
                yield key, param, self.state[param][key]

    def _check_in_place(self) -> None:
        """step() must not have put other tensors in place of ours."""
        now = [tensor.data_ptr() for _k, _p, tensor in self.tensors()]
        if self._steps_checked and now != self._addresses:
            raise Error("%s replaces the tensors of its state"
                        % type(self.inner).__name__)
        self._addresses = now
        self._steps_checked += 1

    def dump(self) -> bytes:
        """All but the tensors that are saved in place."""
        whole = self.inner.state_dict()
        whole["frozen"] = [index for index, _group, param in self.params()
                           if not param.requires_grad]
        whole["state"] = {
            index: {key: value for key, value in entries.items()
                    if (index, key) not in self._in_place}
            for index, entries in whole["state"].items()}
        return encoding.dump(whole, "optimizer")

    def load(self, data: bytes) -> None:
        whole = encoding.load(data, "optimizer", device="cpu")
        frozen = set(whole.pop("frozen", ()))
        for index, _group, param in self.params():
            # As it was: a script unfreezes once.
            param.requires_grad_(index not in frozen)
        if not self._in_place:
            self.inner.load_state_dict(whole)
            return
        if len(whole["param_groups"]) != len(self.param_groups):
            raise Error("the checkpoint's optimiser has %d parameter groups, "
                        "this one has %d" % (len(whole["param_groups"]),
                                             len(self.param_groups)))
        for group, saved in zip(self.param_groups, whole["param_groups"]):
            group.update({k: v for k, v in saved.items() if k != "params"})
        for index, _group, param in self.params():
            self.state[param].update(whole["state"].get(index, {}))
