/* overview_map.js - draws the cells of all rows on one canvas, and says what is under the
   pointer. */

import {cell, cursorLine, hatched, triangle} from './axis.js';
import {stepAxis, token} from './draw.js';
import {colour, deadScale, gradientScale, ratioScale} from './heat.js';

const LEAST = 2; // px of a stripe
const MARK = 5; // px at the lower edge: dead units, where they have no column

/** The places of each stripe of a row of `height` px: one a repeat, or several. */
export function stripes(row, height) {
    const n = row.members.length, many = Math.min(n, Math.floor(height / LEAST));
    return Array.from({length: many}, (_, i) =>
        row.members.slice(Math.round(i * n / many), Math.round((i + 1) * n / many)));
}

/** Scales for these rows, by kind. */
export function scales(modules, rows) {
    const values = [];
    for (const {members} of rows)
        for (const place of members) {
            const list = modules.values('gradient', place)?.filter((one) =>
                one > 0 && one < Infinity);
            if (list?.length) values.push(list.sort()[0], list[list.length >> 1], list.at(-1));
        }
    return {gradient: gradientScale(values), ratio: ratioScale, dead: deadScale};
}

/** view: {modules, scales, range, columns: [{id, left, width}], step, marks}. Rows are
    painted from column `from` on; top(row): its upper edge. */
export function paintRows(pen, view, rows, top, height, from = 0) {
    for (const {id, left, width} of view.columns)
        if (id !== 'bad') paintColumn(pen, {...view, id, left, from,
            axis: stepAxis(view.range, width)}, rows, top, height);
}

function paintColumn(pen, at, rows, top, height) {
    const {modules, id, left, axis, from} = at;
    for (const row of rows) {
        const list = stripes(row, height - 2);
        list.forEach((places, k) => {
            const y = Math.round(k * (height - 2) / list.length);
            const end = Math.round((k + 1) * (height - 2) / list.length);
            paintCells(pen, at, id, places, top(row) + 1 + y, end - y);
            if (at.marks && id === 'gradient')
                paintCells(pen, at, 'dead', places, top(row) + height - 1 - MARK, MARK);
        });
        if (at.marks && id === 'gradient' && row.maker && row.bad >= from) {
            const x = left + cell(modules.columns, row.bad, axis.x)[0];
            triangle(pen, Math.max(left + 7, x - 8), top(row) + height / 2 - 6, true, 11);
        }
    }
}

function paintCells(pen, {modules, scales: all, left, axis, from}, id, places, y, height) {
    for (let i = from; i < modules.n; i++) {
        const value = modules.worst(id, places, i);
        if (Number.isNaN(value)) continue;
        const [x, end] = cell(modules.columns, i, axis.x);
        if (value === Infinity) hatched(pen, left + x, y, end - x, height);
        else {
            pen.fillStyle = colour(all[id], value);
            pen.fillRect(left + x, y, end - x, height);
        }
    }
}

/** The steps around the first one that is not finite. */
export function paintClose(pen, {modules, columns}, rows, top, height) {
    const near = modules.document.close_up, column = columns.find((one) => one.id === 'bad');
    if (!near || !column) return;
    const size = column.width / near.first.length;
    for (const row of rows) {
        const letters = modules.close(row.members), y = top(row) + 1;
        letters.forEach((letter, i) => {
            const x = column.left + Math.round(i * size);
            const end = column.left + Math.round((i + 1) * size);
            if (letter === '1')
                hatched(pen, x, y, end - x - (letters[i + 1] === '1' ? 0 : 1), height - 2);
            if (letter !== '0') return;
            pen.fillStyle = token('sunken');
            pen.fillRect(x, y, end - x - 1, height - 2);
        });
        const first = letters.indexOf('1');
        if (row.maker && first > 0)
            triangle(pen, column.left + Math.round(first * size) - 8, y + height / 2 - 8,
                true, 12);
    }
}

/** The cursor in each column. */
export function paintCursor(pen, view, bottom) {
    for (const {id, left, width} of view.columns) {
        const near = view.modules.document.close_up;
        let x = null;
        if (id !== 'bad') {
            const {first, last} = view.range;
            if (view.step >= first && view.step <= last)
                x = stepAxis(view.range, width).x(view.step);
        } else if (near) {
            const i = near.first.findIndex((one, k) =>
                one <= view.step && view.step <= near.last[k]);
            if (i >= 0) x = Math.round(i * width / near.first.length);
        }
        if (x !== null) cursorLine(pen, left + x, 0, bottom);
    }
}
