# SPDX-License-Identifier: MIT
"""A training with PyTorch's DistributedDataParallel, elastic without pollux.

    pollux-launch --local -n 2 python3 train_on_signal.py
    pollux-launch --job=train_on_signal --resize=1
    torchrun --nproc_per_node=2 train_on_signal.py
    python3 train_on_signal.py

On the signal all ranks stop at the same step, rank 0 saves, and code 85 says
"saved, start me again". A batch is the same on any number of ranks, so the
weights are too, as far as rounding goes; it is a multiple of each number.
"""

import argparse
import os
import signal
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

BATCH = 24  # of all ranks together
SAVED = 85  # pollux-launch --on-resize: start me again
told = False


def on_signal(*_):
    global told
    told = True


def agreed():
    """Were any of the ranks told to stop? All of them get the same answer."""
    flag = torch.tensor(int(told))
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    return bool(flag)


def batch(step, inputs, targets):
    """This rank's part of the batch of a step."""
    first = step * BATCH % len(inputs)
    part = slice(first + dist.get_rank(), first + BATCH, dist.get_world_size())
    return inputs[part], targets[part]


def save(path, state):
    torch.save(state, path + ".new")
    os.rename(path + ".new", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--pause", type=float, default=0,
                        help="seconds of sleep in each step")
    args = parser.parse_args()
    signal.signal(signal.SIGUSR1, on_signal)  # pollux-launch: a resize
    signal.signal(signal.SIGTERM, on_signal)  # Slurm: scancel
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"),
                        ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "0")):
        os.environ.setdefault(name, value)
    dist.init_process_group("gloo")
    path = os.path.join(os.environ.get("POLLUX_CHECKPOINT_DIR", "."),
                        "state.pt")

    torch.manual_seed(1)
    inputs = torch.randn(BATCH * 40, 8)
    targets = inputs.pow(2).sum(1, keepdim=True)
    model = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(),
                                torch.nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    step = 0
    if os.path.exists(path):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    parallel = DistributedDataParallel(model)

    while step < args.steps and not agreed():
        own, wanted = batch(step, inputs, targets)
        loss = torch.nn.functional.mse_loss(parallel(own), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if dist.get_rank() == 0 and step % 50 == 0:
            print("step %d on %d ranks: loss %.4f" %
                  (step, dist.get_world_size(), loss), flush=True)
        time.sleep(args.pause)
    if dist.get_rank() == 0:
        save(path, {"model": model.state_dict(), "step": step,
                    "optimizer": optimizer.state_dict()})
    dist.barrier()
    sys.exit(0 if step == args.steps else SAVED)


if __name__ == "__main__":
    main()
