#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""top_picture.py - frames of a terminal, saved by tests/screen.py, as one SVG

    top_picture.py FRAME... >PICTURE.svg

Nothing is loaded from elsewhere. Colours are told apart by the colour-blind
too (Okabe and Ito), and each has a letter of its own anyway.
"""
import html
import json
import sys

CELL_W, CELL_H, MARGIN = 8, 17, 10
INK, PAPER, FAINT = "#1b1f24", "#ffffff", "#6b7280"
TEXTS = {"31": "#b42318", "32": "#00664b", "33": "#8a5a00"}
GROUNDS = {"41": "#d55e00", "42": "#35b58e", "43": "#f0b840", "44": "#0072b2",
           "45": "#dd9dc0", "46": "#7cc4ee", "47": "#c9ccd1"}


def look(paint):
    """(text, ground, bold) of a paint such as '0;1;30;46'."""
    parts = paint.split(";")
    text, ground = INK, None
    if "2" in parts:
        text = FAINT
    for part in parts:
        text = TEXTS.get(part, text)
        ground = GROUNDS.get(part, ground)
    if "37" in parts:
        text = PAPER
    if "7" in parts:
        text, ground = PAPER, "#3b4252"
    return text, ground, "1" in parts


def runs(row):
    """(first column, width, text, paint) of neighbours painted alike."""
    first = 0
    while first < len(row):
        last = first
        while last < len(row) and row[last][1] == row[first][1]:
            last += 1
        yield (first, last - first, "".join(cell[0] for cell in
                                            row[first:last]), row[first][1])
        first = last


def block(char):
    """Share of a cell that a block element fills from the left, or None."""
    if char == "\u2591":
        return 0.0
    if "\u2588" <= char <= "\u258f":
        return (0x2590 - ord(char)) / 8
    return None


def rect(x, y, width, height, fill):
    return ('<rect x="%g" y="%g" width="%g" height="%g" fill="%s"/>'
            % (x, y, width, height, fill))


def words(row_text, x, y, text, bold):
    """One text element a word: no font can move what follows it."""
    at = 0
    for word in row_text.split(" "):
        shown = "".join(" " if block(char) is not None else char
                        for char in word)
        if shown.strip():
            yield ('<text x="%g" y="%g" textLength="%g" fill="%s"%s>%s</text>'
                   % (x + at * CELL_W, y + CELL_H - 4.5,
                      len(shown.rstrip()) * CELL_W - 0.5, text,
                      ' font-weight="bold"' if bold else "",
                      html.escape(shown.rstrip())))
        at += len(word) + 1


def draw_row(row, top):
    for first, width, row_text, paint in runs(row):
        text, ground, bold = look(paint)
        x = MARGIN + first * CELL_W
        if "4" in paint.split(";"):
            yield rect(x, top + CELL_H - 1, width * CELL_W, 1, text)
        if ground:
            yield rect(x, top, width * CELL_W, CELL_H, ground)
        for i, char in enumerate(row_text):
            share = block(char)
            if share is None:
                continue
            yield rect(x + i * CELL_W, top + 3, CELL_W, CELL_H - 6,
                       "#d5d9df" if not ground else "#6b7280")
            if share:
                yield rect(x + i * CELL_W, top + 3, CELL_W * share, CELL_H - 6,
                           text)
        yield from words(row_text, x, top, text, bold)


def main():
    frames = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            frames.append(json.load(file))
    width = 2 * MARGIN + CELL_W * max(len(frame[0]) for frame in frames)
    out, top = [], 0
    for frame in frames:
        height = 2 * MARGIN + CELL_H * len(frame)
        out.append('<rect x="0.5" y="%g" width="%g" height="%g" rx="6" '
                   'fill="%s" stroke="#c9ccd1"/>'
                   % (top + 0.5, width - 1, height - 1, PAPER))
        for y, row in enumerate(frame):
            out.extend(draw_row(row, top + MARGIN + y * CELL_H))
        top += height + MARGIN
    print('<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" '
          'viewBox="0 0 %d %d" font-family="DejaVu Sans Mono, Menlo, '
          'Consolas, monospace" font-size="13">'
          % (width, top - MARGIN, width, top - MARGIN))
    print("\n".join(out))
    print("</svg>")


if __name__ == "__main__":
    main()
