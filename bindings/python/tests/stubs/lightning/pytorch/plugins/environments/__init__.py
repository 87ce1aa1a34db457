# SPDX-License-Identifier: MIT
"""A stub of lightning's environment of one machine, which starts ranks."""

import os


class LightningEnvironment:
    @property
    def creates_processes_externally(self):
        return "LOCAL_RANK" in os.environ

    @property
    def main_port(self):
        return int(os.environ.get("MASTER_PORT", 0))
