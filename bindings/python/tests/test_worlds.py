# SPDX-License-Identifier: MIT
"""Trainings of all kinds: the same as plain PyTorch, on one rank."""

import tempfile
import unittest

import pollux
import torch

import worlds
from test_alone import Alone


def expected(world):
    torch.manual_seed(9)
    return world(worlds.Plain())


def trained(world, **options):
    torch.manual_seed(9)
    pollux.init(**{"collectives": "self", "quiet": True,
                   "lr_scaling": "fixed", **options})
    return world(pollux)


class Worlds(Alone):
    """One test each, named and told below."""


def _add(world):
    def test(self):
        self.same_weights(trained(world), expected(world))
    test.__doc__ = "%s: the weights are those of plain PyTorch" \
        % world.__name__
    setattr(Worlds, "test_" + world.__name__, test)


for _world in worlds.ALL:
    _add(_world)


class Killed(Exception):
    """In place of a SIGKILL."""


class Mortal:
    """pollux, whose run breaks off in a step."""

    def __init__(self, step):
        self._step = step

    def __getattr__(self, name):
        return getattr(pollux, name)

    def DataLoader(self, *args, **kwargs):
        inner, outer = pollux.DataLoader(*args, **kwargs), self

        class Breaking:
            def __len__(self):
                return len(inner)

            def __iter__(self):
                for batch in inner:
                    run = pollux.current()
                    if run.info().step == outer._step - 1:
                        pollux.checkpoint()
                    if run.info().step == outer._step:
                        raise Killed()
                    yield batch
        return Breaking()

    def steps(self, count):
        for batch in pollux.steps(count):
            info = pollux.info()
            if info.step == self._step - 1:
                pollux.checkpoint()
            if info.step == self._step:
                raise Killed()
            yield batch


class Resumed(Alone):
    """The same, broken off in the third epoch and begun again."""


def _add_resumed(world):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            options = {"collectives": "self", "quiet": True,
                       "lr_scaling": "fixed", "checkpoint_dir": folder,
                       "checkpoint_every_s": 0.0}
            torch.manual_seed(9)
            pollux.init(**options)
            with self.assertRaises(Killed):
                world(Mortal(17))
            pollux.finish(failed=True)
            model = trained(world, **options)
            self.assertTrue(pollux.info().restored)
        self.same_weights(model, expected(world), 1e-5)
    test.__doc__ = "%s: so they are after a restart" % world.__name__
    setattr(Resumed, "test_" + world.__name__, test)


for _world in worlds.ALL:
    if _world is not worlds.early:  # it has ended by then
        _add_resumed(_world)


if __name__ == "__main__":
    unittest.main()
