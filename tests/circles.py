# SPDX-License-Identifier: MIT
"""Prints the circles of files in a source folder, one a line.

    python3 circles.py SRC

A file is FOLDER/NAME, of NAME.c and NAME.h. It depends on each file of which
it names a function. A circle is a set of files that depend on each other,
directly or through others. Functions are those with a prefix of ours; one that
several files define is left out, as nobody can tell which is meant.
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


def dependencies(code):
    owners = {}
    for file, text in code.items():
        for name in DEFINITION.findall(text):
            owners.setdefault(name, set()).add(file)
    graph = {}
    for file, text in code.items():
        named = set(re.findall(r"\b%s\b" % NAME, text))
        whose = [owners[name] for name in named if len(owners.get(name, ())) == 1]
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


if __name__ == "__main__":
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: circles.py FOLDER")
    for circle in circles(dependencies(sources(sys.argv[1]))):
        print(*circle)
