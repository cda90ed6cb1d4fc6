
/* --- draw_canvas.js: more than 2,000 nodes, painted. The same look; what is smaller
       than a pixel is painted once for each pixel. */

const TRUNKS = 5000; // lines: far away, only one line of each net is drawn above

let canvas, pen;
let paints = {}; // colours by name, in the theme of now

function makeCanvas() {
    canvas = document.createElement('canvas');
    canvas.className = 'graph';
    canvas.setAttribute('aria-hidden', 'true');
    stage.prepend(canvas);
    pen = canvas.getContext('2d', {alpha: false});
}

function readColours() {
    const style = getComputedStyle(document.documentElement);
    paints = {};
    for (const name of data.colours) paints[name] = style.getPropertyValue(`--${name}`);
}

/** The canvas has the pixels of the screen. */
function sizeCanvas() {
    const ratio = devicePixelRatio || 1;
    const w = Math.round(stageWidth() * ratio), h = Math.round(stageHeight() * ratio);
    if (canvas.width === w && canvas.height === h) return;
    canvas.width = w;
    canvas.height = h;
}

function paintCanvas(rings) {
    const ratio = devicePixelRatio || 1, zoom = view.zoom;
    sizeCanvas();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = paints.surface;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.setTransform(zoom * ratio, 0, 0, zoom * ratio, -view.x * zoom * ratio,
        -view.y * zoom * ratio);
    const area = visibleArea(), level = levelOf(zoom);
    paintFrames(area, zoom);
    paintLines(area, level, zoom);
    paintTitles(area, zoom);
    if (level < 2) paintBlocks(area, zoom);
    else paintNodes(area, zoom, level);
    if (level > 2) paintLabels(area, level);
    paintMarks(area, zoom);
    paintRings(rings, zoom);
}

/* --- Frames */

const inArea = (b, area) => box.x[b] <= area.right &&
    box.x[b] + box.w[b] >= area.left && box.y[b] <= area.bottom &&
    box.y[b] + box.h[b] >= area.top;

function paintFrames(area, zoom) {
    scene.seenFrames = scene.frames.filter((b) => inArea(b, area) &&
        box.h[b] * zoom > 3);
    pen.lineWidth = 1;
    pen.strokeStyle = paints.line;
    for (const b of scene.seenFrames) {
        pen.fillStyle = paints[`g${Math.min(3, depthOf(b))}`];
        pen.beginPath();
        pen.roundRect(box.x[b], box.y[b], box.w[b], box.h[b], 8);
        pen.fill();
        pen.strokeStyle = paints[CHANGES[box.change[b]] || 'line'];
        pen.setLineDash(box.change[b] === REMOVED ? [5, 3] : []);
        if (box.h[b] * zoom > 8) pen.stroke();
    }
    pen.setLineDash([]);
}

function paintTitles(area, zoom) {
    const band = bandHeight(zoom), size = levelOf(zoom) > 2 ? 1 : HELD / 12 / zoom;
    for (const b of scene.seenFrames) {
        if (band * zoom < 4 || box.y[b] + band < area.top) continue;
        pen.globalAlpha = dimmed(b);
        pen.fillStyle = paints[`g${Math.min(3, depthOf(b)) + 1}`];
        pen.lineWidth = 1;
        pen.strokeStyle = paints.line;
        pen.beginPath();
        pen.roundRect(box.x[b], box.y[b], box.w[b], band, [8, 8, 0, 0]);
        pen.fill();
        pen.stroke();
        const texts = titleTexts(b, zoom);
        if (!texts.length) continue;
        const x = box.x[b] + 10, y = box.y[b] + band / 2 - 2 * size;
        strokeChevron([x, y, x + 4.5 * size, y + 4.5 * size, x + 9 * size, y], size);
        texts.forEach(paintText);
    }
    pen.globalAlpha = 1;
}

function strokeChevron(points, size) {
    pen.strokeStyle = paints.text2;
    pen.lineWidth = 1.75 * size;
    pen.lineCap = pen.lineJoin = 'round';
    pen.beginPath();
    for (let i = 0; i < 6; i += 2) pen.lineTo(points[i], points[i + 1]);
    pen.stroke();
    pen.lineCap = 'butt';
}

function paintText(text) {
    pen.font = `${text.bold ? 'bold ' : ''}${text.size}px ${FONT}`;
    pen.textAlign = text.anchor === 'middle' ? 'center' : text.anchor ?? 'start';
    pen.fillStyle = paints[text.role];
    pen.fillText(text.text, text.x, text.y);
}

/* --- Nodes */

const DIM = 0.35;
const dimmed = (b) => (lit && !lit.boxes.has(b) ? DIM : 1);

/** Solid boxes; of those below a pixel, one for each pixel. */
function paintBlocks(area, zoom) {
    const byColour = new Map(), taken = new Set(), least = 1 / zoom;
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        const b = scene.nodes[i], h = box.h[b];
        if (!inArea(b, area)) return;
        if (h * zoom < 1.5) {
            const key = Math.floor((box.y[b] - area.top) * zoom) * 16384 +
                Math.floor((box.x[b] - area.left) * zoom);
            if (taken.has(key)) return;
            taken.add(key);
        }
        const {solid} = coloursOf(b), alpha = dimmed(b), key = `${alpha} ${solid}`;
        let list = byColour.get(key);
        if (!list) byColour.set(key, list = {alpha, solid, boxes: []});
        list.boxes.push(b);
    });
    for (const {alpha, solid, boxes} of byColour.values()) {
        pen.globalAlpha = alpha;
        pen.fillStyle = paints[solid];
        for (const b of boxes)
            pen.fillRect(box.x[b], box.y[b], Math.max(least, box.w[b]),
                Math.max(least, box.h[b]));
        if (zoom < 0.1) continue;
        pen.strokeStyle = paints.nodeline;
        pen.lineWidth = 0.75 / zoom;
        for (const b of boxes) pen.strokeRect(box.x[b], box.y[b], box.w[b], box.h[b]);
    }
    pen.globalAlpha = 1;
}

function paintNodes(area, zoom, level) {
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        const b = scene.nodes[i];
        if (!inArea(b, area)) return;
        pen.globalAlpha = dimmed(b);
        paintNode(b, zoom, level);
    });
    pen.globalAlpha = 1;
}

function paintNode(b, zoom) {
    const {fill, bar, stroke, width, dash} = coloursOf(b), form = shapeOf(b);
    const x = box.x[b], y = box.y[b], w = box.w[b], h = heightOf(b);
    pen.strokeStyle = paints[stroke];
    pen.lineWidth = width;
    pen.fillStyle = paints[fill];
    pen.setLineDash(dash ? dash.split(' ').map(Number) : []);
    for (const by of hasSheets(b) ? [6, 3, 0] : [0]) {
        pen.beginPath();
        pen.roundRect(x + by, y + by, w, h, form === 'box' ? 4 : h / 2);
        pen.fill();
        pen.stroke();
    }
    pen.setLineDash([]);
    if (bar) {
        pen.fillStyle = paints[bar];
        pen.fill(new Path2D(barPath(x, y, h)));
    }
    if (form === 'circle') paintText({text: textOf(box.name, b), x: x + w / 2,
        y: y + h / 2 + 6, anchor: 'middle', size: 18, bold: false, role: 'text'});
    if (hasChevron(b))
        strokeChevron([x + 13, y + 9.5, x + 17.5, y + 14, x + 13, y + 18.5], 1);
    textsOf(b, zoom).forEach(paintText);
}

/** Marks keep their size on the screen. */
function paintMarks(area, zoom) {
    const size = Math.max(1, 1 / zoom);
    for (const b of scene.marked) {
        if (!inArea(b, area)) continue;
        pen.save();
        pen.translate(box.x[b], box.y[b]);
        pen.scale(size, size);
        if (alarmWord(b)) paintPill(alarmWord(b));
        pen.restore();
        if (box.change[b]) paintChange(b, size);
    }
}

function paintPill(word) {
    pen.fillStyle = paints.alarm;
    pen.beginPath();
    pen.roundRect(-6, -13, 20 + textWidth(word, 11, true) * 1.15, 17, 8.5);
    pen.fill();
    pen.fillStyle = paints['on-alarm'];
    pen.fill(new Path2D(ALARM_SIGN));
    paintText({text: word, x: 12, y: -0.5, size: 11, bold: true, role: 'on-alarm'});
}

function paintChange(b, size) {
    pen.save();
    const at = changeCorner(b);
    pen.translate(at.x, at.y);
    pen.scale(size, size);
    pen.fillStyle = paints[CHANGES[box.change[b]]];
    pen.beginPath();
    pen.arc(0, 0, 7.5, 0, 2 * Math.PI);
    pen.fill();
    pen.strokeStyle = paints.surface;
    pen.lineWidth = 1.75;
    pen.stroke(new Path2D(CHANGE_SIGNS[box.change[b]]));
    pen.restore();
}

/* --- Lines */

function paintLines(area, level, zoom) {
    const {lines, bounds} = scene, groups = new Map();
    const trunks = level === 0 && lines.n > TRUNKS ? new Set() : null;
    eachInGrid(scene.lineGrid, lines.n, area, (i) => {
        const at = i * 4;
        if (bounds[at] > area.right || bounds[at + 2] < area.left ||
            bounds[at + 1] > area.bottom || bounds[at + 3] < area.top) return;
        const long = bounds[at + 2] - bounds[at] + bounds[at + 3] - bounds[at + 1];
        if (long * zoom < 2) return;
        const n = lines.nets[i];
        if (trunks) {
            if (trunks.has(n)) return;
            trunks.add(n);
        }
        const alpha = lit && !lit.lines.has(i) ? DIM : 1;
        const width = level > 1 ? WIDTHS[net.width[n]] : (level ? 1 : 0.75) / zoom;
        const change = end.change[lines.ends[i]];
        const key = `${alpha} ${width} ${net.bad[n]} ${change}`;
        if (!groups.has(key))
            groups.set(key, {alpha, width, bad: net.bad[n], change, lines: []});
        groups.get(key).lines.push(i);
    });
    for (const one of groups.values()) strokeLines(one, level);
    pen.globalAlpha = 1;
}

function strokeLines({alpha, width, bad, change, lines: list}, level) {
    const {own: points, ownStart: start} = scene.lines;
    pen.globalAlpha = alpha;
    pen.strokeStyle = pen.fillStyle =
        paints[bad ? 'alarm' : CHANGES[change] || 'edge'];
    pen.lineWidth = width;
    pen.setLineDash(change === REMOVED ? [5, 3] : []);
    pen.beginPath();
    for (const i of list) {
        pen.moveTo(points[start[i]], points[start[i] + 1]);
        for (let p = start[i] + 2; p < start[i + 1]; p += 2)
            if (level < 2 || p + 2 >= start[i + 1])
                pen.lineTo(points[p], points[p + 1]);
            else pen.arcTo(points[p], points[p + 1], points[p + 2], points[p + 3], 7);
    }
    pen.stroke();
    pen.setLineDash([]);
    if (level < 2) return;
    for (const i of change === ADDED ? list : [])
        pen.stroke(new Path2D(tickPath(points, start[i + 1])));
    for (const i of list) pen.fill(new Path2D(arrowPath(points, start[i + 1])));
}

function paintLabels(area, level) {
    for (const label of scene.labels) {
        if (label.y > area.bottom || label.y + 14 < area.top) continue;
        if (level === 3 && !label.strong) continue;
        paintText({text: label.text, x: label.x, y: label.y + 11, size: 11, bold: false,
            role: label.strong ? 'text' : 'text3'});
        if (label.more)
            paintText({text: label.more, x: label.x, y: label.y + 25, size: 11,
                bold: false, role: 'text3'});
    }
}

function paintRings(rings, zoom) {
    for (const {b, className, out} of rings) {
        const by = out / zoom, h = isOpen(b) ? bandHeight(zoom) : box.h[b];
        pen.strokeStyle = paints.accent;
        pen.lineWidth = 2 / zoom;
        pen.setLineDash(className === 'hit' ? [4 / zoom, 2 / zoom] : []);
        pen.beginPath();
        pen.roundRect(box.x[b] - by, box.y[b] - by, box.w[b] + 2 * by, h + 2 * by,
            4 + by);
        pen.stroke();
    }
    pen.setLineDash([]);
}
