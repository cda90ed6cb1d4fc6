/* dress.js - how a box looks at a zoom: shape, colours, texts (look: levels of
   detail). Shared by the SVG and the canvas. */

import {CIRCLE, ENDS, KIND_VIEW, NONE, NOT_CALLED, PILL, REGION, SHARED, SIGN, TALL, box,
    data, group, groupOf, has, isGroup, isOpen, isTensor, textOf} from './graph_data.js';
import {carries, metricText, numbers} from './marks.js';
import {scene} from './scene.js';
import {view} from './view.js';

const BAND = 24; // height of a frame's title
export const HELD = 11; // px: the smallest text
export const INSET = 12; // of texts
const RIGHT = 9;
export const CHEVRON = 13; // between the inset and the name: a chevron
const FONT = 'Arial,"Liberation Sans",Arimo,Helvetica,sans-serif';
export const WIDTHS = [1.25, 2, 2.75, 3.5]; // of lines, by size of tensor

export let colour = 'family'; // or the name of a metric; 'numbers': those of marks.js
export let heat = null; // {metric, most, log, step: by box}

/** 4: everything; 3: changed shapes only; 2: names only; 1: solid, titles; 0: far. */
export function levelOf(zoom) {
    return zoom >= 1 ? 4 : zoom >= 0.9 ? 3 : zoom >= 0.5 ? 2 : zoom >= 0.25 ? 1 : 0;
}

/** A title's band keeps a height on the screen, as far as the frame has room. */
export const bandHeight = (zoom) => Math.max(BAND, Math.min(40, 15 / zoom));
/** The area that a click on a box hits: of a frame its title. */
export const barHeight = (b) => (isOpen(b) ? bandHeight(view.zoom) : box.h[b]);

/** By a metric, 'family' or 'numbers'; makeHeat() follows. */
export const colourBy = (name) => {
    colour = name;
};

/* --- Widths of texts */

const measurer = document.createElement('canvas').getContext('2d');
const known = new Map(); // at 100 px

export function textWidth(text, size, bold) {
    const key = (bold ? '*' : ' ') + text;
    let width = known.get(key);
    if (width === undefined) {
        measurer.font = `${bold ? 'bold ' : ''}100px ${FONT}`;
        width = measurer.measureText(text).width / 100;
        if (known.size > 50000) known.clear();
        known.set(key, width);
    }
    return width * size;
}

/** The text without its middle, so that it fits; empty: not even a few letters do. */
function cutMiddle(text, room, size, bold) {
    if (textWidth(text, size, bold) <= room) return text;
    const letters = [...text];
    for (let keep = letters.length - 1; keep >= 3; keep--) {
        const head = Math.ceil(keep / 2);
        const cut = letters.slice(0, head).join('') + '\u2026' +
            letters.slice(letters.length - (keep - head)).join('');
        if (textWidth(cut, size, bold) <= room) return cut;
    }
    return '';
}

/* --- Colours */

const isHot = (b) => box.kind[b] !== KIND_VIEW && !isTensor(b) && heat.values[b] >= 0;

/** The value in the corner: that of the heat, else parameters; empty: none. */
function valueText(b) {
    const kind = box.kind[b], metric = heat ? heat.metric : 'params';
    if (kind === KIND_VIEW || isTensor(b) || has(b, SIGN)) return '';
    if (!heat && !(box.params[b] > 0) && !has(b, SHARED)) return '';
    return metricText(metric, b);
}

export const metricOf = (name) => data.metrics.find((one) => one.name === name);

/** In a frame's title, times also have their share. */
function frameValue(b) {
    const text = valueText(b), total = metricOf('time')?.total;
    if (!heat || heat.metric !== 'time' || !text || !(total > 0)) return text;
    return `${text}, ${Math.round(100 * box.time[b] / total)}% of run`;
}

/** Steps of the shown nodes by a metric: the square root of their share of the largest,
    or the logarithm if the largest is far above the median. As in heat.c. */
export function makeHeat() {
    heat = null;
    scene.solids = []; // draw_canvas.js: colours by node
    if (colour === 'family') return;
    heat = {metric: colour, values: numbers ? numbers.values : box[colour], most: 0,
        least: 0, log: false};
    const all = scene.nodes.filter(isHot).map((b) => heat.values[b]);
    all.sort((a, b) => a - b);
    if (!all.length) return;
    const middle = all[all.length >> 1];
    heat.most = all[all.length - 1];
    heat.least = all.find((value) => value > 0) ?? heat.most;
    heat.log = middle > 0 && heat.least < heat.most && heat.most / middle > 1000;
}

/** 0 to 8; NONE: not measured. */
function heatStep(b) {
    if (!isHot(b)) return NONE;
    const value = heat.values[b];
    if (!(heat.most > 0) || !(value > 0)) return 0;
    const share = !heat.log ? Math.sqrt(value / heat.most)
        : value <= heat.least ? 0
            : Math.log(value / heat.least) / Math.log(heat.most / heat.least);
    return share >= 1 ? 8 : Math.round(share * 8);
}

export const CHANGES = ['', 'good', 'warn', 'accent']; // as in enum diagram_change
export const CHANGE_NAMES = ['', 'added', 'removed', 'changed'];
export const ADDED = 1, REMOVED = 2;
export const GONE = '5 3'; // dashes of removed boxes

function fillOf(b) {
    const family = data.families[box.family[b]];
    if (box.shape[b] === PILL) return 't-view';
    if (has(b, NOT_CALLED)) return 'surface';
    if (box.shape[b] === ENDS) return 'sunken';
    if (heat) return heatStep(b) === NONE ? 'surface' : `heat-${heatStep(b)}`;
    return family && !has(b, REGION) ? `t-${family}` : 'sunken';
}

/** Names of colours: the ground, the solid box of far zooms, the bar, the outline. */
export function coloursOf(b) {
    const family = data.families[box.family[b]], fill = fillOf(b);
    const plain = !family || box.shape[b] === ENDS || has(b, REGION | NOT_CALLED);
    const bar = heat || plain || shapeOf(b) !== 'box' ? '' : `f-${family}`;
    const solid = heat ? fill : plain ? 'line2' : `f-${family}`;
    let stroke = box.shape[b] === PILL ? 'f-view' : 'nodeline', width = 1;
    const dash = box.change[b] === REMOVED ? GONE : box.shape[b] === PILL ? '3 2.5'
        : has(b, NOT_CALLED) ? '1.5 2' : '';
    if (box.change[b]) [stroke, width] = [CHANGES[box.change[b]], 1.75];
    if (carries(b)) [stroke, width] = ['alarm', 1.75];
    return {fill, solid, bar, stroke, width, dash};
}

/** circle, pill or box. */
export function shapeOf(b) {
    const form = box.shape[b];
    return form === CIRCLE ? 'circle' : form === PILL || form === ENDS ? 'pill' : 'box';
}

/* --- Texts */

const isWide = (b) => box.shape[b] === TALL; // two lines
export const hasSheets = (b) => box.same[b] > 1 && isWide(b); // it represents repeats
export const hasChevron = (b) => isGroup(b) && isWide(b);
export const middleX = (b) => box.x[b] + box.w[b] / 2;
const SHEETS = 6; // height of the sheets drawn for a repeat
export const heightOf = (b) => box.h[b] - (hasSheets(b) ? SHEETS : 0);

/** The sign in a circle: plus and times are paths, others text. */
export function signPath(b) {
    const path = {'+': 'm-5 0h10m-5 -5v10',
        '\u00d7': 'm-4 -4l8 8m0 -8l-8 8'}[textOf(box.name, b)];
    return path && `M${middleX(b)} ${box.y[b] + box.h[b] / 2}${path}`;
}

export function signText(b) {
    return {text: textOf(box.name, b), x: middleX(b), y: box.y[b] + box.h[b] / 2 + 4,
        anchor: 'middle', size: 12, bold: true, role: 'text'};
}

/** A folded group's chevron, pointing right: its left end and its size. Beside a name
    that is held at a size it is held too. */
export function chevronOf(b, zoom) {
    const held = levelOf(zoom) === 2, size = held ? HELD / 12 / zoom : 1;
    const middle = held ? heightOf(b) / 2 : 14;
    return {x: box.x[b] + 13, y: box.y[b] + middle, size};
}

/** Texts of a node: [{text, x, y, anchor, size, bold, role}], in the graph's units. */
export function textsOf(b, zoom) {
    const level = levelOf(zoom), shape = shapeOf(b);
    if (level < 2) return [];
    if (shape === 'circle') return [];
    const name = textOf(box.name, b), x = box.x[b], y = box.y[b];
    const w = box.w[b], h = heightOf(b), dim = box.shape[b] === PILL;
    const left = INSET + (hasChevron(b) ? CHEVRON : 0);
    if (level === 2) {
        const size = HELD / zoom, room = w - (shape === 'pill' ? 12 : left + 4);
        if (size > h) return []; // higher than a pill of a view
        const cut = cutMiddle(name, room, size, !dim);
        const middle = y + h / 2 + size * 0.36;
        if (shape === 'pill')
            return [{text: cut, x: x + w / 2, y: middle, anchor: 'middle', size,
                bold: !dim, role: dim ? 'text3' : 'text'}];
        return [{text: cut, x: x + left, y: middle, size, bold: true, role: 'text'}];
    }
    return shape === 'pill' ? pillTexts(b, name, dim) : boxTexts(b, name, left);
}

/** Texts one after the other: [text, size, bold, role, space before]. */
function inRow(runs, x, y) {
    const list = [];
    for (const [text, size, bold, role, gap] of runs) {
        if (!text) continue;
        if (list.length) x += gap;
        list.push({text, x, y, size, bold, role});
        x += textWidth(text, size, bold);
    }
    return {list, right: x};
}

function pillTexts(b, name, dim) {
    const role = dim ? 'text3' : 'text2', y = box.y[b] + box.h[b] / 2 + 4;
    const runs = [[name, dim ? 11 : 12, !dim, dim ? 'text3' : 'text', 0],
        [textOf(box.detail, b), 11, false, role, dim ? 5 : 7],
        [textOf(box.callsText, b), 11, false, 'text3', 5]];
    const {right} = inRow(runs, 0, y);
    return inRow(runs, box.x[b] + (box.w[b] - right) / 2, y).list;
}

function boxTexts(b, name, left) {
    const x = box.x[b], y = box.y[b], wide = isWide(b);
    const line = wide ? y + 18 : y + box.h[b] / 2 + 4;
    const hot = heat && heatStep(b) !== NONE, role = hot ? 'text' : 'text2';
    const detail = textOf(box.detail, b), value = valueText(b);
    const {list, right} = inRow([
        [name, 12, true, has(b, NOT_CALLED) ? 'text3' : 'text', 0],
        [wide ? '' : detail, 11, false, role, 6],
        [textOf(box.callsText, b), 11, false, hot ? 'text' : 'text3', 5]],
    x + left, line);
    if (detail && wide)
        list.push({text: detail, x: x + INSET, y: y + 34, size: 11, bold: false, role});
    const end = x + box.w[b] - RIGHT;
    if (value && right + 6 + textWidth(value, 11, false) <= end + 1)
        list.push({text: value, x: end, y: line, anchor: 'end', size: 11, bold: false,
            role: hot ? 'text' : 'text3'});
    return list;
}

/** Texts of an open frame's title. */
export function titleTexts(b, zoom) {
    const level = levelOf(zoom), band = bandHeight(zoom);
    const right = box.x[b] + box.w[b] - 10;
    const size = level > 2 ? 12 : HELD / zoom, x = box.x[b] + 10 + 15 * size / 12;
    if (band * zoom < HELD || right <= x) return [];
    const y = box.y[b] + band / 2 + size * 0.34, name = textOf(group.name, groupOf[b]);
    const cut = cutMiddle(name, right + 6 - x, size, true);
    if (!cut || (level === 0 && cut !== name)) return [];
    const full = level > 2, value = full ? frameValue(b) : '';
    const valueRoom = value ? textWidth(value, 11, false) + 8 : 0;
    const runs = [[cut, size, true, 'text', 0]];
    const detail = full ? textOf(group.detail, groupOf[b]) : '';
    const used = x + textWidth(cut, size, true);
    if (used + 6 + textWidth(detail, 11, false) + valueRoom <= right)
        runs.push([detail, 11, false, 'text2', 6]);
    const {list} = inRow(runs, x, y);
    if (value && used + valueRoom <= right)
        list.push({text: value, x: right, y, anchor: 'end', size: 11, bold: false,
            role: 'text2'});
    return list;
}

/** The nesting depth of a frame, from 1. */
export function depthOf(b) {
    let depth = 1;
    for (let at = box.parent[b]; at !== scene.root; at = box.parent[at]) depth++;
    return depth;
}

/** The text for screen readers and the tooltip's first line: the drawn texts, uncut. */
export function fullName(b) {
    const words = textOf(box.words, b).split('\n').filter(Boolean);
    const open = isOpen(b) ? ', open' : isGroup(b) ? ', folded' : '';
    const change = box.change[b] ? `, ${CHANGE_NAMES[box.change[b]]}` : '';
    return [textOf(box.full, b), ...words].join(' ') + change + open;
}
