# SPDX-License-Identifier: MIT
"""What the stubs' loops have in common: ranks, and a slow step."""

import os
import time

import torch
import torch.distributed as dist


def connect():
    if int(os.environ.get("WORLD_SIZE", 1)) > 1:
        dist.init_process_group("gloo")


def rank():
    return int(os.environ.get("RANK", 0))


def barrier():
    if dist.is_initialized():
        dist.barrier()


def slowly():
    time.sleep(float(os.environ.get("STUB_STEP", 0)))


def save(state, path):
    """By rank 0, for all."""
    if rank() == 0:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        torch.save(state, path)
    barrier()
