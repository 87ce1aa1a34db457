# SPDX-License-Identifier: MIT
"""A small training of one kind, with pollux or plain PyTorch.

    python3 twelve.py --plain FOLDER KIND...
        # plain PyTorch: its weights are FOLDER/KIND.pt
    PLAIN=FOLDER pollux-launch --local python3 twelve.py KIND
        # PACE seconds a sample (0.1), until "hurry" exists

The last line of the latter says whether its weights are the same.
"""

import os
import sys
import time

import pollux
import torch

import common
import worlds

APART = 1e-3  # what rounding on other numbers of ranks may become


def accumulation(P):
    """Refused: half of the gradients would be lost."""
    loader = P.DataLoader(common.Points(), batch_size=common.BATCH)
    model = P.DistributedDataParallel(common.network())
    optimizer = P.Optimizer(common.sgd(model))
    for _epoch in P.epochs(worlds.EPOCHS):
        for step, (_own, inputs, targets) in enumerate(loader):
            P.backward(common.loss_of(model, inputs, targets) / 2)
            if step % 2:
                optimizer.step()
                optimizer.zero_grad()


def exception(P):
    """Ends with its traceback: one rank finds a sample that is broken."""
    loader = P.DataLoader(common.Points(), batch_size=common.BATCH)
    model = P.DistributedDataParallel(common.network())
    optimizer = P.Optimizer(common.sgd(model))
    for epoch in P.epochs(worlds.EPOCHS):
        for own, inputs, targets in loader:
            if epoch == 3 and 50 in own:
                raise ValueError("sample 50 is broken")
            optimizer.zero_grad()
            P.backward(common.loss_of(model, inputs, targets))
            optimizer.step()


def slowly(function, seconds):
    def get(*args):
        if not os.path.exists("hurry"):
            time.sleep(seconds)
        return function(*args)
    return get


def world_of(kind):
    return {"accumulation": accumulation, "exception": exception,
            "edited": worlds.validated}.get(kind) or getattr(worlds, kind)


def train_plain(folder, kinds):
    for kind in kinds:
        torch.manual_seed(9)
        model = world_of(kind)(worlds.Plain())
        torch.save(model.state_dict(), os.path.join(folder, kind + ".pt"))


def compare(kind, ours):
    theirs = torch.load(os.path.join(os.environ["PLAIN"], kind + ".pt"))
    apart = max(float((ours[name] - theirs[name]).abs().max())
                for name in theirs if theirs[name].is_floating_point() and
                torch.isfinite(theirs[name]).all())
    print("%s: %s, weights are %.2g apart" %
          (kind, "the same" if apart <= APART else "another", apart))


def main():
    if sys.argv[1] == "--plain":
        train_plain(sys.argv[2], sys.argv[3:])
        return
    kind = sys.argv[1]
    torch.manual_seed(9)
    common.Points.__getitem__ = slowly(
        common.Points.__getitem__, float(os.environ.get("PACE", "0.1")))
    pollux.init(lr_scaling="fixed")
    model = world_of(kind)(pollux)
    if pollux.rank() == 0:
        compare(kind, model.state_dict())


if __name__ == "__main__":
    main()
