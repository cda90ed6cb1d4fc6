/* draw_canvas.js - paints more than 2,000 distant nodes; pieces of lines are thin
   rectangles, and parts of a few pixels are set pixel by pixel
   (draw_specks.js). The canvas lies below the SVG. */

import {SPECKS, inks, paintSpecks} from './draw_specks.js';
import {CHANGES, REMOVED, coloursOf, depthOf, heightOf, levelOf,
    shapeOf} from './dress.js';
import {lit} from './fold.js';
import {box, data, end, listAt, net} from './graph_data.js';
import {eachInGrid, scene} from './scene.js';
import {stage, stageHeight, stageWidth, view, visibleArea} from './view.js';

const TRUNKS = 5000; // lines: far away, only one line of each net is drawn above
export const LABEL_WIDEST = 400; // a label that begins further left is not looked at

export let canvas, pen;
export let paints = {}; // colours by name, in the current theme
const origin = {x: 0, y: 0}; // of the pen: floats are coarse far away from zero

export function makeCanvas() {
    canvas = document.createElement('canvas');
    canvas.className = 'graph';
    canvas.setAttribute('aria-hidden', 'true');
    stage.prepend(canvas);
    pen = canvas.getContext('2d', {alpha: false});
}

export function readColours() {
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

export function paintCanvas() {
    const ratio = devicePixelRatio || 1, zoom = view.zoom;
    sizeCanvas();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.globalAlpha = 1;
    pen.fillStyle = paints.surface;
    pen.fillRect(0, 0, canvas.width, canvas.height);
    if (levelOf(zoom) > 1) return;
    origin.x = Math.floor(view.x);
    origin.y = Math.floor(view.y);
    pen.setTransform(zoom * ratio, 0, 0, zoom * ratio,
        (origin.x - view.x) * zoom * ratio, (origin.y - view.y) * zoom * ratio);
    const area = visibleArea();
    paintFrames(area, zoom);
    if (zoom < SPECKS) paintSpecks(area, zoom, zoom * ratio);
    else {
        const level = levelOf(zoom);
        paintThin(linesIn(area, level, zoom), (level ? 1 : 0.75) / zoom);
        paintBlocks(area, zoom);
    }
    pen.globalAlpha = 1;
}

/* --- Visible parts */

export const inArea = (b, area) => box.x[b] <= area.right &&
    box.x[b] + box.w[b] >= area.left && box.y[b] <= area.bottom &&
    box.y[b] + box.h[b] >= area.top;

export function nodesIn(area) {
    const list = [];
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        if (inArea(scene.nodes[i], area)) list.push(scene.nodes[i]);
    });
    return list;
}

/** Lines in an area that are not too short to be seen. */
export function linesIn(area, level, zoom) {
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

/* --- Frames and nodes */

function paintFrames(area, zoom) {
    pen.lineWidth = 1;
    for (const b of scene.frames) {
        if (!inArea(b, area) || box.h[b] * zoom <= 3) continue;
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

export const DIM = 0.35;
export const dimmed = (b) => (lit && !lit.boxes.has(b) ? DIM : 1);

/** Solid boxes. */
function paintBlocks(area, zoom) {
    const byColour = new Map();
    for (const b of nodesIn(area))
        listAt(byColour, `${dimmed(b)} ${solidOf(b)}`).push(b);
    for (const [key, list] of byColour) {
        const [alpha, solid] = key.split(' '), line = alpha < 1 ? 0 : 0.75 / zoom;
        pen.globalAlpha = alpha;
        pen.fillStyle = paints.nodeline;
        if (line) for (const b of list) fillBlock(b, line / 2, zoom);
        pen.fillStyle = paints[solid];
        for (const b of list) fillBlock(b, -line / 2, zoom);
    }
}

/** The colour of a node far away, kept: there are many. */
export const solidOf = (b) => (scene.solids[b] ??= coloursOf(b).solid);

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

/* --- Lines */

export function lineColour(i) {
    const {nets, ends} = scene.lines;
    return net.bad[nets[i]] ? 'alarm' : CHANGES[end.change[ends[i]]] || 'edge';
}

function paintThin(list, width) {
    const {own, ownStart} = scene.lines, half = width / 2;
    for (const i of list) {
        pen.globalAlpha = !lit || lit.lines.has(i) ? 1 : DIM;
        pen.fillStyle = paints[lineColour(i)];
        for (let p = ownStart[i]; p + 3 < ownStart[i + 1]; p += 2) {
            const x = Math.min(own[p], own[p + 2]) - origin.x - half;
            const y = Math.min(own[p + 1], own[p + 3]) - origin.y - half;
            pen.fillRect(x, y, Math.abs(own[p + 2] - own[p]) + width,
                Math.abs(own[p + 3] - own[p + 1]) + width);
        }
    }
}
