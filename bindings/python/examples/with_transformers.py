# SPDX-License-Identifier: MIT
"""transformers' Trainer: four lines and a batch that are pollux's.

    pollux-launch python3 with_transformers.py
"""

import os

import torch
from pollux.huggingface import PolluxCallback, last_checkpoint, share
from transformers import Trainer, TrainingArguments

STEPS = int(os.environ.get("STEPS", 200))


class Model(torch.nn.Module):
    """Takes what a sample has, by name, and returns the loss."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def forward(self, x=None, labels=None):
        logits = self.layer(x).squeeze(1)
        return {"loss": (logits - labels).square().mean(), "logits": logits}


def main():
    args = TrainingArguments(
        output_dir=os.environ.get("OUTPUT", "output"), max_steps=STEPS,
        per_device_train_batch_size=share(64), save_strategy="no",
        logging_strategy="no", report_to="none", disable_tqdm=True)
    trainer = Trainer(
        model=Model(), args=args, callbacks=[PolluxCallback()],
        train_dataset=[{"x": x, "labels": x.sum()}
                       for x in torch.randn(4096, 8)])
    trainer.train(resume_from_checkpoint=last_checkpoint(args))
    print("trained %d steps, batch %d a rank" % (
        trainer.state.global_step, args.per_device_train_batch_size))


if __name__ == "__main__":
    main()
