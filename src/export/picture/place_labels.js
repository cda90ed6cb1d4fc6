/* place_labels.js - labels beside lines and lanes: the twin of place_labels.c and
   place_lanes.c in src/layout. */

import {box, end, group, lanes, net} from './graph_data.js';
import {ALONG_SIDE, IN, LANE, LANE_SIDE, OUT, OVER, atBorder, half, laneX, marks, raise,
    style} from './place.js';
import {makeTree, raiseTree, treeMost} from './place_columns.js';

function widen(of, m, from, to) {
    for (const part of [of, 'all']) {
        raise(marks[`${part}Left`], m, -from);
        raise(marks[`${part}Right`], m, to);
    }
}

const padOf = (height) =>
    (style.labelGap > height ? half(style.labelGap - height) : 0);

/** Below the source; from the axis at its lower edge. */
function labelExit(m, n) {
    const pad = padOf(net.labelHeight[n]);
    let used = pad + net.labelHeight[n];
    if (marks.nExits[m] > 1 && net.slot[n] === marks.exitLow[m]) {
        net.labelX[n] = marks.exitLow[m] * style.slot - style.labelSpace -
            net.labelWidth[n];
        net.labelY[n] = pad;
    } else {
        const begin = Math.max(marks.exitLabels[m], pad);
        net.labelX[n] = marks.exitHigh[m] * style.slot + style.labelSpace;
        net.labelY[n] = begin;
        used = begin + net.labelHeight[n];
    }
    raise(marks.exitLabels, m, used);
    widen('exit', m, net.labelX[n], net.labelX[n] + net.labelWidth[n]);
}

/** Above the target, and above labels at its sides; from the axis at its upper edge. */
function labelEntry(m, e, least) {
    let begin = Math.max(padOf(end.labelHeight[e]), least);
    if (marks.nEntries[m] > 1 && end.slot[e] === marks.entryLow[m]) {
        end.labelX[e] = marks.entryLow[m] * style.slot - style.labelSpace -
            end.labelWidth[e];
    } else {
        end.labelX[e] = marks.entryHigh[m] * style.slot + style.labelSpace;
        begin = Math.max(begin, marks.entryLabels[m]);
    }
    end.labelY[e] = -(begin + end.labelHeight[e]);
    raise(marks.entryLabels, m, begin + end.labelHeight[e]);
    widen('entry', m, end.labelX[e], end.labelX[e] + end.labelWidth[e]);
}

/** Above the lines at one side; from the axis at the middle of the box. */
function labelSide(m, e, right) {
    const b = end.target[e], stack = right ? marks.rightLabels : marks.leftLabels;
    raise(stack, m, marks.sideReach[m] * style.side + Math.trunc(style.labelSpace / 3));
    stack[m] += end.labelHeight[e];
    end.labelY[e] = -stack[m];
    end.labelX[e] = right ? box.w[b] - box.axis[b] + style.labelSpace
        : -box.axis[b] - style.labelSpace - end.labelWidth[e];
    widen('all', m, end.labelX[e] - style.labelSpace,
        end.labelX[e] + end.labelWidth[e] + style.labelSpace);
}

const fromRight = (e) => end.way[e] === LANE_SIDE ||
    box.column[net.source[end.net[e]]] > box.column[end.target[e]];

export const isSide = (e) => end.way[e] === ALONG_SIDE || end.way[e] === LANE_SIDE;

/** How far labels at the sides of a box reach above it. */
const aboveBox = (b) => Math.max(marks.leftLabels[b], marks.rightLabels[b]) -
    half(box.h[b]);

/** Labels of one net. Those at sides come first: the others lie above them. */
function labelNet(g, n, sides) {
    if (!sides && net.labelWidth[n] > 0)
        labelExit(atBorder(g, net.source[n], IN()), n);
    for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++) {
        const b = end.target[e], m = atBorder(g, b, OUT());
        if (end.labelWidth[e] === 0 || isSide(e) !== sides) continue;
        if (sides) labelSide(m, e, fromRight(e));
        else labelEntry(m, e, m === b ? aboveBox(b) : 0);
    }
}

export function placeLabels(g) {
    for (const sides of [true, false])
        for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++)
            labelNet(g, n, sides);
}

/* --- Lanes: right of everything in the rows that they pass. */

/** Rows count from 1 here: 0 is the upper border, rows + 1 the lower one. */
function raiseBoxes(g, grid, rows) {
    const owner = group.box[g], first = group.firstColumn[g], count = group.rows[g];
    const middle = grid.axis[-first];
    raiseTree(rows, 0, 0, middle + marks.allRight[IN()]);
    raiseTree(rows, count + 1, count + 1, middle + marks.allRight[OUT()]);
    for (let c = owner + 1; c < box.end[owner]; c = box.end[c])
        raiseTree(rows, box.rank[c] + 1, box.last[c] + 1,
            grid.axis[box.column[c] - first] + marks.allRight[c]);
}

/** A line that runs down a column beyond its boxes. */
function raiseLine(g, grid, rows, e) {
    const owner = group.box[g], way = end.way[e];
    const source = net.source[end.net[e]], target = end.target[e];
    const fromIn = source === owner, toOut = target === owner;
    if (way === LANE || way === LANE_SIDE) return;
    const from = fromIn ? 1 : box.last[source] + 2;
    const to = (toOut ? group.rows[g] : box.rank[target]) +
        (way === ALONG_SIDE ? 1 : 0);
    let column = fromIn ? 0 : box.column[source];
    if (way === OVER) column = toOut ? 0 : box.column[target];
    if (from <= to)
        raiseTree(rows, from, to, grid.axis[column - group.firstColumn[g]]);
}

export function placeLanes(g, grid) {
    if (group.nLanes[g] === 0) return;
    const rows = makeTree(group.rows[g] + 2), inner = makeTree(group.rows[g] + 1);
    raiseBoxes(g, grid, rows);
    for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++)
        for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++)
            raiseLine(g, grid, rows, e);
    for (let i = 0; i < group.nLanes[g]; i++) {
        const n = lanes[group.lanes[g] + i];
        const first = net.firstRow[n], last = net.lastRow[n];
        const within = treeMost(inner, first, last);
        let x = treeMost(rows, first, last + 1) + style.laneFirst;
        if (within > 0) x = Math.max(x, within + style.lane);
        raiseTree(inner, first, last, x);
        laneX[n] = x;
        grid.lanes = Math.max(grid.lanes, x);
    }
}
