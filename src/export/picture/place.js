/* place.js - the twin of plan_place() in src/layout: place_group.c. The same
   steps with the same names give the same integers; only the root may be any open
   group. Read the C first. */

import {FLAG_SIDE, FLAG_STRETCH, box, data, end, group, isOpen, lanes, net,
    tracks} from './graph_data.js';
import {placeColumns} from './place_columns.js';
import {placeLabels, placeLanes} from './place_labels.js';

/* Ways of a line inside its group. */
export const DOWN = 0, OVER = 1, ALONG = 2, ALONG_SIDE = 3, LANE = 4, LANE_SIDE = 5;
const BORDER = 32; // around a root that lines enter from outside

export let style; // distances, as in struct plan_style
export let marks; // columns by box: lines and labels at it; the last two: IN, OUT
export let trackY, laneX; // by channel and by net, from the group's top and left
export let placeRoot = 0;

/* Marks of a group's border, inside. */
export const IN = () => box.n, OUT = () => box.n + 1;
export const atBorder = (g, b, border) => (b === group.box[g] ? border : b);
export const isFrame = (b) => b === placeRoot || isOpen(b);
export const half = (number) => Math.trunc(number / 2);

function roundUp(width) {
    const to = Math.max(1, style.roundTo);
    return Math.trunc((width + to - 1) / to) * to;
}

/** Room for numbers of these boxes, once. */
function makeRoom() {
    for (const name of ['x', 'y', 'w', 'h', 'axis']) box[name] = new Int32Array(box.n);
    for (const table of [net, end])
        for (const name of ['labelX', 'labelY']) table[name] = new Int32Array(table.n);
    for (const name of ['points', 'nPoints']) end[name] = new Int32Array(end.n);
    marks = {};
    for (const name of MARKS) marks[name] = new Int32Array(box.n + 2);
    trackY = new Float64Array(tracks.length);
    laneX = new Float64Array(net.n);
}

/** Another root, or other groups are open: placing is outdated. */
export function beginPlacing(root) {
    if (!box.x) makeRoom();
    placeRoot = root;
    style = root ? {...data.style, margin: BORDER} : data.style;
    for (const name of MARKS) marks[name].fill(0);
    end.nPoints.fill(0);
}

/* --- Marks: slots of lines, heights of labels, extent to both sides */

const MARKS = ['nExits', 'nEntries', 'exitLow', 'exitHigh', 'entryLow', 'entryHigh',
    'exitLabels', 'entryLabels', 'leftLabels', 'rightLabels', 'sideReach', 'allLeft',
    'allRight', 'entryLeft', 'entryRight', 'exitLeft', 'exitRight'];

function clearMark(m) {
    for (const name of MARKS) marks[name][m] = 0;
}

export function markExit(m, slot) {
    const first = marks.nExits[m]++ === 0;
    if (first || slot < marks.exitLow[m]) marks.exitLow[m] = slot;
    if (first || slot > marks.exitHigh[m]) marks.exitHigh[m] = slot;
}

export function markEntry(m, slot) {
    const first = marks.nEntries[m]++ === 0;
    if (first || slot < marks.entryLow[m]) marks.entryLow[m] = slot;
    if (first || slot > marks.entryHigh[m]) marks.entryHigh[m] = slot;
}

/** The largest slot of the lines at a box. */
function reach(m) {
    let most = 0;
    if (marks.nExits[m] > 0) most = Math.max(-marks.exitLow[m], marks.exitHigh[m]);
    if (marks.nEntries[m] > 0)
        most = Math.max(most, -marks.entryLow[m], marks.entryHigh[m]);
    return most;
}

/** The extent of lines and labels above (entry) and below (exit) a box, to both sides;
    and of all these, the box and labels at its sides (all). */
function setReach(of, m, left, right) {
    marks[`${of}Left`][m] = left;
    marks[`${of}Right`][m] = right;
}

const linesReach = (m) => reach(m) * style.slot + style.corner;

/** What the lines at a box take in the channels above and below it. */
function setLines(m) {
    const most = linesReach(m);
    setReach('entry', m, most, most);
    setReach('exit', m, most, most);
}

/* --- One open group */

/** Boxes that are not frames: wide enough for their lines; those that stretch take the
    widest of their column. */
function sizeBoxes(g) {
    const owner = group.box[g], stop = box.end[owner], first = group.firstColumn[g];
    const widest = new Int32Array(group.nColumns[g]);
    for (let c = owner + 1; c < stop; c = box.end[c]) {
        if (isFrame(c)) continue;
        const far = reach(c), lines = far ? 2 * (far * style.slot + style.corner) : 0;
        const width = Math.max(box.width[c], lines);
        box.w[c] = box.flags[c] & FLAG_SIDE ? width : roundUp(width); // a sign is round
        box.h[c] = box.height[c];
        if (box.flags[c] & FLAG_STRETCH)
            widest[box.column[c] - first] = Math.max(widest[box.column[c] - first],
                box.w[c]);
    }
    for (let c = owner + 1; c < stop; c = box.end[c]) {
        if (!isFrame(c)) {
            if (box.flags[c] & FLAG_STRETCH) box.w[c] = widest[box.column[c] - first];
            box.axis[c] = half(box.w[c]);
        }
        setReach('all', c, box.axis[c], box.w[c] - box.axis[c]);
        setLines(c);
    }
}

/** Slots that lines use at the border, inside. */
function markBorder(g) {
    const owner = group.box[g];
    clearMark(IN());
    clearMark(OUT());
    for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++) {
        if (net.source[n] === owner) markExit(IN(), net.slot[n]);
        for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++)
            if (end.target[e] === owner) markEntry(OUT(), end.slot[e]);
    }
    for (const m of [IN(), OUT()]) {
        const most = Math.max(linesReach(m), linesReach(owner));
        setReach('all', m, most, most);
        setLines(m);
    }
}

/** The height of a channel; at the border only for lines that turn. */
function sizeChannel(g, grid, c) {
    const at = group.channels[g] + c, count = tracks[at];
    const isFirst = c === 0, isLast = c === group.rows[g];
    const below = grid.below[c], above = grid.above[c];
    let top = below > 0 ? below + half(style.labelSpace) : 0;
    let bottom = above > 0 ? above + half(style.labelSpace) : 0;
    if (count > 0) {
        if (!isFirst) top = Math.max(top, style.trackFirst);
        if (!isLast) bottom = Math.max(bottom, style.trackLast);
        trackY[at] = top;
        grid.channelH[c] = Math.max(grid.channelH[c],
            top + (count - 1) * style.track + bottom);
    } else if (below > 0 || above > 0) {
        grid.channelH[c] = Math.max(grid.channelH[c], top + bottom);
        if (!isFirst && !isLast)
            grid.channelH[c] = Math.max(grid.channelH[c], style.labelGap);
    }
}

export const raise = (array, i, value) => {
    if (value > array[i]) array[i] = value;
};

/** Heights of rows, and the space that boxes and their labels want in channels. */
function measureRows(g, grid) {
    const owner = group.box[g], rows = group.rows[g];
    for (let c = 1; c < rows; c++) grid.channelH[c] = style.channel;
    for (let c = owner + 1; c < box.end[owner]; c = box.end[c]) {
        const above = box.rank[c], below = box.last[c] + 1;
        const side = 2 * Math.max(marks.leftLabels[c], marks.rightLabels[c]);
        if (box.last[c] === box.rank[c])
            raise(grid.rowH, above, Math.max(box.h[c], side));
        if (above > 0) raise(grid.channelH, above, box.gap[c]);
        if (below < rows) raise(grid.channelH, below, box.gap[c]);
        raise(grid.above, above, marks.entryLabels[c]);
        raise(grid.below, below, marks.exitLabels[c]);
    }
    raise(grid.below, 0, marks.exitLabels[IN()]);
    raise(grid.above, rows, marks.entryLabels[OUT()]);
}

/** Boxes over several rows: if those are not high enough, all of them grow. */
function stretchRows(g, grid) {
    const owner = group.box[g];
    for (let c = owner + 1; c < box.end[owner]; c = box.end[c]) {
        const rank = box.rank[c], last = box.last[c], rows = last - rank + 1;
        if (rows === 1) continue;
        let height = 0;
        for (let r = rank; r <= last; r++)
            height += grid.rowH[r] + (r > rank ? grid.channelH[r] : 0);
        const by = Math.trunc((box.h[c] - height + rows - 1) / rows);
        if (height < box.h[c]) for (let r = rank; r <= last; r++) grid.rowH[r] += by;
    }
}

function placeRows(g, grid) {
    const rows = group.rows[g];
    let y = group.box[g] === placeRoot ? style.margin : style.frameTop;
    for (const name of ['rowY', 'rowH', 'above', 'below', 'channelH'])
        grid[name] = new Float64Array(rows + 1);
    measureRows(g, grid);
    for (let c = 0; c <= rows; c++) {
        trackY[group.channels[g] + c] = 0;
        sizeChannel(g, grid, c);
    }
    stretchRows(g, grid);
    for (let r = 0; r <= rows; r++) {
        trackY[group.channels[g] + r] += y;
        y += grid.channelH[r];
        grid.rowY[r] = y; // that of row `rows` is the end of the content
        y += grid.rowH[r];
    }
}

/** The frame, then boxes and lanes move to their place inside. */
function makeFrame(g, grid) {
    const owner = group.box[g], isRoot = owner === placeRoot;
    const first = group.firstColumn[g];
    let left = isRoot ? style.margin : style.frameLeft;
    let right = grid.right + (isRoot ? style.margin : style.frameRight);
    if (grid.lanes > 0) right = Math.max(right, grid.lanes + style.laneFirst);
    const width = roundUp(Math.max(left + right, group.leastWidth[g]));
    left += half(width - left - right);
    box.w[owner] = width;
    box.axis[owner] = left + grid.axis[-first];
    box.h[owner] = Math.max(group.leastHeight[g], grid.rowY[group.rows[g]] +
        (isRoot ? style.margin : style.frameBottom));
    for (let c = owner + 1; c < box.end[owner]; c = box.end[c]) {
        const top = grid.rowY[box.rank[c]];
        const bottom = grid.rowY[box.last[c]] + grid.rowH[box.last[c]];
        box.x[c] = left + grid.axis[box.column[c] - first] - box.axis[c];
        box.y[c] = top + half(bottom - top - box.h[c]);
    }
    for (let i = 0; i < group.nLanes[g]; i++) laneX[lanes[group.lanes[g] + i]] += left;
}

export function placeGroup(g) {
    const grid = {lanes: 0};
    sizeBoxes(g);
    markBorder(g);
    placeLabels(g);
    placeColumns(g, grid);
    placeRows(g, grid);
    placeLanes(g, grid);
    makeFrame(g, grid);
}
