/* overview_map.js - draws the cells of all rows on one canvas. `view` is the overview. */

import {cell, cursorLine, hatched, triangle} from './axis.js';
import {stepAxis, token} from './draw.js';
import {colour, deadScale, gradientScale, ratioScale} from './heat.js';
import {ceil, floor, max, min, round} from './math.js';

const LEAST = 2; // px of a stripe or a cell
const MARK = 5; // px at the lower edge: dead units, where they have no column

/** The places of each stripe of a row of `height` px: one repeat each, or several. */
export function stripes({members}, height) {
    const n = members.length, many = min(n, floor(height / LEAST));
    return Array.from({length: many}, (_, i) =>
        members.slice(round(i * n / many), round((i + 1) * n / many)));
}

/** Scales for these rows, by kind. */
export function scales(modules, rows) {
    const values = [];
    for (const place of rows.flatMap((row) => row.members)) {
        const list = modules.values('gradient', place)?.filter((one) =>
            one > 0 && one < Infinity);
        if (list?.length) values.push(list.sort()[0], list[list.length >> 1], list.at(-1));
    }
    return {gradient: gradientScale(values), ratio: ratioScale, dead: deadScale};
}

/** Paints cells from column `from` on. */
function paintCells(pen, {modules, scales: all}, id, places, {axis, left, from}, y, height) {
    for (let i = from; i < modules.n; i++) {
        const value = modules.worst(id, places, i);
        if (Number.isNaN(value)) continue;
        const [x, right] = cell(modules.columns, i, axis.x);
        const next = i + 1 < modules.n ? cell(modules.columns, i + 1, axis.x)[0] : Infinity;
        const end = max(right, min(x + LEAST, next)); // a step that stands alone is seen
        if (value === Infinity) hatched(pen, left + x, y, end - x, height);
        else {
            pen.fillStyle = colour(all[id], value);
            pen.fillRect(left + x, y, end - x, height);
        }
    }
}

function paintRow(pen, view, id, row, at, top, high) {
    const list = stripes(row, high - 2), marks = id === 'gradient' &&
        view.root.classList.contains('mid');
    list.forEach((places, k) => {
        const y = round(k * (high - 2) / list.length);
        const end = round((k + 1) * (high - 2) / list.length);
        paintCells(pen, view, id, places, at, top + 1 + y, end - y);
        if (marks) paintCells(pen, view, 'dead', places, at, top + high - 1 - MARK, MARK);
    });
    if (!marks || !row.maker || !(row.bad >= at.from && row.bad < view.modules.n)) return;
    const x = cell(view.modules.columns, row.bad, at.axis.x)[0] - 8;
    triangle(pen, at.left + max(7, x), top + high / 2 - 6, true, 11);
}

/** Paints the steps around the first one with NaN or Inf. */
function paintClose(pen, {modules}, row, {left, width}, top, high) {
    const letters = modules.close(row.members), size = width / letters.length;
    letters.forEach((letter, i) => {
        const x = left + round(i * size), wide = left + round((i + 1) * size) - x;
        pen.fillStyle = token('sunken');
        if (letter === '0') pen.fillRect(x, top + 1, wide - 1, high - 2);
        if (letter === '1') hatched(pen, x, top + 1, wide, high - 2);
    });
    const first = letters.indexOf('1');
    if (row.maker && first > 0)
        triangle(pen, left + round(first * size) - 8, top + high / 2 - 7, true, 12);
}

/** The x position of the cursor in a column; NaN: outside. */
function cursorAt({modules: {document: {close_up: near}}, range, now}, {id, width}, step) {
    if (id !== 'bad') return step >= range.first && step <= range.last ?
        stepAxis(range, width).x(step) : NaN;
    const i = near ? near.first.findIndex((one, k) => one <= step && step <= near.last[k]) : -1;
    return i < 0 ? NaN : i * width / near.first.length;
}

export function paintMap(view, pen, width, height, from = 0) {
    const high = view.high(), {scrollTop} = view.table, first = floor(scrollTop / high);
    const rows = view.rows.slice(first, first + ceil(height / high) + 1);
    for (const column of view.columns) {
        const at = {...column, from, axis: stepAxis(view.range, column.width)};
        rows.forEach((row, k) => {
            const top = (first + k) * high - scrollTop;
            if (column.id === 'bad') paintClose(pen, view, row, at, top, high);
            else paintRow(pen, view, column.id, row, at, top, high);
        });
        const x = cursorAt(view, column, view.now());
        if (x >= 0 && !column.says) cursorLine(pen, column.left + x, 0,
            min(height, view.rows.length * high - scrollTop));
    }
}

/** Repaints the columns from one on, that is everything right of the old cursor's left
    edge. */
export function paintFrom(view, from) {
    const {map, modules: {columns, n}} = view, {clientWidth: width, clientHeight: height} = map;
    const pen = map.getContext('2d');
    let least = from;
    pen.save();
    pen.beginPath();
    for (const {id, left, width: wide} of view.columns) {
        const {x} = stepAxis(view.range, wide);
        const begin = id === 'bad' ? 0 : x(columns.first[from]) - 2;
        pen.rect(round(left + begin), 0, round(wide + 2 - begin), height);
        while (id !== 'bad' && least > 0 && cell(columns, least, x)[0] > begin) least--;
    }
    pen.clip();
    pen.clearRect(0, 0, width, height);
    paintMap(view, pen, width, height, least);
    pen.restore();
    map.dataset.painted = `${from} ${n}`;
}
