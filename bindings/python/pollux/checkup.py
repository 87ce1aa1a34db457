# SPDX-License-Identifier: MIT
"""python3 -m pollux.checkup SCRIPT: what will not work in it, line by line.

The script is read, not run: what is said of it is what its text shows.
pollux-doctor(1) prints it for `pollux-doctor python3 train.py`.
"""

import ast
import importlib
import os
import shutil
import sys
from typing import Iterator, List, NamedTuple, Optional, Set


class Finding(NamedTuple):
    state: str  # as pollux-doctor's: ok, warning, wrong
    name: str
    text: str

    def line(self) -> str:
        return "%-9s %-11s %s" % self


# What is called or imported, by the last part of its name, in a script that
# uses pollux: (check, what is wrong with it).
_CALLS = {
    "DistributedSampler": (
        "sampler", "pollux.DataLoader gives each rank its part of each step, "
        "a DistributedSampler would part it again: leave it out"),
    "init_process_group": (
        "torchrun", "pollux connects the ranks: leave init_process_group() "
        "and what follows of it out"),
    "FullyShardedDataParallel": (
        "sharding", "FSDP shards the model, pollux wants it whole on each "
        "rank"),
    "fully_shard": (
        "sharding", "FSDP shards the model, pollux wants it whole on each "
        "rank"),
    "ZeroRedundancyOptimizer": (
        "sharding", "a sharded optimiser cannot be resized: use the plain "
        "one"),
}
_MODULES = {"deepspeed": ("sharding", "DeepSpeed shards the model, pollux "
                          "wants it whole on each rank")}

# Of a loop that is another framework's.
_FRAMEWORKS = ("pollux.huggingface", "pollux.accelerated", "pollux.lightning")


def _name(node: ast.AST) -> str:
    """The dotted name of a call or attribute; "" for others."""
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return "%s.%s" % (_name(node.value), node.attr)
    return node.id if isinstance(node, ast.Name) else ""


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    return (n for n in ast.walk(node) if isinstance(n, ast.Call))


class _Script:
    """One file as its syntax tree, and what is found in it."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._found: List[Finding] = []
        self._told: Set[tuple] = set()
        self._functions = {n.name for n in ast.walk(tree)
                           if isinstance(n, ast.FunctionDef)}

    def _add(self, state: str, name: str, node: ast.AST, text: str) -> None:
        line = getattr(node, "lineno", 0)
        if (name, line) not in self._told:
            self._told.add((name, line))
            self._found.append(Finding(state, name, "line %d: %s"
                                       % (line, text)))

    def _imports(self) -> Iterator[tuple]:
        """(node, module, name or None)"""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield node, alias.name, None
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    yield node, node.module or "", alias.name

    def uses_pollux(self) -> bool:
        return any(module.split(".")[0] == "pollux"
                   for _node, module, _name in self._imports())

    def keeps_its_loop(self) -> bool:
        """It is only told when to save and leave; all else is PyTorch's."""
        return any(module in _FRAMEWORKS
                   for _node, module, _name in self._imports()) or any(
            _name(call) == "pollux.Stop" for call in _calls(self._tree))

    def findings(self) -> List[Finding]:
        torchs_ddp = False
        for node, module, name in self._imports():
            if module.split(".")[0] in _MODULES:
                self._add("wrong", *self._with(
                    node, _MODULES[module.split(".")[0]]))
            torchs_ddp |= name == "DistributedDataParallel" and \
                module.startswith("torch.")
        for call in _calls(self._tree):
            self._look_at_call(call, torchs_ddp)
        self._look_at_checkpoints()
        self._look_at_means()
        for node in ast.walk(self._tree):
            if isinstance(node, (ast.For, ast.While)):
                self._look_in_loop(node)
        return sorted(self._found, key=lambda f: int(
            f.text.split(":")[0].split()[1]))

    @staticmethod
    def _with(node: ast.AST, said: tuple) -> tuple:
        return said[0], node, said[1]

    def _look_at_call(self, call: ast.Call, torchs_ddp: bool) -> None:
        name = _name(call)
        last = name.split(".")[-1]
        if last in _CALLS:
            self._add("wrong", *self._with(call, _CALLS[last]))
        if last == "DistributedDataParallel" and not name.startswith(
                "pollux.") and (torchs_ddp or name.startswith("torch.")):
            self._add("wrong", "ddp", call, "PyTorch's DDP: write "
                      "pollux.DistributedDataParallel(model)")
        if name == "pollux.DataLoader":
            self._look_at_loader(call)
        if last == "step":
            self._look_at_step(call)
        if name == "signal.signal" and len(call.args) == 2 and _name(
                call.args[0]).endswith("SIGTERM") and not _name(
                    call.args[1]).endswith("SIG_DFL"):
            self._add("warning", "sigterm", call, "libpollux saves at "
                      "SIGTERM, but not where the script has a handler of "
                      "its own: leave it out")

    def _made_by(self, *makers: str) -> Set[str]:
        """What is assigned an object that one of them makes."""
        return {_name(target) for node in ast.walk(self._tree)
                if isinstance(node, ast.Assign) and
                isinstance(node.value, ast.Call) and
                _name(node.value) in makers for target in node.targets}

    def _look_at_checkpoints(self) -> None:
        """Of the script's own, with all that pollux restores."""
        restored = self._made_by("pollux.Optimizer", "pollux.LRScheduler",
                                 "pollux.GradScaler")
        for call in _calls(self._tree):
            owner, _dot, method = _name(call).rpartition(".")
            if method == "load_state_dict" and owner in restored:
                self._add("warning", "checkpoint", call, "pollux restores "
                          "what it has saved; a checkpoint of the script's "
                          "own that is read, too, is where a new job begins, "
                          "at epoch 0: leave it out")
                return

    def _look_at_means(self) -> None:
        """Sums that are divided by the number of steps."""
        loaders = self._made_by("pollux.DataLoader")
        for node in ast.walk(self._tree):
            if isinstance(node, ast.BinOp) and isinstance(
                    node.op, ast.Div) and isinstance(
                        node.right, ast.Call) and node.right.args and _name(
                            node.right) == "len" and _name(
                                node.right.args[0]) in loaders:
                self._add("warning", "mean", node, "len() counts steps of the "
                          "base batch, and an epoch of larger ones has fewer: "
                          "divide by the samples, or use pollux.Metrics")

    def _look_at_loader(self, call: ast.Call) -> None:
        values = call.args[1:2] + [k.value for k in call.keywords
                                   if k.arg == "batch_size"]
        for value in values:
            if isinstance(value, ast.BinOp) and isinstance(
                    value.op, (ast.FloorDiv, ast.Div)):
                self._add("warning", "batch", call, "batch_size is the total "
                          "over all ranks: do not divide it")
        for keyword in call.keywords:
            if keyword.arg == "drop_last" and getattr(
                    keyword.value, "value", True):
                self._add("wrong", "drop_last", call, "each sample is used: "
                          "leave drop_last out")

    def _look_at_step(self, call: ast.Call) -> None:
        given = call.args[:1] + [k.value for k in call.keywords
                                 if k.arg == "closure"]
        for value in given:
            if isinstance(value, ast.Lambda) or \
                    _name(value) in self._functions:
                self._add("warning", "closure", call, "step(closure): the "
                          "closure is one pass of one step; to call it "
                          "several times, as LBFGS does, costs as many")

    def _look_in_loop(self, loop: ast.AST) -> None:
        every = {_name(target) for node in ast.walk(loop)
                 if isinstance(node, ast.Assign) and
                 self._is_every(node.value) for target in node.targets}
        for node in ast.walk(loop):
            if isinstance(node, ast.If) and (
                    self._is_every(node.test) or _name(node.test) in every) \
                    and self._only_steps(node):
                self._add("wrong", "accumulate", node, "gradients are added "
                          "up over several batches: give the whole batch to "
                          "pollux.DataLoader and max_gpu_batch to "
                          "pollux.init(), and step each time")
            if self._unfreezes(node):
                self._add("warning", "unfreeze", node, "parameters become "
                          "trainable in the loop: they must be in the "
                          "optimiser from the beginning")
            if isinstance(node, ast.Call) and \
                    _name(node).endswith(".add_param_group"):
                self._add("wrong", "unfreeze", node, "add_param_group() in "
                          "the loop: add the parameters before training "
                          "begins, frozen")

    @staticmethod
    def _is_every(test: ast.AST) -> bool:
        return any(isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)
                   for n in ast.walk(test))

    @staticmethod
    def _only_steps(node: ast.AST) -> bool:
        """Of an optimiser whose backward() is elsewhere."""
        names = [_name(call) for call in _calls(node)]
        return any(n.endswith(".step") and "sched" not in n for n in names) \
            and not any(n.endswith("backward") for n in names)

    @staticmethod
    def _unfreezes(node: ast.AST) -> bool:
        if isinstance(node, ast.Assign):
            return any(isinstance(t, ast.Attribute) and
                       t.attr == "requires_grad" for t in node.targets) and \
                getattr(node.value, "value", None) is True
        return isinstance(node, ast.Call) and \
            _name(node).endswith(".requires_grad_") and \
            all(getattr(a, "value", None) is not False for a in node.args)


def environment() -> Iterator[Finding]:
    """The Python that runs this, and what it has."""
    yield Finding("ok", "python", "%s, %s" % (
        sys.version.split()[0], sys.executable))
    library = importlib.import_module(".library", __package__)
    try:
        found = library.load()
        yield Finding("ok", "library", "libpollux %s, %s; the package is %s"
                      % (library.version(), found._name,
                         os.path.dirname(os.path.abspath(__file__))))
    except library.Error as error:
        yield Finding("wrong", "library", str(error))
    try:
        torch = importlib.import_module("torch")
        gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
        yield Finding("ok", "torch", "PyTorch %s, %s; %s" % (
            torch.__version__, "%d GPU%s" % (gpus, "s" * (gpus != 1))
            if gpus else "no GPU that it can use here",
            os.path.dirname(torch.__file__)))
    except ImportError as error:
        yield Finding("wrong", "torch", "%s: install PyTorch for %s, or name "
                      "the python of its environment"
                      % (error, sys.executable))
    path = shutil.which("pollux-launch")
    yield Finding("ok", "launcher", path) if path else Finding(
        "warning", "launcher", "there is no pollux-launch in PATH")


def script(path: str) -> Iterator[Finding]:
    """What is found in the file."""
    try:
        with open(path, "rb") as file:
            read = _Script(ast.parse(file.read(), path))
    except (OSError, SyntaxError, ValueError) as error:
        yield Finding("wrong", "script", "%s" % error)
        return
    if not read.uses_pollux():
        yield Finding("warning", "script", "%s does not use pollux: its job "
                      "is resized only if it saves on a signal, and nothing "
                      "adapts (docs/python.md, docs/launch.md)" % path)
        return
    found = [] if read.keeps_its_loop() else read.findings()
    yield from found
    if not found:
        yield Finding("ok", "script", "%s: nothing is in the way" % path)


def main(arguments: Optional[List[str]] = None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 1:
        print("usage: python3 -m pollux.checkup SCRIPT", file=sys.stderr)
        return 2
    wrong = False
    for finding in [*environment(), *script(arguments[0])]:
        print(finding.line())
        wrong |= finding.state == "wrong"
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
