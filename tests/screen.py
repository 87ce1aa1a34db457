#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""screen.py - a program on a terminal, watched and typed at

    screen.py [--size=80x24] ACTION... -- COMMAND...

runs COMMAND on a pseudo terminal and understands what it draws, as far as
pollux-top goes: a sequence that it does not know is a failure. Actions:

    wait=REGEX  until the screen's text has it (rows end with newlines)
    gone=REGEX  until it has it no more
    type=TEXT   keys; \\e is escape, \\r is Enter
    size=WxH    the window changes its size
    run=COMMAND a shell command, which must succeed
    signal=NAME to COMMAND
    show        print the screen
    save=FILE   the screen for bench/top: JSON, cells with their paint
    end=CODE    COMMAND must end so, and the terminal be as it was
"""
import codecs
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unicodedata

PATIENCE_S = 30 * float(os.environ.get("POLLUX_PATIENCE", "4"))
BLANK = (" ", "0")
TOKEN = re.compile("\x1b\\[([?0-9;]*)([A-Za-z])|([\x00-\x1f\x7f-\x9f])|(.)",
                   re.DOTALL)


class Screen:
    """What a terminal shows; modes are those that were set last."""

    def __init__(self, width, height):
        self.modes = {"?1049": False, "?25": True, "?7": True}
        self.x = self.y = 0
        self.paint = "0"
        self.rest = ""
        self.unsettled = 0  # frames that may be of another size
        self.resize(width, height)

    def resize(self, width, height):
        self.width, self.height = width, height
        self.rows = self.blank()
        self.other = self.blank()
        self.x = self.y = 0

    def blank(self):
        return [[BLANK] * self.width for _ in range(self.height)]

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        # A sequence that is not whole yet.
        cut = re.search("\x1b(\\[[?0-9;]*)?$", text)
        if cut:
            text, self.rest = text[:cut.start()], cut.group()
        for token in TOKEN.finditer(text):
            numbers, letter, control, char = token.groups()
            if letter:
                self.command(numbers, letter)
            elif control:
                self.control(control)
            else:
                self.put(char)

    def control(self, char):
        if char == "\r":
            self.x = 0
        elif char == "\n":
            self.y += 1
            if self.y >= self.height:
                self.rows = self.rows[1:] + self.blank()[:1]
                self.y = self.height - 1
        else:
            raise ValueError("control character %r" % char)

    def put(self, char):
        if self.x >= self.width:
            if not self.modes["?7"]:
                if not self.unsettled:
                    raise ValueError("text beyond the edge: %r" % char)
                return
            self.control("\r")
            self.control("\n")
        if self.y < self.height:
            self.rows[self.y][self.x] = (char, self.paint)
            wide = unicodedata.east_asian_width(char) in "WF"
            if wide and self.x + 1 < self.width:
                self.x += 1
                self.rows[self.y][self.x] = ("", self.paint)
        self.x += 1

    def command(self, numbers, letter):
        if letter == "H":
            row, column = (numbers or "1;1").split(";")
            self.y, self.x = int(row) - 1, int(column) - 1
            if self.y == 0 and self.unsettled:
                self.unsettled -= 1
        elif letter == "m":
            self.paint = numbers
        elif letter == "K" and self.y < self.height:
            self.rows[self.y][self.x:] = [BLANK] * (self.width - self.x)
        elif letter == "J":
            self.rows = self.blank()
        elif letter in "hl" and numbers in self.modes:
            on = letter == "h"
            if numbers == "?1049" and on != self.modes[numbers]:
                self.rows, self.other = self.other, self.rows
                self.y = self.height - 1
            self.modes[numbers] = on
        elif letter != "K":
            raise ValueError("sequence %s%s" % (numbers, letter))

    def text(self):
        return "".join("".join(cell[0] for cell in row).rstrip() + "\n"
                       for row in self.rows)


class Terminal:
    """A program on a pseudo terminal of our own."""

    def __init__(self, size, command):
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.screen = Screen(*size)
        self.master, self.slave = pty.openpty()
        self.set_size(*size)
        self.before = termios.tcgetattr(self.slave)
        self.child = subprocess.Popen(command, stdin=self.slave,
                                      stdout=self.slave, stderr=self.slave,
                                      preexec_fn=self.take)

    def take(self):
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def set_size(self, width, height):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", height, width, 0, 0))

    def read(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return False
        self.screen.feed(self.decoder.decode(os.read(self.master, 65536)))
        return True

    def until(self, what, is_so):
        end = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > end:
                print(self.screen.text())
                sys.exit("screen.py: not so after %.0f s: %s"
                         % (PATIENCE_S, what))
            self.read(0.1)

    def act(self, action):
        name, _, value = action.partition("=")
        getattr(self, "do_" + name)(value)

    def do_wait(self, regex):
        self.until("wait=" + regex, lambda: re.search(
            regex, self.screen.text(), re.MULTILINE))

    def do_gone(self, regex):
        self.until("gone=" + regex, lambda: not re.search(
            regex, self.screen.text(), re.MULTILINE))

    def do_type(self, keys):
        keys = keys.replace("\\e", "\x1b").replace("\\r", "\r")
        os.write(self.master, keys.encode())

    def do_size(self, size):
        width, height = (int(part) for part in size.split("x"))
        self.screen.resize(width, height)
        self.screen.unsettled = 3
        self.set_size(width, height)

    def do_run(self, command):
        subprocess.run(command, shell=True, check=True,
                       stdout=subprocess.DEVNULL)

    def do_signal(self, name):
        self.child.send_signal(getattr(signal, "SIG" + name))

    def do_show(self, _):
        print(self.screen.text(), end="")

    def do_save(self, path):
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.screen.rows, out, ensure_ascii=False)

    def do_end(self, code):
        self.until("end=" + code, lambda: self.child.poll() is not None)
        while self.read(0.1):
            pass
        if self.child.returncode != int(code):
            sys.exit("screen.py: ended with %d" % self.child.returncode)
        if termios.tcgetattr(self.slave) != self.before:
            sys.exit("screen.py: the terminal's settings are not as before")
        if self.screen.modes != {"?1049": False, "?25": True, "?7": True}:
            sys.exit("screen.py: left behind: %s" % self.screen.modes)


def main():
    size = (80, 24)
    words = sys.argv[1:]
    split = words.index("--")
    actions, command = words[:split], words[split + 1:]
    if actions and actions[0].startswith("--size="):
        size = tuple(int(part) for part in actions.pop(0)[7:].split("x"))
    terminal = Terminal(size, command)
    try:
        for action in actions:
            terminal.act(action)
    except ValueError as error:
        terminal.do_show("")
        sys.exit("screen.py: %s" % error)
    finally:
        if terminal.child.poll() is None:
            terminal.child.kill()


if __name__ == "__main__":
    main()
