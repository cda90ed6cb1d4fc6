
/* --- draw_canvas.js: more than 2,000 nodes, painted. The same look; what is smaller
       than a few pixels is set pixel by pixel (draw_specks.js). */

let canvas, pen;
let paints = {}; // colours by name, in the theme of now
const origin = {x: 0, y: 0}; // of the pen: floats are coarse far away from zero

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
    inks.clear();
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
    origin.x = Math.floor(view.x);
    origin.y = Math.floor(view.y);
    pen.setTransform(zoom * ratio, 0, 0, zoom * ratio,
        (origin.x - view.x) * zoom * ratio, (origin.y - view.y) * zoom * ratio);
    const area = visibleArea(), level = levelOf(zoom);
    paintFrames(area, zoom);
    if (zoom < SPECKS) paintSpecks(area, zoom, zoom * ratio);
    else {
        paintLines(area, level, zoom);
        paintTitles(area, zoom);
        if (level < 2) paintBlocks(area, zoom);
        else paintNodes(area, zoom, level);
    }
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
        pen.roundRect(box.x[b] - origin.x, box.y[b] - origin.y, box.w[b], box.h[b], 8);
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
        const left = box.x[b] - origin.x, top = box.y[b] - origin.y;
        pen.roundRect(left, top, box.w[b], band, [8, 8, 0, 0]);
        pen.fill();
        pen.stroke();
        const texts = titleTexts(b, zoom);
        if (!texts.length) continue;
        const x = left + 10, y = top + band / 2 - 2 * size;
        strokeChevron([x, y, x + 4.5 * size, y + 4.5 * size, x + 9 * size, y], size);
        texts.forEach((text) => paintText(text));
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

function paintText(text, from = origin) {
    pen.font = `${text.bold ? 'bold ' : ''}${text.size}px ${FONT}`;
    pen.textAlign = text.anchor === 'middle' ? 'center' : text.anchor ?? 'start';
    pen.fillStyle = paints[text.role];
    pen.fillText(text.text, text.x - from.x, text.y - from.y);
}

/* --- Nodes */

const DIM = 0.35;
const dimmed = (b) => (lit && !lit.boxes.has(b) ? DIM : 1);

/** Solid boxes. */
function paintBlocks(area, zoom) {
    const byColour = new Map();
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        const b = scene.nodes[i];
        if (!inArea(b, area)) return;
        const solid = solidOf(i);
        let lists = byColour.get(solid);
        if (!lists) byColour.set(solid, lists = {lit: [], dim: []});
        (dimmed(b) < 1 ? lists.dim : lists.lit).push(b);
    });
    for (const [solid, lists] of byColour) {
        pen.globalAlpha = DIM;
        pen.fillStyle = paints[solid];
        for (const b of lists.dim) fillBlock(b, 0, zoom);
        pen.globalAlpha = 1;
        fillOutlined(lists.lit, paints[solid], zoom);
    }
    pen.globalAlpha = 1;
}

/** The colour of a node far away, kept: there are many. */
function solidOf(i) {
    if (!scene.solids[i]) scene.solids[i] = coloursOf(scene.nodes[i]).solid;
    return scene.solids[i];
}

function fillOutlined(boxes, ink, zoom) {
    const line = 0.75 / zoom;
    pen.fillStyle = paints.nodeline;
    for (const b of boxes) fillBlock(b, line / 2, zoom);
    pen.fillStyle = ink;
    for (const b of boxes) fillBlock(b, -line / 2, zoom);
}

/** The box, larger by `more` on all sides. */
function fillBlock(b, more, zoom) {
    const x = box.x[b] - origin.x - more, y = box.y[b] - origin.y - more;
    const w = box.w[b] + 2 * more, h = heightOf(b) + 2 * more;
    if (zoom < 0.25 || shapeOf(b) === 'box') {
        pen.fillRect(x, y, w, h);
        return;
    }
    pen.beginPath();
    pen.roundRect(x, y, w, h, h / 2);
    pen.fill();
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

function paintNode(b, zoom, level) {
    const {fill, bar, stroke, width, dash} = coloursOf(b), form = shapeOf(b);
    const x = box.x[b] - origin.x, y = box.y[b] - origin.y;
    const w = box.w[b], h = heightOf(b);
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
        pen.beginPath();
        pen.roundRect(x, y, 5, h, [4, 0, 0, 4]);
        pen.fill();
    }
    if (form === 'circle') paintSign(b);
    if (hasChevron(b)) {
        const {size, ...at} = chevronOf(b, zoom), by = 4.5 * size;
        const left = at.x - origin.x, middle = at.y - origin.y;
        strokeChevron([left, middle - by, left + by, middle, left, middle + by], size);
    }
    textsOf(b, zoom).forEach((text) => paintText(text));
}

function paintSign(b) {
    const path = signPath(b);
    pen.lineCap = 'round';
    if (path) strokePath(path, 'text', 1.75);
    else paintText(signText(b));
    pen.lineCap = 'butt';
}

/** Marks keep their size on the screen. */
function paintMarks(area, zoom) {
    const size = Math.max(1, 1 / zoom);
    for (const b of scene.marked) {
        if (!inArea(b, area)) continue;
        pen.save();
        pen.translate(box.x[b] - origin.x, box.y[b] - origin.y);
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
    paintText({text: word, x: 12, y: -0.5, size: 11, bold: true, role: 'on-alarm'},
        {x: 0, y: 0});
}

function paintChange(b, size) {
    pen.save();
    const at = changeCorner(b);
    pen.translate(at.x - origin.x, at.y - origin.y);
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

function paintRings(rings, zoom) {
    for (const {b, className, out} of rings) {
        const by = out / zoom, h = isOpen(b) ? bandHeight(zoom) : box.h[b];
        pen.strokeStyle = paints.accent;
        pen.lineWidth = 2 / zoom;
        pen.setLineDash(className === 'hit' ? [4 / zoom, 2 / zoom] : []);
        pen.beginPath();
        pen.roundRect(box.x[b] - by - origin.x, box.y[b] - by - origin.y,
            box.w[b] + 2 * by, h + 2 * by, 4 + by);
        pen.stroke();
    }
    pen.setLineDash([]);
}
