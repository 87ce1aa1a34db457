# SPDX-License-Identifier: MIT
"""Random numbers of a rank that begins: no others' and none used before.

A script that seeds its generators does so in each process alike: ranks would
drop out the same, and after each resize all would begin with the numbers of
the first step once more.
"""

import contextlib
import hashlib
import random
import sys
from typing import Iterator, Optional

import torch


def reseed(seed: int, step: int, rank: int) -> None:
    """Generators of Python, PyTorch and numpy follow these three, and what
    the script has seeded PyTorch with. Rank 0 of a training that begins goes
    on with the script's own."""
    if rank == 0 and step == 0:
        return
    text = "%d %d %d %d" % (seed, torch.initial_seed(), step, rank)
    digest = hashlib.sha256(text.encode()).digest()
    number = int.from_bytes(digest[:8], "little") >> 1
    random.seed(number)
    torch.manual_seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % (1 << 32))


@contextlib.contextmanager
def seeded(seed: int, own: Optional[torch.Generator]) -> Iterator[None]:
    """What is drawn meanwhile depends on the seed alone, and disturbs nobody.

    own: a generator of the drawer's.
    """
    numpy = sys.modules.get("numpy")
    python = random.getstate()
    numpys = numpy.random.get_state() if numpy else None
    with torch.random.fork_rng(devices=[]):
        random.seed(seed)
        torch.manual_seed(seed)
        if numpy:
            numpy.random.seed(seed % (1 << 32))
        if isinstance(own, torch.Generator):
            own.manual_seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            if numpy:
                numpy.random.set_state(numpys)
