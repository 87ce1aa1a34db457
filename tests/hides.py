# SPDX-License-Identifier: MIT
#
# hides.py - hold a GPU of one's job where it is not easily seen
#
#	hides.py HOW DEVICE
#
# dead: a thread holds it, and the first one has ended; own: a thread that has
# files of its own; many: a process that holds all devices in the folder $MANY
# before; chain: a process that hands it to its child and ends, again and again,
# each with its number in the file $CHAIN. Nobody can end a chain by its pid, so it
# ends with that file, and after ten minutes. message: it waits in a socket, to be
# received. memory: the same with memory, and no device is held.

import ctypes
import os
import socket
import sys
import threading
import time

CLONE_FILES = 0x400
LONG_S = 100000
CHAIN_S = 600

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


def chain(device):
    os.open(device, os.O_RDONLY)
    number = os.open(os.environ['CHAIN'], os.O_WRONLY | os.O_CREAT)
    print('chain', flush=True)
    end_s = time.monotonic() + CHAIN_S
    while os.fstat(number).st_nlink and time.monotonic() < end_s:
        os.pwrite(number, b'%9d\n' % os.getpid(), 0)
        if os.fork():
            os._exit(0)


def message(how, file):
    ends = socket.socketpair()
    socket.send_fds(ends[0], [b'x'], [file])
    os.close(file)
    print(how, flush=True)
    time.sleep(LONG_S)


def main():
    how, device = sys.argv[1:]
    held = threading.Event()
    if how == 'many':
        many(device)
    if how == 'message':
        message(how, os.open(device, os.O_RDONLY))
    if how == 'memory':
        message(how, os.memfd_create('memory'))
    if how == 'chain':
        chain(device)
        return
    threading.Thread(target=hold, args=(how, device, held)).start()
    held.wait()
    if how == 'dead':
        libc.pthread_exit(None)


main()
