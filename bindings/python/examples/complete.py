# SPDX-License-Identifier: MIT
"""All that a training needs, elastic: see docs/python.md.

    pollux-launch --local python3 complete.py      # on this machine
    srun pollux-launch python3 complete.py         # in a Slurm job
"""

import copy
import json
import os

import pollux
import torch
from torch.nn.functional import cross_entropy
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import TensorDataset

EPOCHS = int(os.environ.get("EPOCHS", 20))
BATCH = 64       # the total batch that the learning rate was tuned for
PATIENCE = 5     # epochs without a better validation, then the end
DECAY = 0.99     # of the weights' average
RESULTS = os.environ.get("RESULTS", "results")


def pictures(count, seed):
    """Noise with one bright row; the label says which."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.randn(count, 1, 16, 16, generator=generator)
    labels = torch.randint(16, (count,), generator=generator)
    images[torch.arange(count), 0, labels] += 0.7
    return TensorDataset(images, labels)


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.BatchNorm2d(8),
        torch.nn.ReLU(), torch.nn.MaxPool2d((1, 4)), torch.nn.Flatten(),
        torch.nn.Linear(8 * 16 * 4, 16))


class Best:
    """The best validation so far; registered, so restored with the rest."""

    def __init__(self):
        self.accuracy, self.epoch = 0.0, -1

    def state_dict(self):
        return {"accuracy": self.accuracy, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.accuracy, self.epoch = state["accuracy"], state["epoch"]


class Log:
    """Curves by step. A restart goes on at its step, not at 0."""

    def __init__(self):
        step = pollux.info().step  # known once training has begun
        try:
            from torch.utils.tensorboard import SummaryWriter
            self.writer = SummaryWriter(RESULTS, purge_step=step)
        except ImportError:  # no tensorboard: lines of JSON
            # After a fault a step may come twice: its last line counts.
            self.writer = None
        # wandb: wandb.init(id=os.environ["SLURM_JOB_ID"], resume="allow")

    def add(self, step, **values):
        for name, value in values.items():
            if self.writer:
                self.writer.add_scalar(name, value, step)
        if self.writer:
            self.writer.flush()
        else:
            with open(os.path.join(RESULTS, "curves.jsonl"), "a") as file:
                file.write(json.dumps({"step": step, **values}) + "\n")
        # wandb: wandb.log(values, step=step)


def save(model, name):
    """Weights for others: whole or not at all, by rank 0."""
    if pollux.rank() == 0:
        path = os.path.join(RESULTS, name)
        torch.save(model.state_dict(), path + ".new")
        os.replace(path + ".new", path)


def follow(average, model):
    """An exponential average of weights and statistics."""
    with torch.no_grad():
        for mine, theirs in zip(average.state_dict().values(),
                                model.state_dict().values()):
            if mine.is_floating_point():
                mine.lerp_(theirs, 1 - DECAY)
            else:
                mine.copy_(theirs)


def validate(model, loader, metrics):
    model.eval()
    with torch.no_grad():
        for images, labels in loader:
            scores = model(images)
            loss = cross_entropy(scores, labels, reduction="sum")
            metrics.add("loss", loss, len(labels))
            hits = scores.argmax(1) == labels
            metrics.add("accuracy", hits.sum(), len(labels))
    return metrics.take()  # of all ranks, on all of them


def main():
    os.makedirs(RESULTS, exist_ok=True)
    train = pollux.DataLoader(pictures(4096, 1), BATCH, shuffle=True,
                              max_batch_size=8 * BATCH)
    held_out = pollux.EvaluationLoader(pictures(500, 2), 100)
    model = pollux.DistributedDataParallel(network())
    optimizer = pollux.Optimizer(torch.optim.SGD(
        model.parameters(), lr=0.05, momentum=0.9))
    pollux.LRScheduler(CosineAnnealingLR(optimizer, EPOCHS))
    training, validation = pollux.Metrics(), pollux.Metrics("validation")
    average, best, log = copy.deepcopy(model.module), Best(), None
    for name, tensor in average.state_dict().items():
        pollux.register("average." + name, tensor)
    pollux.register("best", best)

    for epoch in pollux.epochs(EPOCHS):
        model.train()
        for images, labels in train:
            loss = cross_entropy(model(images), labels)
            pollux.backward(loss)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            training.add("loss", loss.detach() * len(labels), len(labels))
            if pollux.is_step():  # not a pass that only accumulates
                follow(average, model.module)
        trained = training.take()["loss"]
        found = validate(average, held_out, validation)
        if found["accuracy"] > best.accuracy:
            best.accuracy, best.epoch = found["accuracy"], epoch
            save(average, "best.pt")
        if pollux.rank() == 0:
            log = log or Log()
            log.add(pollux.info().step, train_loss=trained,
                    loss=found["loss"], accuracy=found["accuracy"])
            print("epoch %d: loss %.4f, validation %.4f, %.1f %% right"
                  % (epoch, trained, found["loss"],
                     100 * found["accuracy"]), flush=True)
        if epoch - best.epoch >= PATIENCE:
            break  # all ranks found the same
    save(model.module, "last.pt")
    pollux.finish()


if __name__ == "__main__":
    main()
