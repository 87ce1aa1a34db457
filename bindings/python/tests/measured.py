# SPDX-License-Identifier: MIT
"""Metrics over ranks: measured.py EPOCHS [SECONDS a step, while ./slow is]

Each epoch prints the mean of the numbers of the samples trained on and of
their squares, and the same of 37 samples that are evaluated.
"""

import os
import sys
import time

import pollux
import torch

from common import Points, loss_of, network, sgd

SAMPLES = 1001


def mean_numbers(metrics, numbers):
    metrics.add("number", numbers.sum(), len(numbers))
    metrics.add("square", (numbers.double() ** 2).sum(), len(numbers))


def evaluate(metrics, loader, model):
    model.eval()
    with torch.no_grad():
        for numbers, inputs, _targets in loader:
            model(inputs)
            mean_numbers(metrics, numbers)
    model.train()
    return metrics.take()


def main(epochs, seconds):
    pollux.init(epochs=epochs)
    loader = pollux.DataLoader(Points(SAMPLES), 64, max_batch_size=64,
                               shuffle=True)
    held_out = pollux.EvaluationLoader(Points(37), 4)
    model = pollux.DistributedDataParallel(network())
    optimizer = pollux.Optimizer(sgd(model))
    trained = pollux.Metrics("trained")
    evaluated = pollux.Metrics("evaluated")
    for epoch in pollux.epochs():
        for numbers, inputs, targets in loader:
            pollux.backward(loss_of(model, inputs, targets))
            optimizer.step()
            mean_numbers(trained, numbers)
            if seconds and os.path.exists("slow"):
                time.sleep(seconds)
        means = trained.take()
        line = "epoch %d: %r %r" % (epoch, means["number"], means["square"])
        means = evaluate(evaluated, held_out, model)
        line += " evaluated: %r %r on %d" % (
            means["number"], means["square"], pollux.world_size())
        if pollux.rank() == 0:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    # When all is over, too.
    assert evaluate(evaluated, held_out, model)["number"] == 18.0


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
