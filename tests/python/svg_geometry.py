"""Checks the SVG of a network: boxes do not overlap, no line crosses a box, a title or
a label, every line connects its boxes, texts are inside their boxes. docs/svg.md
describes the structure."""

import bisect
import re
import struct
from collections import namedtuple
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
DEJAVU = Path("/usr/share/fonts/truetype/dejavu")
SVG = "{http://www.w3.org/2000/svg}"
ARROW = 7.5  # lines end this far from their box, which leaves room for the arrow
TEXT_SIZE = 11  # default size of texts
BAND = 24  # height of a frame's title

Rect = namedtuple("Rect", "left top right bottom owner")
Piece = namedtuple("Piece", "upright at low high edge")


# --- widths of texts


class Arial:
    """The table of src/text/font.c."""

    def __init__(self):
        text = (ROOT / "src/text/font.c").read_text()
        ascii_table = re.search(r"ascii\[2\]\[95\] = \{\{(.*?)\}, \{(.*?)\}\};", text, re.S)
        self.widths = [
            dict(enumerate(map(int, re.findall(r"\d+", part)), 32))
            for part in ascii_table.groups()
        ]
        for code, *both in re.findall(r"\{0x(\w+), \{(\d+), (\d+)\}\}", text):
            for table, width in zip(self.widths, both):
                table[int(code, 16)] = int(width)

    def width(self, text, size, bold):
        table = self.widths[bold]
        return sum(table.get(ord(one), 600) for one in text) * size / 1000


class TrueType:
    """Advance widths of two font files: their tables cmap (format 4) and hmtx."""

    def __init__(self, regular, bold):
        self.widths = [self.read(path.read_bytes()) for path in (regular, bold)]

    @staticmethod
    def read(data):
        tables = {}
        for i in range(struct.unpack_from(">H", data, 4)[0]):
            tag, _, offset, _ = struct.unpack_from(">4sIII", data, 12 + 16 * i)
            tables[tag] = offset
        unit = struct.unpack_from(">H", data, tables[b"head"] + 18)[0]
        metrics = struct.unpack_from(">H", data, tables[b"hhea"] + 34)[0]
        advance = struct.unpack_from(f">{2 * metrics}H", data, tables[b"hmtx"])[::2]
        cmap = tables[b"cmap"]
        for i in range(struct.unpack_from(">H", data, cmap + 2)[0]):
            at = cmap + struct.unpack_from(">HHI", data, cmap + 4 + 8 * i)[2]
            if struct.unpack_from(">H", data, at)[0] == 4:
                break
        n = struct.unpack_from(">H", data, at + 6)[0] // 2
        ends = struct.unpack_from(f">{n}H", data, at + 14)
        starts = struct.unpack_from(f">{n}H", data, at + 16 + 2 * n)
        deltas = struct.unpack_from(f">{n}h", data, at + 16 + 4 * n)
        ranges = struct.unpack_from(f">{n}H", data, at + 16 + 6 * n)
        widths = {}
        for i in range(n):
            for code in range(starts[i], min(ends[i], 0x2FFF) + 1):
                glyph = code
                if ranges[i]:
                    where = at + 16 + 6 * n + 2 * i + ranges[i] + 2 * (code - starts[i])
                    glyph = struct.unpack_from(">H", data, where)[0]
                glyph = (glyph + deltas[i]) & 0xFFFF
                widths[code] = advance[min(glyph, metrics - 1)] * 1000 / unit
        return widths

    def width(self, text, size, bold):
        table = self.widths[bold]
        return sum(table.get(ord(one), 600) for one in text) * size / 1000


def dejavu():
    """The widest font in use, or None if it is not installed."""
    files = DEJAVU / "DejaVuSans.ttf", DEJAVU / "DejaVuSans-Bold.ttf"
    return TrueType(*files) if all(path.exists() for path in files) else None


# --- reading


def number(element, *names):
    return [float(element.get(name, 0)) for name in names]


def rect_of(element, owner):
    if element.tag == f"{SVG}circle":
        x, y, r = number(element, "cx", "cy", "r")
        return Rect(x - r, y - r, x + r, y + r, owner)
    x, y, w, h = number(element, "x", "y", "width", "height")
    return Rect(x, y, x + w, y + h, owner)


def corners(path):
    """Lists of corners; a rounded corner is the point where its sides would meet."""
    parts = []
    for command, rest in re.findall(r"([MLQ])([-\d. ]+)", path.get("d")):
        x, y = map(float, rest.split()[:2])
        if command == "M":
            parts.append([])
        parts[-1].append((x, y))
        if command == "Q":
            parts[-1].append(tuple(map(float, rest.split()[2:])))
    return parts


class Text:
    """One line of text: where it begins and ends in a font."""

    def __init__(self, element):
        self.x, self.y = number(element, "x", "y")
        self.anchor = element.get("text-anchor", "start")
        self.role = element.get("class")
        self.runs = [(0.0, element.text or "", element)]
        for part in element.iter(f"{SVG}tspan"):
            self.runs.append((float(part.get("dx", 0)), part.text or "", part))

    def string(self):
        return "".join(text for _, text, _ in self.runs)

    def extent(self, font):
        width = 0
        for dx, text, element in self.runs:
            size = float(element.get("font-size", TEXT_SIZE))
            width += dx + font.width(text, size, element.get("font-weight") == "bold")
        shift = {"start": 0, "middle": width / 2, "end": width}[self.anchor]
        return self.x - shift, self.x - shift + width


class Drawing:
    def __init__(self, text):
        self.root = ElementTree.fromstring(text)
        self.width, self.height = number(self.root, "width", "height")
        self.boxes, self.texts, self.bands, self.frames = {}, {}, {}, {}
        for one in self.root.iter(f"{SVG}g"):
            owner = one.get("data-id")
            if one.get("class") == "node":
                outline = next(
                    part
                    for part in one.iter()
                    if part.tag == f"{SVG}circle" or part.get("class") == "box"
                )
                self.boxes[owner] = rect_of(outline, owner)
                self.texts[owner] = [Text(part) for part in one.iter(f"{SVG}text")]
            elif one.get("class") == "group":
                self.add_frame(one, owner)
        of_class = lambda tag, name: [
            part for part in self.root.iter(SVG + tag) if part.get("class") == name
        ]
        self.edges = of_class("path", "edge")
        self.splits = {tuple(number(one, "cx", "cy")) for one in of_class("circle", "split")}
        self.labels = [Text(one) for one in of_class("text", "edge-label")]
        self.sizes = [
            float(part.get("font-size", TEXT_SIZE))
            for part in self.root.iter()
            if part.tag in (f"{SVG}svg", f"{SVG}text", f"{SVG}tspan")
        ]

    def add_frame(self, group, owner):
        frame = next(one for one in group if one.get("class") == "frame")
        rect = rect_of(frame, owner)
        title = next(one for one in group if one.get("class") == "title")
        self.frames[owner] = rect
        self.bands[owner] = rect._replace(bottom=rect.top + BAND)
        self.texts[owner] = [Text(one) for one in title.iter(f"{SVG}text")]

    def pieces(self):
        for edge in self.edges:
            for part in corners(edge):
                for (x, y), (u, v) in zip(part, part[1:]):
                    if x == u and y == v:
                        continue
                    if x == u:
                        yield Piece(True, x, min(y, v), max(y, v), edge)
                    else:
                        yield Piece(False, y, min(x, u), max(x, u), edge)


# --- checking


class Index:
    """Rectangles sorted by their top, to search by area."""

    def __init__(self, rects):
        self.rects = sorted(rects, key=lambda one: one.top)
        self.tops = [one.top for one in self.rects]
        self.most = max((one.bottom - one.top for one in rects), default=0)

    def meeting(self, left, top, right, bottom):
        """Those whose inside the area touches."""
        first = bisect.bisect_left(self.tops, top - self.most)
        for one in self.rects[first : bisect.bisect_left(self.tops, bottom)]:
            if one.bottom > top and one.left < right and one.right > left:
                yield one


def area(piece, spare=0.0):
    """A piece as a thin area, shorter by `spare`."""
    low, high = piece.low + spare, piece.high - spare
    if piece.upright:
        return piece.at - 0.01, low, piece.at + 0.01, high
    return low, piece.at - 0.01, high, piece.at + 0.01


def check_boxes(drawing):
    index = Index(list(drawing.boxes.values()))
    for one in index.rects:
        for other in index.meeting(*one[:4]):
            if other.owner != one.owner:
                yield f"boxes {one.owner} and {other.owner} overlap"
        for band in drawing.bands.values():
            if band.left < one.right and one.left < band.right:
                if band.top < one.bottom and one.top < band.bottom:
                    yield f"box {one.owner} lies on the title of {band.owner}"
        if not (0 <= one.left and one.right <= drawing.width):
            yield f"box {one.owner} leaves the page"


def inner(rect, by=0.5):
    return Rect(rect.left + by, rect.top + by, rect.right - by, rect.bottom - by, rect.owner)


def check_lines(drawing, font):
    boxes = Index([inner(one) for one in drawing.boxes.values()])
    bands = Index([inner(one) for one in drawing.bands.values()])
    texts = []
    for label in drawing.labels:
        left, right = label.extent(font)
        texts.append(Rect(left, label.y - 8, right, label.y + 1, label.string()))
    labels = Index(texts)
    for piece in drawing.pieces():
        name = f"line {piece.edge.get('data-from')} -> {piece.edge.get('data-to')}"
        for one in boxes.meeting(*area(piece)):
            yield f"{name} runs through box {one.owner}"
        for one in bands.meeting(*area(piece)):
            yield f"{name} runs through the title of {one.owner}"
        for one in labels.meeting(*area(piece)):
            yield f"{name} runs through the label {one.owner} at {one[:4]}"
    for one in texts:
        for box in boxes.meeting(*one[:4]):
            yield f"label {one.owner} lies on box {box.owner}"
        for band in bands.meeting(*one[:4]):
            yield f"label {one.owner} lies on the title of {band.owner}"
        if sum(1 for _ in labels.meeting(*one[:4])) > 1:
            yield f"label {one.owner} lies on another one at {one[:4]}"


def distance(point, rect):
    """From a point outside to the border."""
    x, y = point
    dx = max(rect.left - x, 0, x - rect.right)
    dy = max(rect.top - y, 0, y - rect.bottom)
    return max(dx, dy)


def check_ends(drawing):
    for edge in drawing.edges:
        source, target = edge.get("data-from"), edge.get("data-to")
        parts = corners(edge)
        if source not in drawing.boxes or target not in drawing.boxes:
            yield f"line {source} -> {target} joins what is not shown"
        elif distance(parts[-1][-1], drawing.boxes[target]) > ARROW:
            yield f"line {source} -> {target} does not arrive: {parts[-1][-1]}"
        elif parts[0][0] not in drawing.splits:
            # The sheets behind a repeat are between its box and the line.
            if distance(parts[0][0], drawing.boxes[source]) > ARROW:
                yield f"line {source} -> {target} begins elsewhere: {parts[0][0]}"


def check_texts(drawing, font):
    for owner, texts in drawing.texts.items():
        rect = drawing.boxes.get(owner) or drawing.bands[owner]
        spans = sorted((*one.extent(font), one.y, one.string()) for one in texts)
        for left, right, y, string in spans:
            if left < rect.left or right > rect.right:
                yield f"{string!r} leaves {owner}: {left:.1f} to {right:.1f} in {rect[:4]}"
            if not rect.top < y < rect.bottom:
                yield f"{string!r} leaves {owner} at {y}"
        for one, other in zip(spans, spans[1:]):
            if one[2] == other[2] and one[1] > other[0]:
                yield f"{one[3]!r} runs into {other[3]!r} in {owner}"


def problems(text, fonts):
    """All errors in an SVG; texts are measured in each of the fonts."""
    drawing = Drawing(text)
    found = [*check_boxes(drawing), *check_ends(drawing), *check_lines(drawing, fonts[0])]
    for font in fonts:
        found.extend(check_texts(drawing, font))
    if any(size < 11 for size in drawing.sizes):
        found.append("text under 11 px")
    return found
