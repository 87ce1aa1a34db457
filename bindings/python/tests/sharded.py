# SPDX-License-Identifier: MIT
"""A training on tar shards that notes which samples it was given.

    python3 sharded.py --write        # the shards
    pollux-launch --local python3 sharded.py
    python3 sharded.py --check        # each sample once an epoch?

Slow until the file "hurry" exists.
"""

import collections
import glob
import io
import os
import sys
import tarfile
import time

import pollux
import torch

from common import BATCH, Points, loss_of, network, sgd

EPOCHS = 12
SIZES = [37, 1, 50, 12]  # samples of the shards
POINTS = Points(sum(SIZES))


def write():
    number = 0
    for shard, size in enumerate(SIZES):
        with tarfile.open("data-%02d.tar" % shard, "w") as file:
            for _ in range(size):
                own, inputs, target = POINTS[number]
                for kind, data in (("in.f32", inputs.numpy().tobytes()),
                                   ("cls", b"%d %r" % (own, float(target)))):
                    info = tarfile.TarInfo("deep/%04d.%s" % (number, kind))
                    info.size = len(data)
                    file.addfile(info, io.BytesIO(data))
                number += 1


def decode(sample):
    number, target = sample["cls"].split()
    assert sample["__key__"] == "deep/%04d" % int(number)
    inputs = torch.frombuffer(bytearray(sample["in.f32"]),
                              dtype=torch.float32)
    return int(number), inputs, torch.tensor(float(target))


def train():
    # Steps in which a rank was lost are noted again by later starts.
    notes = open("notes.%s.%d" % (os.environ["POLLUX_GENERATION"],
                                  pollux.rank()), "w")
    data = pollux.TarShards("data-{00..03}.tar", decode, index="index")
    loader = pollux.DataLoader(data, batch_size=BATCH, num_workers=1,
                               sampler=data.order(seed=3))
    model = pollux.DistributedDataParallel(network())
    optimizer = pollux.Optimizer(sgd(model))
    for epoch in pollux.epochs(EPOCHS):
        for numbers, inputs, targets in loader:
            if not loader.is_filler:
                for own, values in zip(numbers.tolist(), inputs):
                    assert torch.equal(values, POINTS[own][1])
                    notes.write("%d %d %d\n" % (epoch, pollux.info().step,
                                                own))
            notes.flush()
            if not os.path.exists("hurry"):
                time.sleep(1)
            optimizer.zero_grad()
            pollux.backward(loss_of(model, inputs, targets))
            optimizer.step()
    print("trained to the end", flush=True)


def check():
    steps = collections.defaultdict(dict)  # (epoch, step): by generation
    for path in glob.glob("notes.*"):
        generation = int(path.split(".")[1])
        for line in open(path):
            epoch, step, own = map(int, line.split())
            steps[epoch, step].setdefault(generation, []).append(own)
    given = collections.defaultdict(list)
    for (epoch, _step), by in steps.items():
        given[epoch] += by[max(by)]
    orders = set()
    for epoch in range(EPOCHS):
        assert sorted(given[epoch]) == list(range(len(POINTS))), \
            (epoch, sorted(given[epoch]))
        orders.add(tuple(given[epoch]))
    print("%d epochs, each sample once, starts: %d"
          % (EPOCHS, 1 + max(max(by) for by in steps.values()) - 1))
    assert len(orders) == EPOCHS


if __name__ == "__main__":
    {"--write": write, "--check": check}.get(sys.argv[-1], train)()
