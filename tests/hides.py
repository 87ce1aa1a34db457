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
# received. memory: the same with memory, and no device is held. ring: it is
# registered with io_uring, and opened again from there when nobody may open it.

import ctypes
import mmap
import os
import socket
import struct
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


# io_uring: system calls, their constants, and where its parameters are.
SETUP, ENTER, REGISTER = 425, 426, 427
REGISTER_FILES, GETEVENTS, FIXED_FD_INSTALL, FIXED_FILE = 2, 1, 54, 1
AT_SQES, ENTRIES, ENTRY_SIZE, PARAMS = 0x10000000, 1, 64, 120


def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        print('ring:', os.strerror(ctypes.get_errno()), flush=True)
        sys.exit(1)
    return result


def is_open_to_us(device):
    try:
        os.close(os.open(device, os.O_RDONLY))
    except PermissionError:
        return False
    return True


def ring(device):
    params = (ctypes.c_uint32 * (PARAMS // 4))()
    ring = call(SETUP, ENTRIES, params)
    file = os.open(device, os.O_RDONLY)
    call(REGISTER, ring, REGISTER_FILES, (ctypes.c_int * 1)(file), 1)
    os.close(file)
    print('ring', flush=True)
    while is_open_to_us(device):
        time.sleep(0.1)
    # struct io_sqring_offsets is the eleventh word: head, tail, ..., array.
    tail, array = params[11], params[16]
    queue = mmap.mmap(ring, array + 4, offset=0)
    entries = mmap.mmap(ring, ENTRY_SIZE, offset=AT_SQES)
    entries[:8] = struct.pack('<BBHi', FIXED_FD_INSTALL, FIXED_FILE, 0, 0)
    queue[array:array + 4] = struct.pack('<I', 0)
    queue[tail:tail + 4] = struct.pack('<I', 1)
    call(ENTER, ring, 1, 1, GETEVENTS, None, 0)
    for number in os.listdir('/proc/self/fd'):
        try:
            if os.readlink(f'/proc/self/fd/{number}') == device:
                print('ring has it back', flush=True)
        except FileNotFoundError:
            pass
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
    if how == 'ring':
        ring(device)
    if how == 'chain':
        chain(device)
        return
    threading.Thread(target=hold, args=(how, device, held)).start()
    held.wait()
    if how == 'dead':
        libc.pthread_exit(None)


main()
