# SPDX-License-Identifier: MIT
"""The package against plain PyTorch: losses and times, a line of JSON.

    python3 train_torch.py KIND DEVICE

KIND is sgd, adamw (fused where the device can), scaler (mixed precision) or
compile. Exit code 1 with a sentence where the losses differ; 77 where this
PyTorch or device has no such thing.
"""

import json
import sys
import time

import pollux
import torch
from torch.nn.functional import cross_entropy

SAMPLES, EPOCHS, BATCH, FEATURES, CLASSES = 2048, 3, 128, 64, 10


def no(why):
    print(why)
    sys.exit(77)


def dataset(device):
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(SAMPLES, FEATURES, generator=generator)
    weights = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(
        inputs.to(device), (inputs @ weights).argmax(1).to(device))


def network(device, kind):
    torch.manual_seed(2)
    model = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, 512), torch.nn.ReLU(),
        torch.nn.Linear(512, CLASSES)).to(device)
    if kind == "compile":
        if not hasattr(torch, "compile"):
            no("PyTorch %s has no torch.compile" % torch.__version__)
        model = torch.compile(model)
    return model


def optimizer_of(model, device, kind):
    if kind != "adamw":
        return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    fused = {"fused": True} if device == "cuda" else {}
    try:
        return torch.optim.AdamW(model.parameters(), lr=1e-3, **fused)
    except (TypeError, RuntimeError) as error:
        no("no fused AdamW: %s" % error)


def autocast(device, kind):
    return torch.autocast(device, dtype=torch.float16 if device == "cuda"
                          else torch.bfloat16, enabled=kind == "scaler")


def plain_scaler(device, kind):
    enabled = kind == "scaler" and device == "cuda"
    if hasattr(torch, "amp") and hasattr(torch.amp, "GradScaler"):
        return torch.amp.GradScaler(device, enabled=enabled)
    return torch.cuda.amp.GradScaler(enabled=enabled)


def settle(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(losses, times, device, step):
    """One step; its loss and when it ended."""
    losses.append(step().detach())
    settle(device)
    times.append(time.perf_counter())


def plain(device, kind):
    model = network(device, kind)
    optimizer = optimizer_of(model, device, kind)
    scaler = plain_scaler(device, kind)
    losses, times = [], []
    for _epoch in range(EPOCHS):
        for inputs, labels in torch.utils.data.DataLoader(dataset(device),
                                                          BATCH):
            def step():
                optimizer.zero_grad()
                with autocast(device, kind):
                    loss = cross_entropy(model(inputs), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                return loss
            timed(losses, times, device, step)
    return losses, times


def elastic(device, kind):
    run = pollux.init(collectives="self", quiet=True)
    loader = pollux.DataLoader(dataset(device), BATCH)
    model = pollux.DistributedDataParallel(network(device, kind))
    optimizer = pollux.Optimizer(optimizer_of(model, device, kind))
    scaler = pollux.GradScaler(
        device, enabled=kind == "scaler" and device == "cuda")
    losses, times = [], []
    for _epoch in run.epochs(EPOCHS):
        for inputs, labels in loader:
            def step():
                optimizer.zero_grad()
                with autocast(device, kind):
                    loss = cross_entropy(model(inputs), labels)
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
                return loss
            timed(losses, times, device, step)
    pollux.finish()
    return losses, times


def median_ms(times):
    """Of a step, without the first ones."""
    steps = sorted(b - a for a, b in zip(times[8:], times[9:]))
    return 1e3 * steps[len(steps) // 2]


def main():
    kind, device = sys.argv[1:3]
    theirs, their_times = plain(device, kind)
    ours, our_times = elastic(device, kind)
    # Rounded to 11 bits, a scale's steps are no longer the same.
    near = 0.05 if kind == "scaler" else 1e-3
    worst = max(abs(float(a) - float(b)) for a, b in zip(ours, theirs))
    print(json.dumps({
        "steps": len(ours), "first_loss": round(float(theirs[0]), 6),
        "last_loss": round(float(theirs[-1]), 6),
        "pollux_last_loss": round(float(ours[-1]), 6),
        "worst_difference": round(worst, 9),
        "plain_ms": round(median_ms(their_times), 4),
        "pollux_ms": round(median_ms(our_times), 4)}))
    if len(ours) != len(theirs) or worst > near:
        print("losses differ by %g, %d steps for %d" % (worst, len(ours),
                                                        len(theirs)))
        sys.exit(1)


if __name__ == "__main__":
    main()
