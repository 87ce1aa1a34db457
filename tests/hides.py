# SPDX-License-Identifier: MIT
#
# hides.py - hold a GPU of one's job where it is not easily seen
#
#	hides.py HOW DEVICE
#
# dead: a thread holds it, and the first one has ended; own: a thread that has
# files of its own; many: a process that holds all devices in the folder $MANY
# before.

import ctypes
import os
import sys
import threading
import time

CLONE_FILES = 0x400
LONG_S = 100000

libc = ctypes.CDLL(None, use_errno=True)


def hold(how, device, held):
    if how == 'own' and libc.unshare(CLONE_FILES) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    os.open(device, os.O_RDONLY)
    print(how, flush=True)
    held.set()
    time.sleep(LONG_S)


def many(device):
    for name in sorted(os.listdir(os.environ['MANY'])):
        os.open(f'{os.environ["MANY"]}/{name}', os.O_PATH)
    hold('many', device, threading.Event())


def main():
    how, device = sys.argv[1:]
    held = threading.Event()
    if how == 'many':
        many(device)
    threading.Thread(target=hold, args=(how, device, held)).start()
    held.wait()
    if how == 'dead':
        libc.pthread_exit(None)


main()
