/* trunks.js - lines of one value share a trunk: finds the own part of each line,
   and where lines split and cross. As in export/picture/route.c. */

import {box, listAt} from './graph_data.js';
import {scene} from './scene.js';

const COMPARED = 256; // lines from the same box, at most, for a common trunk
const SEGMENTS = 20000; // with more, crossings have no casing

export const distance = (p, i, j) =>
    Math.abs(p[i] - p[j]) + Math.abs(p[i + 1] - p[j + 1]);
const samePoint = (p, i, j) => p[i] === p[j] && p[i + 1] === p[j + 1];

/** Where line b leaves line a: {length from the start, at: pieces of b, x, y}. */
function leavesAt(p, start, a, b) {
    const a0 = start[a], b0 = start[b];
    if (!samePoint(p, a0, b0)) return null;
    const most = Math.min(start[a + 1] - a0, start[b + 1] - b0) - 2;
    let k = 0, length = 0;
    while (k < most && samePoint(p, a0 + k + 2, b0 + k + 2)) {
        length += distance(p, b0 + k, b0 + k + 2);
        k += 2;
    }
    let split = b0 + k;
    if (k < most) {
        const from = b0 + k, i = a0 + k + 2, j = b0 + k + 2;
        if (Math.sign(p[i] - p[from]) === Math.sign(p[j] - p[from]) &&
            Math.sign(p[i + 1] - p[from + 1]) === Math.sign(p[j + 1] - p[from + 1])) {
            split = distance(p, from, i) < distance(p, from, j) ? i : j;
            length += distance(p, from, split);
        }
    }
    return {length, at: k, x: p[split], y: p[split + 1]};
}

/** The longest part that an earlier line from the same box has drawn already. */
function sharedPart(lines, i, earlier) {
    let longest = null;
    for (let t = earlier.length - 1; t >= Math.max(0, earlier.length - COMPARED); t--) {
        const found = leavesAt(lines.points, lines.start, earlier[t], i);
        if (found && found.length > (longest ? longest.length : 0)) longest = found;
    }
    return longest;
}

/** Gives the lines `own`: the points of their own parts, and the scene its splits. */
export function cutTrunks() {
    const {lines} = scene, p = lines.points, bySource = new Map();
    const own = [], ownStart = [0], splits = new Map();
    for (let i = 0; i < lines.n; i++) {
        const earlier = listAt(bySource, lines.from[i]);
        const shared = sharedPart(lines, i, earlier);
        let first = lines.start[i];
        if (shared) {
            first += shared.at + 2;
            own.push(shared.x, shared.y);
            if (p[first] === shared.x && p[first + 1] === shared.y) first += 2;
            splits.set(`${shared.x} ${shared.y}`,
                {x: shared.x, y: shared.y, net: lines.nets[i]});
        }
        for (let at = first; at < lines.start[i + 1]; at++) own.push(p[at]);
        ownStart.push(own.length);
        earlier.push(i);
    }
    lines.own = Int32Array.from(own);
    lines.ownStart = ownStart;
    scene.splits = [...splits.values()];
    scene.isSplit = (x, y) => splits.has(`${x} ${y}`);
}

/* --- Crossings */

/** Level or upright pieces of all lines: {at, low, high, line}. */
function piecesOf(level) {
    const {own, ownStart, n} = scene.lines, list = [], across = level ? 0 : 1;
    for (let i = 0; i < n; i++)
        for (let p = ownStart[i]; p + 3 < ownStart[i + 1]; p += 2) {
            if ((own[p + 1] === own[p + 3]) !== level) continue;
            const from = own[p + across], to = own[p + 2 + across];
            list.push({at: own[p + 1 - across], low: Math.min(from, to),
                high: Math.max(from, to), line: i});
        }
    return list;
}

/** The innermost open group around a point. */
function groupAt(x, y) {
    let found = scene.root;
    for (const b of scene.frames)
        if (x >= box.x[b] && x < box.x[b] + box.w[b] &&
            y >= box.y[b] && y < box.y[b] + box.h[b]) found = b;
    return found;
}

const sameValue = (a, b) => scene.lines.from[a] === scene.lines.from[b] &&
    scene.lines.nets[a] === scene.lines.nets[b];

/** Where a line crosses one that is drawn before it, by line. */
export function findCrossings() {
    scene.crossings = new Map();
    if (scene.lines.own.length > 2 * SEGMENTS) return;
    const level = piecesOf(true).sort((a, b) => a.at - b.at || a.line - b.line);
    for (const one of piecesOf(false)) {
        let low = 0, high = level.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (level[middle].at <= one.low) low = middle + 1;
            else high = middle;
        }
        for (; low < level.length && level[low].at < one.high; low++) {
            const other = level[low];
            if (one.at <= other.low || one.at >= other.high ||
                sameValue(one.line, other.line)) continue;
            const upright = one.line > other.line;
            const line = upright ? one.line : other.line;
            listAt(scene.crossings, line).push({x: one.at, y: other.at, upright,
                group: groupAt(one.at, other.at)});
        }
    }
}
