# SPDX-License-Identifier: MIT
"""An optimiser whose learning rate follows the batch."""

from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch

from . import encoding
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


class Optimizer(torch.optim.Optimizer):
    """Wraps any torch.optim.Optimizer.

    step() does nothing in a pass that only accumulates or whose gradient is
    not finite; else each group's lr is multiplied by libpollux's factor for
    the time of the step. zero_grad() is allowed and never needed.
    """

    def __init__(self, optimizer: torch.optim.Optimizer,
                 run: Optional[Run] = None) -> None:
        # Not super().__init__(): all that it would set is the inner one's.
        self.inner = optimizer
        self._run = run or current()
        self._first_group = 0  # number of our group 0 in libpollux
        self._in_place: Set[Tuple[int, str]] = set()
        self._steps_checked = 0
        self._preconditioned: List[Tuple[Bucket, torch.Tensor, tuple]] = []
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
        self._run.zero_grad()

    # The step.

    def step(self, closure: Any = None) -> None:
        if closure is not None:
            raise Error("step(closure) is not supported: call backward() "
                        "and then step()")
        if not self._run.may_step():
            return
        own = [group["lr"] for group in self.param_groups]
        for index, group in enumerate(self.param_groups):
            factor = self._run.lr_factor(self._first_group + index)
            if factor != 1.0:
                group["lr"] = own[index] * factor
        try:
            self.inner.step()
        finally:
            for group, lr in zip(self.param_groups, own):
                group["lr"] = lr
        if self._steps_checked < 2:
            self._check_in_place()
        self._precondition()

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

    def prepare(self, first_group: int, buckets: List[Bucket]) -> None:
        """Before the start: make the state that step() would make."""
        self._first_group = first_group
        make = _FIRST_STATE.get(type(self.inner))
        for index, group, param in self.params():
            if make is None or not param.requires_grad:
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
        for bucket, flat, (group, param) in self._preconditioned:
            step = float(self.state[param]["step"])
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
        whole["state"] = {
            index: {key: value for key, value in entries.items()
                    if (index, key) not in self._in_place}
            for index, entries in whole["state"].items()}
        return encoding.dump(whole, "optimizer")

    def load(self, data: bytes) -> None:
        whole = encoding.load(data, "optimizer", device="cpu")
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
