#!/usr/bin/env python3
"""Pictures of the explorer for the README, drawn from a real terminal's cells.

    shot.py [NAME...]      make docs/pictures/NAME.svg; without names, all of PICTURES

The program runs in tmux, keys are sent, and the content of the cells (characters,
colours, attributes) is written as SVG text, which scales to any size.
"""

import html
import os
import re
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "build" / "scenarios"
CELL, LINE, SIZE = 8.4, 17, 14  # pixels of a cell, of a line, of a letter
THEMES = {"dark": ("#16181d", "#d6d9de"), "light": ("#ffffff", "#24292f")}
# The RGB values of the sixteen named colours.
NAMED = (
    "#1d1f21 #cc6666 #98c379 #e5c07b #61afef #c678dd #56b6c2 #c5c8c6 "
    "#8a8a8a #ff5f5f #87d787 #ffd75f #5fafff #d787d7 #5fd7d7 #ffffff"
).split()

# name: (theme, columns, rows, arguments of `torchoscope`, keys to press)
PICTURES = {
    "explorer": ("dark", 120, 36, "live.scope --at layer1.0 --panel 2,6", ["Escape", "l"]),
    "unsafe": ("dark", 100, 26, "model_best.pth.tar", ["!"]),
    "statistics": ("dark", 120, 30, "finetuned.pth --at conv1.weight --panel 4 --zoom", []),
    "diff": ("light", 120, 26, "resnet50.pth --diff finetuned.pth --at layer4", ["l"]),
}


# --- The screen of the terminal


class Tmux:
    def __init__(self, columns, rows, theme, words):
        self.base = ["tmux", "-L", f"shot{os.getpid()}", "-f", "/dev/null"]
        settings = {"COLORTERM": "truecolor", "TORCHOSCOPE_THEME": theme}
        environment = {**os.environ, **settings, "LC_ALL": "C.UTF-8"}
        command = f"{ROOT}/build/torchoscope {words}; read x"
        self.call("kill-server", check=False)
        words = f"new-session -d -x {columns} -y {rows}".split()
        subprocess.run(
            [*self.base, *words, command], env=environment, cwd=FILES, check=True
        )
        self.call("set", "-g", "status", "off")
        self.call("set", "-g", "default-terminal", "tmux-256color")
        self.call("resize-window", "-x", str(columns), "-y", str(rows))

    def call(self, *words, check=True):
        done = subprocess.run([*self.base, *words], capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def settle(self):
        """The screen when it has stopped changing."""
        before = None
        for _ in range(200):
            time.sleep(0.15)
            now = self.call("capture-pane", "-e", "-p", "-N")
            if now == before and now.strip():
                return now
            before = now
        raise RuntimeError("the screen does not come to rest")


# --- Cells


class Style:
    def __init__(self):
        self.fore = self.back = None
        self.bold = self.dim = self.italic = self.underline = self.reverse = False

    def copy(self):
        style = Style()
        style.__dict__.update(self.__dict__)
        return style

    def take(self, codes):
        """The numbers of one SGR sequence."""
        flags = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "reverse"}
        codes = list(codes) or [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                self.__init__()
            elif code in flags:
                setattr(self, flags[code], True)
            elif code == 22:
                self.bold = self.dim = False
            elif code in (23, 24, 27):
                setattr(self, flags[code - 20], False)
            elif code in (38, 48):
                setattr(self, "fore" if code == 38 else "back", extended(codes))
            elif code in (39, 49):
                setattr(self, "fore" if code == 39 else "back", None)
            elif 30 <= code <= 37 or 90 <= code <= 97:
                self.fore = NAMED[code - 30 if code < 90 else code - 82]
            elif 40 <= code <= 47 or 100 <= code <= 107:
                self.back = NAMED[code - 40 if code < 100 else code - 92]


def extended(codes):
    kind = codes.pop(0)
    if kind == 2:
        return "#{:02x}{:02x}{:02x}".format(*(codes.pop(0) for _ in range(3)))
    number = codes.pop(0)
    if number < 16:
        return NAMED[number]
    if number >= 232:
        return "#{0:02x}{0:02x}{0:02x}".format(8 + 10 * (number - 232))
    number -= 16
    steps = [0, 95, 135, 175, 215, 255]
    parts = (number // 36, number // 6 % 6, number % 6)
    return "#{:02x}{:02x}{:02x}".format(*(steps[part] for part in parts))


def width_of(text):
    """In cells."""
    return sum(
        1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
        if not unicodedata.combining(c)
    )


def runs_of(line, style):
    """(column, text, style, cells) for each run of one style."""
    column, runs = 0, []
    for part in re.split(r"(\x1b\[[0-9;:]*m)", line):
        if part.startswith("\x1b["):
            style.take(int(code or 0) for code in re.split("[;:]", part[2:-1]))
        elif part := re.sub(r"\x1b[()].|[\x0e\x0f]", "", part):
            cells = width_of(part)
            runs.append((column, part, style.copy(), cells))
            column += cells
    return runs


# --- The picture


def draw_text(row, column, text, marks):
    """Splits at wide gaps, because SVG collapses blanks."""
    for piece in re.finditer(r"\S+(?: \S+)*", text):
        x = (column + width_of(text[: piece.start()])) * CELL
        width = width_of(piece[0]) * CELL
        yield (
            f'<text x="{x:.1f}" y="{row * LINE + 13}" textLength="{width:.1f}"'
            f' lengthAdjust="spacingAndGlyphs"{marks}>{html.escape(piece[0])}</text>'
        )


def draw_run(row, run, theme):
    column, text, style, cells = run
    back, fore = THEMES[theme]
    front, behind = style.fore or fore, style.back
    if style.reverse:
        front, behind = behind or back, front
    drawn = ""
    if behind:
        drawn = (
            f'<rect x="{column * CELL:.1f}" y="{row * LINE}" width="{cells * CELL:.1f}"'
            f' height="{LINE}" fill="{behind}"/>'
        )
    marks = f' fill="{front}"'
    marks += ' font-weight="bold"' if style.bold else ""
    marks += ' font-style="italic"' if style.italic else ""
    marks += ' text-decoration="underline"' if style.underline else ""
    marks += ' opacity="0.6"' if style.dim else ""
    return drawn + "".join(draw_text(row, column, text, marks))


def draw(screen, columns, rows, theme):
    back, _ = THEMES[theme]
    width, height = columns * CELL + 24, rows * LINE + 24
    style, parts = Style(), []
    for row, line in enumerate(screen.split("\n")[:rows]):
        parts += [draw_run(row, run, theme) for run in runs_of(line, style)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}"'
        f' width="{width:.0f}" height="{height}">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{back}"/>\n'
        f'<g transform="translate(12 12)" font-size="{SIZE}"'
        ' font-family="DejaVu Sans Mono, Menlo, Consolas, monospace">\n'
        + "\n".join(part for part in parts if part)
        + "\n</g>\n</svg>\n"
    )


def main():
    subprocess.run(
        [ROOT / "build/venv/bin/python3", ROOT / "tests/samples/scenarios.py"], check=True
    )
    for name in sys.argv[1:] or PICTURES:
        theme, columns, rows, words, keys = PICTURES[name]
        terminal = Tmux(columns, rows, theme, words)
        try:
            screen = terminal.settle()
            for key in keys:
                terminal.call("send-keys", *(["-l"] if key[0] == "/" else []), key)
                screen = terminal.settle()
        finally:
            terminal.call("kill-server", check=False)
        path = ROOT / "docs" / "pictures" / f"{name}.svg"
        path.write_text(draw(screen, columns, rows, theme))
        print(path)


if __name__ == "__main__":
    main()
