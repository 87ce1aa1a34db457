# SPDX-License-Identifier: MIT
#
# flood.py FILE - keep the slurmd of this node from answering when the job is to
# give GPUs up, as anybody can who connects to it and says nothing. The file is
# there from then on.
#
# slurmd answers with 256 threads, and each waits for what a connection brings.
# Pings pass now and then, as it lets go for two seconds in twenty.

import os
import re
import select
import socket
import subprocess
import sys
import time

MANY = 600
FLOOD_S = 60


def said(*command):
    return subprocess.run(command, capture_output=True, text=True).stdout


def address():
    node = said('scontrol', 'show', 'node', os.environ['SLURMD_NODENAME'])
    port = re.search(r'Port=(\d+)', node)
    return ('127.0.0.1', int(port.group(1)) if port else 6818)


def is_asked():
    job = said('scontrol', 'show', 'job', os.environ['SLURM_JOB_ID'])
    return re.search(r'SystemComment=.*state=(asked|lent)', job)


def connect(to):
    one = socket.socket()
    one.setblocking(False)
    one.connect_ex(to)
    return one


def without_dead(held):
    poll = select.poll()
    for one in held:
        poll.register(one, select.POLLIN | select.POLLHUP)
    dead = {number for number, _ in poll.poll(0)}
    for one in held:
        if one.fileno() in dead:
            one.close()
    return [one for one in held if one.fileno() >= 0]


def main():
    to = address()
    while True:
        held = []
        while not is_asked():
            time.sleep(0.1)
        end_s = time.monotonic() + FLOOD_S
        while time.monotonic() < end_s:
            held += [connect(to) for _ in range(MANY - len(held))]
            time.sleep(0.1)
            held = without_dead(held)
            open(sys.argv[1], 'w').close()
        for one in held:
            one.close()


main()
