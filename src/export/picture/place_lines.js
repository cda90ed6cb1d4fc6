/* place_lines.js - all of it, in the order of plan_place(); corners of lines: the
   twin of place.c, place_lines.c and route.c in src/layout. */

import {NONE, box, data, end, group, groupOf, net} from './graph_data.js';
import {ALONG_SIDE, DOWN, LANE, LANE_SIDE, OVER, beginPlacing, half, isFrame, laneX,
    markEntry, markExit, marks, placeGroup, placeRoot, raise, style,
    trackY} from './place.js';
import {isSide} from './place_labels.js';

let corners; // {x, y} of all lines; those of end e are from end.points[e] on

/** A box is shown if all groups around it are open. A box that is not has no size. */
function findShown(root) {
    for (const name of ['x', 'y', 'w', 'h', 'axis']) box[name].fill(0);
    box.w[root] = 1;
    for (let i = root + 1; i < box.end[root]; i++) {
        const parent = box.parent[i];
        box.w[i] = box.w[parent] > 0 && isFrame(parent) ? 1 : 0;
    }
}

/** Which slots lines use at each shown box. */
function markLines(g) {
    const owner = group.box[g];
    for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++) {
        if (net.source[n] !== owner) markExit(net.source[n], net.slot[n]);
        for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++) {
            if (end.target[e] === owner) continue;
            if (!isSide(e)) markEntry(end.target[e], end.slot[e]);
            else raise(marks.sideReach, end.target[e], Math.abs(end.slot[e]));
        }
    }
}

/* --- Lines */

function addCorner(e, x, y) {
    const last = corners.length - 2;
    if (end.nPoints[e] > 0 && corners[last] === x && corners[last + 1] === y) return;
    corners.push(x, y);
    end.nPoints[e]++;
}

const trackAt = (g, channel, track) => box.y[group.box[g]] +
    trackY[group.channels[g] + channel] + track * style.track;

/** Where the line leaves and enters. */
function findBorders(owner, source, n, e) {
    const target = end.target[e];
    return {
        fromX: box.x[source] + box.axis[source] + net.slot[n] * style.slot,
        fromY: box.y[source] + (source === owner ? 0 : box.h[source]),
        toX: box.x[target] + box.axis[target] + end.slot[e] * style.slot,
        toY: box.y[target] + (target === owner ? box.h[target] : 0),
        middle: box.y[target] + half(box.h[target]) + end.slot[e] * style.side,
    };
}

function trace(g, n, e) {
    const owner = group.box[g], source = net.source[n], target = end.target[e];
    const at = findBorders(owner, source, n, e), way = end.way[e];
    const below = source === owner ? 0 : box.last[source] + 1;
    const above = target === owner ? group.rows[g] : box.rank[target];
    const exit = trackAt(g, below, net.track[n]);
    const entry = way === OVER ? exit : trackAt(g, above, end.track[e]);
    const lane = way === ALONG_SIDE ? at.fromX : box.x[owner] + laneX[n];
    end.points[e] = corners.length;
    addCorner(e, at.fromX, at.fromY);
    if (way === DOWN) {
        addCorner(e, at.toX, at.toY);
        return;
    }
    if (way === LANE || way === LANE_SIDE) {
        addCorner(e, at.fromX, exit);
        addCorner(e, lane, exit);
    }
    if (isSide(e)) {
        addCorner(e, lane, at.middle);
        addCorner(e, lane > box.x[target] ? box.x[target] + box.w[target]
            : box.x[target], at.middle);
        return;
    }
    addCorner(e, way === LANE ? lane : at.fromX, entry);
    addCorner(e, at.toX, entry);
    addCorner(e, at.toX, at.toY);
}

/** Labels were placed relative to the axis of their boxes. */
function moveLabels(g, n) {
    const owner = group.box[g], source = net.source[n];
    if (net.labelWidth[n] > 0) {
        const top = owner === placeRoot ? style.margin : style.frameTop;
        net.labelX[n] += box.x[source] + box.axis[source];
        net.labelY[n] += box.y[source] + (source === owner ? top : box.h[source]);
    }
    for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++) {
        const target = end.target[e];
        if (end.labelWidth[e] === 0) continue;
        end.labelX[e] += box.x[target] + box.axis[target];
        end.labelY[e] += box.y[target];
        if (isSide(e)) end.labelY[e] += half(box.h[target]);
        else if (target === owner) end.labelY[e] += box.h[target];
    }
}

/* --- All */

/** Places what is shown below `root`; its size. */
export function placeAll(root) {
    beginPlacing(root);
    findShown(root);
    const shown = [];
    for (let g = groupOf[root]; g < group.n && group.box[g] < box.end[root]; g++)
        if (box.w[group.box[g]] > 0 && isFrame(group.box[g])) shown.push(g);
    shown.forEach(markLines);
    for (let i = shown.length; i-- > 0;) placeGroup(shown[i]);
    for (let i = root + 1; i < box.end[root]; i++) {
        if (box.w[i] === 0) continue;
        box.x[i] += box.x[box.parent[i]];
        box.y[i] += box.y[box.parent[i]];
    }
    corners = [];
    for (const g of shown)
        for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++) {
            for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++)
                trace(g, n, e);
            moveLabels(g, n);
        }
    const size = {width: box.w[root], height: box.h[root]};
    return data.sideways ? turn(root, size) : size;
}

/* --- Routes: whole lines from their pieces inside groups */

/** Does a shown line arrive here? Lines out of the root arrive at its border. */
export function arrives(e, root) {
    const target = end.target[e];
    return end.nPoints[e] > 0 && (!isFrame(target) || (target === root && root > 0));
}

/** Appends a line's corners to `points`; from which box it comes. */
export function findRoute(e, root, points) {
    const pieces = [], start = points.length;
    let at = e, from = NONE, depth = 0, least = 1, firstEnd = NONE;
    while (at !== NONE) {
        const n = end.net[at], source = net.source[n];
        pieces.push(at);
        if (depth < least) {
            least = depth;
            firstEnd = at;
        }
        from = source;
        if (source === root) at = NONE;
        else if (source === net.group[n]) {
            depth--;
            at = net.outer[n];
        } else if (isFrame(source)) {
            depth++;
            at = net.inner[n];
        } else at = NONE;
    }
    while (pieces.length) {
        const piece = pieces.pop(), stop = end.points[piece] + 2 * end.nPoints[piece];
        for (let p = end.points[piece]; p < stop; p += 2)
            joinCorner(points, start, corners[p], corners[p + 1]);
    }
    return {from, to: end.target[e], firstEnd};
}

/** Adds a corner; drops the one before if the line goes straight through it. */
function joinCorner(points, start, x, y) {
    const n = points.length;
    if (n > start && points[n - 2] === x && points[n - 1] === y) return;
    if (n > start + 2 && ((points[n - 4] === points[n - 2] && points[n - 2] === x) ||
        (points[n - 3] === points[n - 1] && points[n - 1] === y)))
        points.length = n - 2;
    points.push(x, y);
}

/* --- Left to right: the axes exchanged, x mirrored, so that labels are above lines */

function turn(root, {width, height}) {
    for (let i = root; i < box.end[root]; i++) {
        const x = box.x[i];
        box.x[i] = box.y[i];
        box.y[i] = width - x - box.w[i];
        box.axis[i] = box.w[i] - box.axis[i];
        [box.w[i], box.h[i]] = [box.h[i], box.w[i]];
    }
    for (let p = 0; p < corners.length; p += 2)
        [corners[p], corners[p + 1]] = [corners[p + 1], width - corners[p]];
    for (const table of [net, end])
        for (let i = 0; i < table.n; i++)
            [table.labelX[i], table.labelY[i]] = [table.labelY[i],
                width - table.labelX[i] - table.labelWidth[i]];
    return {width: height, height: width};
}
