# SPDX-License-Identifier: MIT
"""transformers' Trainer: four lines and a batch that are pollux's.

    pollux-launch python3 with_transformers.py
"""

import os

import torch
from pollux.huggingface import PolluxCallback, last_checkpoint, share
from transformers import Trainer, TrainingArguments

STEPS = int(os.environ.get("STEPS", 200))


def main():
    args = TrainingArguments(
        output_dir=os.environ.get("OUTPUT", "output"), max_steps=STEPS,
        per_device_train_batch_size=share(64))
    trainer = Trainer(
        model=torch.nn.Linear(8, 1), args=args,
        train_dataset=torch.randn(4096, 8), callbacks=[PolluxCallback()])
    trainer.train(resume_from_checkpoint=last_checkpoint(args.output_dir))
    print("trained %d steps, batch %d a rank" % (
        trainer.state.global_step, args.per_device_train_batch_size))


if __name__ == "__main__":
    main()
