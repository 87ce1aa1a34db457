# SPDX-License-Identifier: MIT
"""A short training whose epochs end in some unusual way.

    pollux-launch --local -n 2 python3 ending.py WHAT [FILE]

WHAT befalls it after the second epoch's last batch, on rank 1 or on all;
FILE is what it waits for, or writes.
"""

import os
import signal
import sys
import time

import pollux
import torch

from common import Points, loss_of, network, sgd

EPOCHS = 3
SAMPLES = 256


def befall(what, file):
    rank = pollux.rank()
    if what == "validate":
        print("rank %d validates" % rank, flush=True)
        time.sleep(float(file))
    if what == "raise" and rank == 1 or what == "raise-all":
        raise ValueError("the second epoch went wrong")
    if what in ("request", "request-two"):
        pollux.request(1 if what == "request" else 2)
        time.sleep(float(file))
    if what == "leave" and rank == 0:
        return True
    return False


def evaluate(seconds):
    """In the middle of an epoch; one rank alone is enough."""
    with pollux.busy():
        print("rank %d validates after step %d"
              % (pollux.rank(), pollux.info().step), flush=True)
        if pollux.rank() == 1:
            time.sleep(seconds)
    print("rank %d has evaluated" % pollux.rank(), flush=True)


class Seen(dict):
    """What is registered: the epochs whose end was done."""

    def state_dict(self):
        return dict(self)

    def load_state_dict(self, state):
        self.update(state)


def counted(seen, run, loss, file):
    """The first time, rank 1 is killed in the middle of it."""
    assert float(loss) >= 0
    seen["ends"] = seen.get("ends", 0) + 1
    if seen["ends"] == 2 and run.rank == 1 and not os.path.exists(file):
        time.sleep(1)  # the other one is in the next epoch's first sum
        open(file, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)


def main():
    what, file = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    run = pollux.init(seed=11)
    loader = pollux.DataLoader(Points(SAMPLES), 64, shuffle=True)
    model = pollux.DistributedDataParallel(network())
    optimizer = pollux.Optimizer(sgd(model, lr=0.02))
    seen = Seen()
    run.register("seen", seen)
    for epoch in run.epochs(EPOCHS):
        for _numbers, inputs, targets in loader:
            loss = loss_of(model, inputs, targets)
            time.sleep(0.02)
            run.backward(loss)
            optimizer.step()
            step = run.info().step
            if what == "busy" and step == 5:
                evaluate(float(file))
            if what == "hang" and step == 5 and run.rank == 1:
                time.sleep(600)
        if epoch == 1 and befall(what, file):
            break
        if what == "count":
            counted(seen, run, loss, file)
        print("rank %d has validated epoch %d" % (run.rank, epoch), flush=True)
    print("rank %d is through, crc %08x, ends %s"
          % (run.rank, run.crc(), seen.get("ends")), flush=True)


if __name__ == "__main__":
    main()
