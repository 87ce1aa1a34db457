# SPDX-License-Identifier: MIT
"""What the package costs: a step with it and without, in turn, one rank.

    python3 cost.py [--json] [--device=cuda]

CPU time of the fastest half of all steps, so that what else the machine does
counts little; on a GPU time by the wall clock, the GPU's included. "wide" has
a few large layers, "deep" many small ones, where each step is mostly Python.
"""

import json
import sys
import time

import pollux
import torch

MODELS = {  # (layers, numbers a layer has on each side, batch)
    "wide": (4, 512, 64),
    "deep": (50, 64, 64),
}
TURNS, STEPS = 40, 3
DEVICE = "cuda" if "--device=cuda" in sys.argv else "cpu"


def clock():
    if DEVICE == "cpu":
        return time.process_time()
    torch.cuda.synchronize()
    return time.perf_counter()


def network(layers, width):
    parts = []
    for _ in range(layers):
        parts += [torch.nn.Linear(width, width), torch.nn.Tanh()]
    return torch.nn.Sequential(*parts)


def plain_loop(dataset, layers, width, batch):
    model = network(layers, width).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    while True:
        for (inputs,) in torch.utils.data.DataLoader(dataset, batch):
            inputs = inputs.to(DEVICE)
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            float(loss)
            yield


def our_loop(dataset, layers, width, batch):
    run = pollux.init(collectives="self", quiet=True)
    loader = pollux.DataLoader(dataset, batch)
    model = pollux.DistributedDataParallel(
        network(layers, width).to(DEVICE))
    optimizer = pollux.Optimizer(torch.optim.SGD(
        model.parameters(), lr=1e-3, momentum=0.9))
    for _epoch in run.epochs(1000000):
        for (inputs,) in loader:
            inputs = inputs.to(DEVICE)
            optimizer.zero_grad()
            run.backward(model(inputs).square().mean())
            optimizer.step()
            yield


def fast_half_ms(times):
    times = sorted(times)[:len(times) // 2]
    return 1e3 * sum(times) / len(times)


def measure(layers, width, batch):
    dataset = torch.utils.data.TensorDataset(torch.randn(1024, width))
    loops = {"plain": plain_loop(dataset, layers, width, batch),
             "pollux": our_loop(dataset, layers, width, batch)}
    times = {name: [] for name in loops}
    for turn in range(TURNS):
        for name, loop in loops.items():
            for _ in range(STEPS):
                begin = clock()
                next(loop)
                times[name].append(clock() - begin)
            if turn < 3:
                times[name].clear()
    pollux.finish()
    plain, ours = (fast_half_ms(times[name]) for name in ("plain", "pollux"))
    return {"plain_ms": round(plain, 3), "pollux_ms": round(ours, 3),
            "overhead_pct": round(100 * (ours / plain - 1), 2)}


def main():
    torch.set_num_threads(1)
    found = {name: measure(*size) for name, size in MODELS.items()}
    if "--json" in sys.argv:
        print(json.dumps(found))
        return
    for name, row in found.items():
        print("%s: %.3f ms plain, %.3f ms with pollux, %+.2f %%" % (
            name, row["plain_ms"], row["pollux_ms"], row["overhead_pct"]))


if __name__ == "__main__":
    main()
