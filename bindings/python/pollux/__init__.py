# SPDX-License-Identifier: MIT
"""Elastic, goodput-optimal data-parallel training with PyTorch.

    import pollux

    loader = pollux.DataLoader(dataset, batch_size=64, max_batch_size=512,
                               shuffle=True)
    model = pollux.DistributedDataParallel(model)
    optimizer = pollux.Optimizer(torch.optim.SGD(model.parameters(), lr=0.1))
    for epoch in pollux.epochs(10):
        for inputs, targets in loader:
            loss = criterion(model(inputs), targets)
            pollux.backward(loss)
            optimizer.step()

The same script runs alone, under mpirun and under pollux-launch, which may
change the number of its ranks at any step. docs/python.md has it all.
"""

import importlib
from typing import Any, List

from . import ending
from .environment import (is_plain, local_rank, rank, under_launcher,
                          world_size)
from .foreign import Stop, share
from .library import Error, version

ending.watch()

# Loaded when first used: they need PyTorch.
_WHERE = {
    "DataLoader": "loader",
    "DistributedDataParallel": "module",
    "EvaluationLoader": "evaluation",
    "GradScaler": "scaler",
    "LRScheduler": "scheduler",
    "Metrics": "metrics",
    "Optimizer": "optimizer",
    "Run": "run",
    "Stopped": "run",
    "TarShards": "shards",
    "backward": "run",
    "busy": "run",
    "checkpoint": "run",
    "current": "run",
    "epochs": "run",
    "finish": "run",
    "info": "run",
    "is_step": "run",
    "init": "run",
    "memory_guard": "run",
    "register": "run",
    "request": "run",
    "steps": "run",
}

__all__ = ["Error", "Stop", "local_rank", "rank", "share", "under_launcher",
           "version", "world_size", *_WHERE]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError("module 'pollux' has no attribute '%s'" % name)
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise Error("pollux.%s needs PyTorch: %s (Debian: python3-torch)"
                    % (name, error)) from error
    where = "plain" if is_plain() else _WHERE[name]
    module = importlib.import_module("." + where, __name__)
    return getattr(module, name)


def __dir__() -> List[str]:
    return sorted(__all__)
