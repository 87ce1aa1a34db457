# SPDX-License-Identifier: MIT
"""An elastic training for the sandbox: slow enough to be resized.

    pollux-launch python3 elastic.py EPOCHS SAMPLES MS_PER_SAMPLE HURRY

Once the file HURRY exists, each pass is as fast as it can be.
"""

import os
import sys
import time

import pollux
import torch

from common import Points, loss_of, network, schedule, sgd


def main():
    epochs, samples = int(sys.argv[1]), int(sys.argv[2])
    per_sample_s, hurry = 1e-3 * float(sys.argv[3]), sys.argv[4]
    dataset = Points(samples)
    run = pollux.init(seed=11)
    loader = pollux.DataLoader(dataset, 64, shuffle=True)
    model = pollux.DistributedDataParallel(network(norm=True))
    optimizer = pollux.Optimizer(sgd(model, lr=0.02))
    scheduler = pollux.LRScheduler(schedule(optimizer))
    for epoch in run.epochs(epochs):
        for numbers, inputs, targets in loader:
            # The data are those of the numbers, whoever fetched them.
            assert torch.equal(inputs, dataset.inputs[numbers])
            loss = loss_of(model, inputs, targets)
            if not os.path.exists(hurry):
                time.sleep(per_sample_s * len(numbers))
            run.backward(loss)
            optimizer.step()
        scheduler.step()
        if run.rank == 0:
            print("epoch %d on %d ranks: loss %.4f, lr %g"
                  % (epoch, run.world_size, run.info().loss,
                     optimizer.param_groups[0]["lr"]), flush=True)
    print("rank %d of %d has finished" % (run.rank, run.world_size),
          flush=True)


if __name__ == "__main__":
    main()
