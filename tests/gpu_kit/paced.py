# SPDX-License-Identifier: MIT
"""Run a training of another framework's, step by step: for frameworks.py.

    python3 paced.py SCRIPT

While there is a file "slow" in this folder a step takes longer. After each
one "RANK-of-RANKS" has the number of steps of this process, a checksum of
its parameters, and where they are.
"""

import os
import runpy
import sys
import time
import zlib

import torch

PACE_S = 0.1
NAME = "%s-of-%s" % (os.environ["RANK"], os.environ["WORLD_SIZE"])


def note(optimizer, steps):
    crc, device = 0, "cpu"
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            device = parameter.device.type
            values = parameter.detach().cpu().numpy()
            crc = zlib.crc32(values.tobytes(), crc)
    with open(NAME + ".new", "w") as file:
        file.write("%d %08x %s" % (steps, crc, device))
    os.replace(NAME + ".new", NAME)


def paced(step):
    steps = 0

    def slowly(optimizer, *args, **kwargs):
        nonlocal steps
        done = step(optimizer, *args, **kwargs)
        steps += 1
        note(optimizer, steps)
        time.sleep(PACE_S if os.path.exists("slow") else 0)
        return done
    return slowly


if __name__ == "__main__":
    for kind in (torch.optim.SGD, torch.optim.AdamW):
        kind.step = paced(kind.step)
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
    runpy.run_path(sys.argv[0], run_name="__main__")
