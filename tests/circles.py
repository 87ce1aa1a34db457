# SPDX-License-Identifier: MIT
"""Prints the circles of files in a source folder, one a line.

    python3 circles.py SRC
    python3 circles.py SRC ROOT LAYERS

The second prints the calls that go against the list of the folder ROOT of SRC
in the text LAYERS, which names its files from bottom to top; and files that it
does not name, or names without their being there. Its items are
"- **ROOM/**" or "- **WORDS**", then files in backquotes; behind words, such a
file may be ROOM/FILE.

A file is FOLDER/NAME, of NAME.c and NAME.h. It depends on each file of which
it names a function. A circle is a set of files that depend on each other,
directly or through others. Functions are those with a prefix of ours. Of one
that several files define, that of the caller's program (the first folder) is
meant; where that has several, it is left out, as nobody can tell which.
"""

import os
import re
import sys

NAME = r"(?:plx|pollux|rank)_\w+"
COMMENT_OR_TEXT = re.compile(
    r"/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
DEFINITION = re.compile(
    r"^(?!static\b|typedef\b|return\b|else\b|#|\s)[A-Za-z_][\w\s*]*?\b(" +
    NAME + r")\s*\([^;{]*\)\s*\{", re.M)


def sources(folder):
    """{FOLDER/NAME: its code without comments and texts}, of .c files."""
    found = {}
    for base, _folders, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if name.endswith(".c"):
                with open(path, encoding="utf-8") as file:
                    code = COMMENT_OR_TEXT.sub(" ", file.read())
                found[os.path.relpath(path, folder)[:-2]] = code
    return found


def owner(files, caller):
    """Of the files that define a name, those that the caller means: 1 or 0."""
    if len(files) > 1:
        program = caller.split(os.sep)[0]
        files = {file for file in files if file.split(os.sep)[0] == program}
    return files if len(files) == 1 else set()


def dependencies(code):
    owners = {}
    for file, text in code.items():
        for name in DEFINITION.findall(text):
            owners.setdefault(name, set()).add(file)
    graph = {}
    for file, text in code.items():
        named = set(re.findall(r"\b%s\b" % NAME, text))
        whose = [owner(owners.get(name, set()), file) for name in named]
        graph[file] = set().union(*whose) - {file}
    return graph


def reached(graph, file):
    seen, left = set(), [file]
    while left:
        for other in graph[left.pop()] - seen:
            seen.add(other)
            left.append(other)
    return seen


def circles(graph):
    ways = {file: reached(graph, file) for file in graph}
    found = {tuple(sorted(other for other in ways[file]
                          if file in ways[other]))
             for file in graph if file in ways[file]}
    return sorted(found)


def listed(text, root):
    """The files of a folder, as the text names them from bottom to top."""
    own = text.partition("\n## src/%s," % root)[2].partition("\n## ")[0]
    files = []
    for part, names in re.findall(r"^- \*\*([^*]+)\*\*(.*?)(?=^- |\n\n|\Z)",
                                  own, re.M | re.S):
        room = part if part.endswith("/") else ""
        files += ["%s/%s%s" % (root, room, name)
                  for name in re.findall(r"`([\w/]+)`", names)]
    return files


def against(graph, files, root):
    """What is wrong with this order of root's files, a line each."""
    place = {file: at for at, file in enumerate(files)}
    there = {file for file in graph if file.startswith(root + "/")}
    wrong = ["is not named: " + file for file in sorted(there - set(place))]
    wrong += ["is not there: " + file for file in sorted(set(place) - there)]
    wrong += ["is named twice: " + file
              for file in sorted(place) if files.count(file) > 1]
    wrong += ["%s calls %s" % (file, other)
              for file in files if file in there
              for other in sorted(graph[file])
              if place.get(other, -1) > place[file]]
    return wrong


if __name__ == "__main__":
    if len(sys.argv) not in (2, 4) or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: circles.py FOLDER [ROOT LAYERS]")
    calls = dependencies(sources(sys.argv[1]))
    if len(sys.argv) == 4:
        with open(sys.argv[3], encoding="utf-8") as layers:
            for line in against(calls, listed(layers.read(), sys.argv[2]),
                                sys.argv[2]):
                print(line)
    else:
        for circle in circles(calls):
            print(*circle)
