# SPDX-License-Identifier: MIT
"""python3 -m pollux: what is there, and what is not."""

import importlib
import sys

from . import environment, library


def main() -> int:
    try:
        found = library.load()
    except library.Error as error:
        print("pollux: %s" % error, file=sys.stderr)
        return 1
    print("libpollux %s (%s)" % (library.version(), found._name))
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("PyTorch: not found by %s" % sys.executable)
    else:
        print("PyTorch %s, %s" % (torch.__version__,
                                  "%d GPUs" % torch.cuda.device_count()
                                  if torch.cuda.is_available() else "no GPU"))
    print("launcher: %s" % ("pollux-launch" if environment.under_launcher()
                            else "none, training would run alone or under "
                            "mpirun"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
