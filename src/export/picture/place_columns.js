/* place_columns.js - how far columns are apart: the twin of place_columns.c and
   place_tree.c in src/layout. */

import {box, end, group, net} from './graph_data.js';
import {ALONG_SIDE, IN, LANE, LANE_SIDE, OUT, OVER, marks, raise,
    style} from './place.js';

/* Numbers of which ranges are raised; asks for the largest of a range. */

export function makeTree(n) {
    let size = 1;
    while (size < n) size *= 2;
    return {size, least: new Float64Array(2 * size), most: new Float64Array(2 * size)};
}

function refreshTree({least, most}, at) {
    for (at >>= 1; at > 0; at >>= 1)
        most[at] = Math.max(least[at], most[2 * at], most[2 * at + 1]);
}

export function raiseTree(tree, from, to, value) {
    const {size, least, most} = tree;
    const raiseNode = (at) => {
        raise(least, at, value);
        raise(most, at, value);
    };
    let low = from + size, high = to + size + 1;
    for (; low < high; low >>= 1, high >>= 1) {
        if (low & 1) raiseNode(low++);
        if (high & 1) raiseNode(--high);
    }
    refreshTree(tree, from + size);
    refreshTree(tree, to + size);
}

export function treeMost({size, least, most}, from, to) {
    let result = 0;
    let low = from + size, high = to + size + 1;
    for (; low < high; low >>= 1, high >>= 1) {
        if (low & 1) result = Math.max(result, most[low++]);
        if (high & 1) result = Math.max(result, most[--high]);
    }
    for (const leaf of [from, to])
        for (let at = leaf + size; at > 0; at >>= 1)
            result = Math.max(result, least[at]);
    return result;
}

/* --- What columns take: spans of half rows, with distances from the axis. */

/** A line down the axis of a column, beyond its boxes; or null. */
function spanLine(g, e) {
    const owner = group.box[g], way = end.way[e];
    const source = net.source[end.net[e]], target = end.target[e];
    const fromIn = source === owner, toOut = target === owner;
    if (way === LANE || way === LANE_SIDE) return null;
    const from = fromIn ? 0 : 2 * box.last[source] + 2;
    const to = (toOut ? 2 * group.rows[g] : 2 * box.rank[target]) +
        (way === ALONG_SIDE ? 1 : 0);
    let column = fromIn ? 0 : box.column[source];
    if (way === OVER) column = toOut ? 0 : box.column[target];
    const {corner} = style;
    return from < to ? {from, to, left: corner, right: corner, column} : null;
}

/** All spans, by column. */
function findSpans(g) {
    const owner = group.box[g], first = group.firstColumn[g];
    const bottom = 2 * group.rows[g];
    const spans = Array.from({length: group.nColumns[g]}, () => []);
    const add = (span) => spans[span.column - first].push(span);
    const mark = (of, m, from, to, column) => add({from, to,
        left: marks[`${of}Left`][m], right: marks[`${of}Right`][m], column});
    mark('all', IN(), 0, 0, 0);
    mark('all', OUT(), bottom, bottom, 0);
    for (let c = owner + 1; c < box.end[owner]; c = box.end[c]) {
        const top = 2 * box.rank[c] + 1, low = 2 * box.last[c] + 1;
        mark('all', c, top, low, box.column[c]);
        if (marks.nEntries[c] > 0) mark('entry', c, top - 1, top - 1, box.column[c]);
        if (marks.nExits[c] > 0) mark('exit', c, low + 1, low + 1, box.column[c]);
    }
    for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++)
        for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++) {
            const span = spanLine(g, e);
            if (span) add(span);
        }
    return spans;
}

/** The columns of one side, from the main one on: each as near as it can. */
function placeSide(g, grid, spans, taken, isLeft) {
    const main = -group.firstColumn[g], step = isLeft ? -1 : 1;
    const near = isLeft ? 'right' : 'left', far = isLeft ? 'left' : 'right';
    let reach = 0;
    for (let c = main; c >= 0 && c < spans.length; c += step) {
        let at = 0;
        for (const span of c === main ? [] : spans[c])
            at = Math.max(at, treeMost(taken, span.from, span.to) + style.column +
                span[near]);
        for (const span of spans[c]) {
            reach = Math.max(reach, at + span[far]);
            if (spans.length > 1) raiseTree(taken, span.from, span.to, at + span[far]);
        }
        grid.axis[c] = step * at;
    }
    return reach;
}

/** The axis of every column, from the left edge of the content on. */
export function placeColumns(g, grid) {
    const spans = findSpans(g), halves = spans.length > 1 ? 2 * group.rows[g] + 1 : 1;
    grid.axis = new Float64Array(spans.length);
    const left = placeSide(g, grid, spans, makeTree(halves), true);
    grid.right = placeSide(g, grid, spans, makeTree(halves), false) + left;
    for (let c = 0; c < spans.length; c++) grid.axis[c] += left;
}
