# SPDX-License-Identifier: MIT
"""Open a checkpoint as any reader of safetensors would.

    python3 safetensors.py FOLDER: names, shapes and a checksum of all tensors
"""

import glob
import json
import os
import re
import struct
import sys
import zlib

import torch

TYPES = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64,
         "I32": torch.int32, "F16": torch.float16, "U8": torch.uint8,
         "BF16": torch.bfloat16}


def load_file(path):
    """{name: tensor} of one file."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = bytearray(file.read())
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(data, dtype=torch.uint8)[begin:end]
            tensors[name] = flat.view(TYPES[entry["dtype"]]).reshape(
                entry["shape"])
    return tensors


def load_folder(folder):
    """All files; what ranks have written in parts ("NAME[0:8]") as one."""
    tensors, parts = {}, {}
    for path in sorted(glob.glob(os.path.join(folder, "*.safetensors"))):
        for name, tensor in load_file(path).items():
            part = re.fullmatch(r"(.*)\[(\d+):\d+\]", name)
            if part:
                parts.setdefault(part[1], {})[int(part[2])] = tensor
            else:
                tensors[name] = tensor
    for name, rows in parts.items():
        tensors[name] = torch.cat([rows[first] for first in sorted(rows)])
    return tensors


if __name__ == "__main__":
    for name, tensor in sorted(load_folder(sys.argv[1]).items()):
        print(name, list(tensor.shape), "%08x" % zlib.crc32(
            tensor.contiguous().view(torch.uint8).numpy().tobytes()
            if tensor.numel() and tensor.dim() else b""))
