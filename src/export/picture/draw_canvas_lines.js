
/* --- draw_canvas_lines.js: lines and labels on the canvas. Near, they look as in
       draw_lines.js; far away, pieces of lines are thin rectangles: quicker. */

const TRUNKS = 5000; // lines: far away, only one line of each net is drawn above

/** Lines in an area that are not too short to be seen. */
function linesIn(area, level, zoom) {
    const {lines, bounds} = scene, seen = [];
    const trunks = level === 0 && lines.n > TRUNKS ? new Set() : null;
    eachInGrid(scene.lineGrid, lines.n, area, (i) => {
        const at = i * 4;
        if (bounds[at] > area.right || bounds[at + 2] < area.left ||
            bounds[at + 1] > area.bottom || bounds[at + 3] < area.top) return;
        const long = bounds[at + 2] - bounds[at] + bounds[at + 3] - bounds[at + 1];
        if (long * zoom < 2 && level < 2) return;
        if (trunks) {
            if (trunks.has(lines.nets[i])) return;
            trunks.add(lines.nets[i]);
        }
        seen.push(i);
    });
    return seen;
}

function paintLines(area, level, zoom) {
    const seen = linesIn(area, level, zoom);
    if (level < 2) paintThin(seen, (level ? 1 : 0.75) / zoom);
    else {
        paintRounded(seen.sort((a, b) => a - b));
        paintDots(area);
    }
    pen.globalAlpha = 1;
}

function lineColour(i) {
    const {nets, ends} = scene.lines;
    return net.bad[nets[i]] ? 'alarm' : CHANGES[end.change[ends[i]]] || 'edge';
}

/** How a line is stroked; lines with the same key are stroked together. */
function lineStyle(i) {
    const n = scene.lines.nets[i], change = end.change[scene.lines.ends[i]];
    const isLit = !lit || lit.lines.has(i);
    return {key: (isLit ? 32 : 0) + change * 8 + (net.bad[n] ? 4 : 0) + net.width[n],
        alpha: isLit ? 1 : DIM, colour: paints[lineColour(i)], change,
        width: WIDTHS[net.width[n]]};
}

/* --- Far away */

function paintThin(list, width) {
    const {own, ownStart} = scene.lines, half = width / 2;
    let key = NONE;
    for (const i of list) {
        const style = lineStyle(i);
        if (style.key !== key) {
            key = style.key;
            pen.globalAlpha = style.alpha;
            pen.fillStyle = style.colour;
        }
        for (let p = ownStart[i]; p + 3 < ownStart[i + 1]; p += 2) {
            const x = Math.min(own[p], own[p + 2]) - origin.x - half;
            const y = Math.min(own[p + 1], own[p + 3]) - origin.y - half;
            pen.fillRect(x, y, Math.abs(own[p + 2] - own[p]) + width,
                Math.abs(own[p + 3] - own[p + 1]) + width);
        }
    }
}

/* --- Near: in the order of the lines, so that later ones cross over earlier ones */

function paintRounded(list) {
    let batch = [], style = null;
    const flush = () => {
        if (batch.length) strokeLines(batch, style);
        batch = [];
    };
    for (const i of list) {
        const next = lineStyle(i), crossings = scene.crossings.get(i);
        if (style?.key !== next.key || crossings) flush();
        style = next;
        crossings?.forEach(paintCasing);
        batch.push(i);
    }
    flush();
}

function paintCasing({x, y, upright, group: around}) {
    const [w, h] = upright ? [7, 10] : [10, 7];
    pen.globalAlpha = 1;
    pen.fillStyle = paints[groundName(around)];
    pen.fillRect(x - w / 2 - origin.x, y - h / 2 - origin.y, w, h);
}

function strokeLines(list, {alpha, colour: ink, change, width}) {
    const {own, ownStart, ends} = scene.lines;
    pen.globalAlpha = alpha;
    pen.strokeStyle = pen.fillStyle = ink;
    pen.lineWidth = width;
    pen.setLineDash(change === REMOVED ? [5, 3] : []);
    pen.beginPath();
    for (const i of list) traceLine(own, ownStart[i], ownStart[i + 1]);
    pen.stroke();
    pen.setLineDash([]);
    for (const i of change === ADDED ? list : [])
        strokePath(tickPath(own, ownStart[i + 1]), lineColour(i), width);
    pen.beginPath();
    for (const i of list) traceArrow(own, ownStart[i + 1]);
    pen.fill();
    for (const i of list)
        if (end.detached[ends[i]])
            strokePath(detachedPath(own, ownStart[i + 1]), 'text', 1.75);
}

/** As linePath() in draw_lines.js. */
function traceLine(points, start, stop) {
    const ox = origin.x, oy = origin.y, last = stop - 2;
    const near = (p, q, by) => {
        pen.lineTo(points[p] + Math.sign(points[q] - points[p]) * by - ox,
            points[p + 1] + Math.sign(points[q + 1] - points[p + 1]) * by - oy);
    };
    pen.moveTo(points[start] - ox, points[start + 1] - oy);
    for (let p = start + 2; p < last; p += 2) {
        const x = points[p], y = points[p + 1];
        const radius = cornerRadius(points, p);
        near(p, p - 2, radius);
        if (radius)
            pen.quadraticCurveTo(x - ox, y - oy,
                x + Math.sign(points[p + 2] - x) * radius - ox,
                y + Math.sign(points[p + 3] - y) * radius - oy);
    }
    near(last, last - 2, Math.min(TIP + HEAD - 1, distance(points, last, last - 2)));
}

/** As arrowPath() in draw_lines.js. */
function traceArrow(points, stop) {
    const dx = Math.sign(points[stop - 2] - points[stop - 4]);
    const dy = Math.sign(points[stop - 1] - points[stop - 3]);
    const x = points[stop - 2] - TIP * dx - origin.x;
    const y = points[stop - 1] - TIP * dy - origin.y;
    pen.moveTo(x, y);
    pen.lineTo(x - HEAD * dx - 3.2 * dy, y - HEAD * dy - 3.2 * dx);
    pen.lineTo(x - HEAD * dx + 3.2 * dy, y - HEAD * dy + 3.2 * dx);
    pen.closePath();
}

/** A path in the coordinates of the graph. */
function strokePath(d, role, width) {
    pen.save();
    pen.translate(-origin.x, -origin.y);
    pen.strokeStyle = paints[role];
    pen.lineWidth = width;
    pen.stroke(new Path2D(d));
    pen.restore();
}

function paintDots(area) {
    pen.globalAlpha = lit ? DIM : 1;
    for (const {x, y, net: n} of scene.splits) {
        if (x < area.left || x > area.right || y < area.top || y > area.bottom)
            continue;
        pen.fillStyle = paints[net.bad[n] ? 'alarm' : 'edge'];
        pen.beginPath();
        pen.arc(x - origin.x, y - origin.y, 2.6, 0, 2 * Math.PI);
        pen.fill();
    }
}

/* --- Labels */

const LABEL_WIDEST = 400; // a label that begins further left is not looked at

function paintLabels(area, level) {
    pen.globalAlpha = lit ? DIM : 1;
    pen.lineJoin = 'round';
    for (const label of scene.labels) {
        if (label.y > area.bottom || label.y + 30 < area.top ||
            label.x > area.right || label.x + LABEL_WIDEST < area.left) continue;
        if (level === 3 && !label.strong) continue;
        if (label.slash) strokePath(label.slash, 'edge', 1.25);
        const ground = paints[groundName(net.group[label.net])], {x, y} = label;
        paintLabel(label.text, x, y + 11, label.strong ? 'text' : 'text3', ground);
        if (label.more) paintLabel(label.more, x, y + 25, 'text3', ground);
    }
    pen.globalAlpha = 1;
}

/** On a halo in the colour of the ground. */
function paintLabel(text, x, y, role, ground) {
    pen.font = `11px ${FONT}`;
    pen.textAlign = 'start';
    pen.strokeStyle = ground;
    pen.lineWidth = 4;
    pen.strokeText(text, x - origin.x, y - origin.y);
    pen.fillStyle = paints[role];
    pen.fillText(text, x - origin.x, y - origin.y);
}
