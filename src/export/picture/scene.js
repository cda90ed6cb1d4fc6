/* scene.js - the shown parts: frames of open groups, nodes (closed boxes) and lines,
   and a grid that finds them by position. Coordinates are those of place.js. */

import {bandHeight} from './dress.js';
import {NONE, box, contains, data, end, group, groupOf, isOpen, listAt, net,
    textOf} from './graph_data.js';
import {findMarked} from './marks.js';
import {arrives, findRoute, placeAll} from './place_lines.js';
import {cutTrunks, findCrossings} from './trunks.js';
import {view} from './view.js';

const CELL = 1024; // of the grid
const LONG = 64; // cells: longer lines are tested one by one
export const MANY = 2000; // nodes: above, they are painted on a canvas

export let scene = null;

export function forgetScene() {
    scene = null;
}

/** Shown boxes below `root`: frames in pre-order, and nodes. */
function listShown(root) {
    const frames = [], nodes = [];
    for (let i = root + 1; i < box.end[root];) {
        const open = isOpen(i);
        (open ? frames : nodes).push(i);
        i = open ? i + 1 : box.end[i];
    }
    return {frames, nodes};
}

/** The ends of all nets of these groups. Those that both networks of a diff have come
    first: a common trunk looks like its first line. */
function endsInside(owners) {
    const list = [];
    for (const owner of owners) {
        const g = groupOf[owner], first = group.nets[g];
        for (let n = first; n < first + group.nNets[g]; n++)
            for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++) list.push(e);
    }
    return end.change.some(Boolean)
        ? list.sort((a, b) => end.change[a] - end.change[b] || a - b) : list;
}

/** Lines by columns; the points of line i are from start[i] to start[i + 1]. */
function listLines(root, frames) {
    const from = [], to = [], nets = [], ends = [], start = [0], points = [];
    for (const e of endsInside([root, ...frames])) {
        const route = arrives(e, root) ? findRoute(e, root, points) : null;
        if (!route) continue;
        from.push(route.from);
        to.push(route.to);
        nets.push(end.net[route.firstEnd]);
        ends.push(e);
        start.push(points.length);
    }
    return {n: from.length, from, to, nets, ends, start,
        points: Int32Array.from(points)};
}

/** Labels that are shown, each once. */
function listLabels(lines) {
    const seen = new Set(), labels = [];
    for (let i = 0; i < lines.n; i++) {
        const n = lines.nets[i], e = lines.ends[i];
        if (!seen.has(n) && net.labelWidth[n] > 0) {
            seen.add(n);
            labels.push(labelOf(n));
        }
        if (end.labelWidth[e] > 0)
            labels.push({x: end.labelX[e], y: end.labelY[e], net: n,
                text: textOf(end.label, e), strong: false});
    }
    return labels;
}

/** Several tensors also have a slash through their line. */
function labelOf(n) {
    const x = net.labelX[n], y = net.labelY[n], high = net.labelHeight[n];
    const several = net.tensors[n] > 1;
    const at = data.sideways ? [x + 6, y + high + 6] : [x - 6, y + high / 2 + 1];
    return {x, y, net: n, text: textOf(net.label, n), more: textOf(net.second, n),
        strong: net.changed[n] === 1 || several,
        slash: several ? `M${at[0] - 5} ${at[1] + 3}l10 -6` : ''};
}

/* --- Finding by position */

function makeGrid(width, height) {
    const across = Math.floor(width / CELL) + 1, down = Math.floor(height / CELL) + 1;
    return {across, down, cells: new Map(), long: [], seen: null, turn: 0};
}

function addToGrid(grid, i, left, top, right, bottom) {
    const x1 = Math.max(0, Math.floor(left / CELL));
    const y1 = Math.max(0, Math.floor(top / CELL));
    const x2 = Math.floor(right / CELL), y2 = Math.floor(bottom / CELL);
    if ((x2 - x1 + 1) * (y2 - y1 + 1) > LONG) {
        grid.long.push(i);
        return;
    }
    for (let y = y1; y <= y2; y++)
        for (let x = x1; x <= x2; x++)
            listAt(grid.cells, y * grid.across + x).push(i);
}

/** Calls visit(i) once for everything in a cell that the area touches. */
export function eachInGrid(grid, count, area, visit) {
    const x1 = Math.max(0, Math.floor(area.left / CELL));
    const y1 = Math.max(0, Math.floor(area.top / CELL));
    const x2 = Math.min(grid.across - 1, Math.floor(area.right / CELL));
    const y2 = Math.min(grid.down - 1, Math.floor(area.bottom / CELL));
    if ((x2 - x1 + 1) * (y2 - y1 + 1) * 2 > grid.cells.size) {
        for (let i = 0; i < count; i++) visit(i);
        return;
    }
    if (!grid.seen) grid.seen = new Uint32Array(count); // by turns: no need to clear
    const {seen} = grid, turn = ++grid.turn;
    for (let y = y1; y <= y2; y++)
        for (let x = x1; x <= x2; x++)
            for (const i of grid.cells.get(y * grid.across + x) ?? [])
                if (seen[i] !== turn) {
                    seen[i] = turn;
                    visit(i);
                }
    for (const i of grid.long) visit(i);
}

function indexScene() {
    const {nodes, lines, width, height} = scene;
    scene.nodeGrid = makeGrid(width, height);
    nodes.forEach((b, i) => addToGrid(scene.nodeGrid, i, box.x[b], box.y[b],
        box.x[b] + box.w[b], box.y[b] + box.h[b]));
    scene.lineGrid = makeGrid(width, height);
    scene.bounds = new Int32Array(lines.n * 4);
    for (let i = 0; i < lines.n; i++) {
        let left = Infinity, top = Infinity, right = -Infinity, bottom = -Infinity;
        for (let p = lines.start[i]; p < lines.start[i + 1]; p += 2) {
            left = Math.min(left, lines.points[p]);
            right = Math.max(right, lines.points[p]);
            top = Math.min(top, lines.points[p + 1]);
            bottom = Math.max(bottom, lines.points[p + 1]);
        }
        scene.bounds.set([left, top, right, bottom], i * 4);
        addToGrid(scene.lineGrid, i, left, top, right, bottom);
    }
}

/** Lines by the boxes that they touch, for highlighting and arrow keys. */
function linkLines() {
    const {lines} = scene;
    scene.linesOf = new Map();
    for (let i = 0; i < lines.n; i++) {
        listAt(scene.linesOf, lines.from[i]).push(i);
        if (lines.to[i] !== lines.from[i]) listAt(scene.linesOf, lines.to[i]).push(i);
    }
}

export function makeScene(root) {
    const size = placeAll(root), {frames, nodes} = listShown(root);
    const lines = listLines(root, frames);
    scene = {root, ...size, frames, nodes, lines, labels: listLabels(lines)};
    scene.index = new Map(nodes.map((b, i) => [b, i]));
    scene.painted = nodes.length > MANY;
    findMarked();
    cutTrunks();
    findCrossings();
    indexScene();
    linkLines();
}

/** A shown box, or the nearest closed group around it; NONE: outside of the root. */
export function shownFor(i) {
    if (i === scene.root || !contains(scene.root, i)) return NONE;
    let found = i;
    for (let at = box.parent[i]; at !== scene.root; at = box.parent[at])
        if (!isOpen(at)) found = at;
    return found;
}

/** The node or the frame's title at a point of the graph; NONE: the ground. */
export function boxAt(x, y) {
    const area = {left: x, right: x, top: y, bottom: y};
    let found = NONE;
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        const b = scene.nodes[i];
        if (x >= box.x[b] && x <= box.x[b] + box.w[b] &&
            y >= box.y[b] && y <= box.y[b] + box.h[b]) found = b;
    });
    return found !== NONE ? found : titleAt(x, y);
}

function titleAt(x, y) {
    let found = NONE;
    const band = bandHeight(view.zoom);
    for (const b of scene.frames)
        if (x >= box.x[b] && x <= box.x[b] + box.w[b] &&
            y >= box.y[b] && y <= box.y[b] + band) found = b;
    return found;
}
