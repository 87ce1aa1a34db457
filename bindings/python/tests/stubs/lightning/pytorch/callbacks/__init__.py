# SPDX-License-Identifier: MIT
"""A stub of lightning's callbacks."""


class Callback:
    def on_train_start(self, trainer, pl_module):
        pass

    def on_train_batch_end(self, trainer, pl_module, outputs, batch,
                           batch_idx):
        pass
