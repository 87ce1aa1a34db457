# SPDX-License-Identifier: MIT
"""Tar shards: what is found in them, in which order, and what is refused."""

import glob
import gzip
import io
import os
import shutil
import tarfile
import tempfile
import unittest

import pollux


class Shards(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, members, **options):
        with tarfile.open(self.path(name), "w", **options) as file:
            for member in members:
                info = tarfile.TarInfo(member)
                data = member.encode() * 300
                info.size = len(data)
                file.addfile(info, io.BytesIO(data))
        return self.path(name)

    def test_found(self):
        """files of one name are a sample, whatever is between samples"""
        for form in (tarfile.USTAR_FORMAT, tarfile.PAX_FORMAT,
                     tarfile.GNU_FORMAT):
            long = "n" * 120 + "/3"
            path = self.write("a.tar", [
                "__meta__", "x/1.jpg", "x/1.cls", "x.y/2.seg.PNG",
                long + ".txt", long + ".é"], format=form)
            data = pollux.TarShards([path])
            self.assertEqual(len(data), 3)
            self.assertEqual(data[0], {"__key__": "x/1",
                                       "jpg": b"x/1.jpg" * 300,
                                       "cls": b"x/1.cls" * 300})
            self.assertEqual(data[1]["__key__"], "x.y/2")
            self.assertIn("seg.png", data[1])
            self.assertEqual(set(data[2]), {"__key__", "txt", "é"})
            self.assertEqual(data[2]["__key__"], long)

    def test_where(self):
        """each sample has a shard and a place in there"""
        for shard, count in enumerate((2, 1, 4)):
            self.write("s-%d.tar" % (shard + 8),
                       ["%d.a" % i for i in range(count)])
        self.write("s-%d.tar" % 11, [])
        data = pollux.TarShards(self.path("s-{8..11}.tar"))
        self.assertEqual([data.where(i) for i in range(len(data))],
                         [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2),
                          (2, 3)])
        self.assertEqual(data[3]["__key__"], "0")
        self.assertEqual(
            len(pollux.TarShards(self.path("s-[89].tar"))), 3)
        for number in (-1, 7):
            with self.assertRaises(IndexError):
                data.where(number)

    def test_order(self):
        """an epoch has all samples, shard by shard, in an order of its own"""
        for shard in range(4):
            self.write("o%d.tar" % shard, ["%d.a" % i for i in range(5)])
        order = pollux.TarShards(self.path("o{0..3}.tar")).order(seed=1)
        seen = []
        for epoch in (0, 1, 0):
            order.set_epoch(epoch)
            seen.append(list(order))
            self.assertEqual(sorted(seen[-1]), list(range(20)))
            for at in range(0, 20, 5):
                self.assertEqual(len({i // 5 for i in
                                      seen[-1][at:at + 5]}), 1)
        self.assertEqual(seen[0], seen[2])
        self.assertNotEqual(seen[0], seen[1])

    def test_index(self):
        """a shard that was changed is looked at again"""
        path = self.write("i.tar", ["1.a", "2.a"])
        index = self.path("index")
        self.assertEqual(len(pollux.TarShards(path, index=index)), 2)
        self.assertEqual(len(pollux.TarShards(path, index=index)), 2)
        self.write("i.tar", ["1.a", "2.a", "3.a"])
        self.assertEqual(len(pollux.TarShards(path, index=index)), 3)
        noted, = glob.glob(os.path.join(index, "i.tar.*.index"))
        with open(noted, "w") as file:
            file.write("{")
        self.assertEqual(len(pollux.TarShards(path, index=index)), 3)

    def test_index_of_two_folders(self):
        """shards of one name, size and time in two folders are told apart"""
        paths = []
        for folder, names in (("a", ["1.x", "1.y"]), ("b", ["1.x", "2.x"])):
            os.makedirs(self.path(folder))
            paths.append(self.write(folder + "/i.tar", names))
            os.utime(paths[-1], (1, 1))
        for _start in (1, 2):
            data = pollux.TarShards(paths, index=self.path("both"))
            self.assertEqual(len(data), 3)

    def refuse(self, text, path):
        with self.assertRaisesRegex(pollux.Error, text):
            data = pollux.TarShards(path)
            data[len(data) - 1]

    def test_refused(self):
        """what would lose samples, or mix them up, is refused"""
        path = self.write("r.tar", ["1.a", "2.a"])
        with open(path, "rb") as file:
            whole = file.read()
        cut = self.path("cut.tar")
        for length, text in ((1536, "ends too early"),
                             (1500, "unexpected end of data"),
                             (1700, "ends too early|end of data")):
            with open(cut, "wb") as file:
                file.write(whole[:length])
            self.refuse(text, cut)
        with gzip.open(cut, "wb") as file:
            file.write(whole)
        self.refuse("not compressed", cut)
        self.refuse("No such file", self.path("none.tar"))
        self.refuse("no samples", self.write("e.tar", []))
        self.refuse("no samples", self.path("x*.tar"))
        self.refuse("two files of sample 1 are called .a",
                    self.write("d.tar", ["1.a", "1.A"]))


if __name__ == "__main__":
    unittest.main()
