# SPDX-License-Identifier: MIT
"""A stub: the newest of checkpoint-N in a folder, which must be there."""

import os
import re


def get_last_checkpoint(folder):
    steps = [int(name[11:]) for name in os.listdir(folder)
             if re.fullmatch(r"checkpoint-\d+", name)]
    return os.path.join(folder, "checkpoint-%d" % max(steps)) \
        if steps else None
