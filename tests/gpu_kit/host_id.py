# SPDX-License-Identifier: MIT
"""Run a command as if each rank had a host of its own.

NCCL refuses two ranks on one GPU, unless it takes them for two machines.
"""

import os
import sys

os.environ["NCCL_HOSTID"] = "rank%s" % os.environ["OMPI_COMM_WORLD_RANK"]
os.execv(sys.argv[1], sys.argv[1:])
