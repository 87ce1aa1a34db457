# SPDX-License-Identifier: MIT
"""A training that gets SIGTERM: what it has committed is not lost.

    python3 terminated.py FOLDER: step of the restored run, 0 at first
"""

import os
import signal
import sys

import pollux

from common import Points, loss_of, network, sgd


def main():
    run = pollux.init(checkpoint_dir=sys.argv[1], checkpoint_every_s=0.0)
    loader = pollux.DataLoader(Points(), 16)
    model = pollux.DistributedDataParallel(network())
    optimizer = pollux.Optimizer(sgd(model))
    for epoch in run.epochs(2):
        for _numbers, inputs, targets in loader:
            if run.info().step == 10:
                print("restored" if run.info().restored else "fresh",
                      flush=True)
                if not run.info().restored:
                    os.kill(os.getpid(), signal.SIGTERM)
                    while True:  # in Python, while a thread of C saves
                        pass
            run.backward(loss_of(model, inputs, targets))
            optimizer.step()


if __name__ == "__main__":
    main()
