/* draw_lines.js - paths of lines, and lines and labels as SVG elements. */

import {layers} from './draw_svg.js';
import {ADDED, CHANGE_NAMES, WIDTHS, depthOf} from './dress.js';
import {shape} from './elements.js';
import {end, idOf, net} from './graph_data.js';
import {scene} from './scene.js';
import {distance} from './trunks.js';

const TIP = 1, HEAD = 7; // of arrows: from the box, length

/** Corners are round, unless lines split there or the pieces are short. */
function cornerRadius(points, p) {
    return scene.isSplit(points[p], points[p + 1]) ? 0
        : Math.min(7, distance(points, p, p - 2) / 2, distance(points, p, p + 2) / 2);
}

/** A line with round corners, except where another one leaves it. */
function linePath(points, start, stop) {
    let d = `M${points[start]} ${points[start + 1]}`;
    for (let p = start + 2; p < stop - 2; p += 2) {
        const x = points[p], y = points[p + 1];
        const radius = cornerRadius(points, p);
        d += `L${towards(points, p, p - 2, radius)}`;
        if (radius) d += `Q${x} ${y} ${towards(points, p, p + 2, radius)}`;
    }
    const last = stop - 2;
    return d + `L${towards(points, last, last - 2,
        Math.min(TIP + HEAD - 1, distance(points, last, last - 2)))}`;
}

/** A point at distance `by` from p towards q. */
function towards(points, p, q, by) {
    return `${points[p] + Math.sign(points[q] - points[p]) * by} ` +
        `${points[p + 1] + Math.sign(points[q + 1] - points[p + 1]) * by}`;
}

/** The filled arrowhead at the end of a line. */
function arrowPath(points, stop) {
    const dx = Math.sign(points[stop - 2] - points[stop - 4]);
    const dy = Math.sign(points[stop - 1] - points[stop - 3]);
    const x = points[stop - 2] - TIP * dx, y = points[stop - 1] - TIP * dy;
    return `M${x} ${y}L${x - HEAD * dx - 3.2 * dy} ${y - HEAD * dy - 3.2 * dx}` +
        `L${x - HEAD * dx + 3.2 * dy} ${y - HEAD * dy + 3.2 * dx}z`;
}

/** Two bars across the middle of the last piece: the gradient is cut off. */
function detachedPath(points, stop) {
    const x = (points[stop - 2] + points[stop - 4]) / 2;
    const y = (points[stop - 1] + points[stop - 3]) / 2;
    return points[stop - 2] === points[stop - 4]
        ? `M${x - 7} ${y - 2}h14M${x - 7} ${y + 2}h14`
        : `M${x - 2} ${y - 7}v14M${x + 2} ${y - 7}v14`;
}

/** A bar before the arrow of an added line: with it, a plus. */
function tickPath(points, stop) {
    const [x, y] = towards(points, stop - 2, stop - 4, TIP + HEAD + 6).split(' ');
    return points[stop - 2] === points[stop - 4] ? `M${x - 4} ${y}h8`
        : `M${x} ${y - 4}v8`;
}

export function drawLine(i) {
    const {own, ownStart, nets, from, to} = scene.lines, n = nets[i];
    const change = end.change[scene.lines.ends[i]];
    const bad = net.bad[n] ? ' bad' : change ? ` ${CHANGE_NAMES[change]}` : '';
    const ids = {'data-from': idOf(from[i]), 'data-to': idOf(to[i])};
    if (change) ids['data-change'] = CHANGE_NAMES[change];
    const list = (scene.crossings.get(i) ?? []).map(drawCasing), stop = ownStart[i + 1];
    const add = (kind, d, more) => list.push(shape('path', kind, {...more, d}));
    add(`edge${bad}`, linePath(own, ownStart[i], stop), ids);
    list[list.length - 1].style.setProperty('--w', WIDTHS[net.width[n]]);
    add(`arrow${bad}`, arrowPath(own, stop), ids);
    if (end.detached[scene.lines.ends[i]]) add('detached', detachedPath(own, stop));
    if (change === ADDED) add('tick added', tickPath(own, stop));
    return list;
}

/** The ground under a line that crosses another. */
function drawCasing({x, y, upright, group: around}) {
    const d = upright ? `M${x} ${y - 5}v10` : `M${x - 5} ${y}h10`;
    const casing = shape('path', 'casing', {d});
    casing.style.setProperty('--fill', groundOf(around));
    return casing;
}

/** The colour inside a group. */
const groundName = (b) => (b === scene.root ? 'surface'
    : `g${Math.min(3, depthOf(b))}`);
const groundOf = (b) => `var(--${groundName(b)})`;

/** A dot where lines of one net split. */
export const drawDot = ({x, y, net: n}) => [shape('circle',
    net.bad[n] ? 'dot bad' : 'dot', {cx: x, cy: y, r: 2.6}, layers.dots)];

export function drawLabel(label) {
    const ground = groundOf(net.group[label.net]), {x, y} = label, list = [];
    const add = (text, at, className) => {
        const element = shape('text', className, {x, y: at}, layers.labels);
        element.style.setProperty('--fill', ground);
        element.textContent = text;
        list.push(element);
    };
    if (label.slash) list.push(shape('path', 'slash', {d: label.slash}, layers.labels));
    add(label.text, y + 11, `edge-label${label.strong ? ' strong' : ''}`);
    if (label.more) add(label.more, y + 25, 'edge-label');
    return list;
}
