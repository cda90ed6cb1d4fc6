/* timeline_draw.js - drawing on the canvases of the timeline. */

import {textWidth, token, write} from './draw.js';
import {max, min, round} from './math.js';
import {time} from './text.js';
import {timeTicks} from './timeline_data.js';

export const ROW = 26; // px
export const TOP = 26;
export const CURVE = 116;

function rect(pen, colour, x, y, width, height) {
    pen.fillStyle = token(colour);
    pen.fillRect(x, y, width, height);
}

/** The texts that fit completely, in this order: name, time, share, class. */
function label(pen, {name, klass, took, short}, left, right, y) {
    const room = right - left - 14, bold = textWidth(name, 'bold');
    if (bold > room) return;
    const fits = (text) => text && bold + 12 + textWidth(text) <= room;
    const end = [took, short].find(fits);
    write(pen, 'bold', 'text', name, left + 7, y);
    const used = end ? textWidth(end) + 12 : 0;
    if (end) write(pen, 'small', 'text2', end, right - 7 - textWidth(end), y);
    if (klass && bold + 7 + textWidth(klass) + used <= room)
        write(pen, 'small', 'text2', klass, left + bold + 14, y);
}

/** One box: family: '' for what holds others. */
function box(pen, x, y, width, family, alone) {
    rect(pen, family ? `t-${family}` : 'g3', x, y, width, 24);
    if (family) rect(pen, `f-${family}`, x, y, min(4, width), 24);
    if (width > 2) {
        pen.lineWidth = .75;
        pen.strokeStyle = token(family ? 'nodeline' : 'line');
        if (family === 'view' && alone) pen.setLineDash([3, 2.5]);
        pen.strokeRect(x + .4, y + .4, width - .8, 23.2);
        pen.setLineDash([]);
    }
}

/** The axis above, with hairlines down to `bottom`. */
function axis(pen, {from, to, width, x}, bottom) {
    for (const [at, text] of timeTicks(from, to, width)) {
        const left = round(x(at)), size = textWidth(text);
        rect(pen, 'line', left, 18, 1, bottom - 18);
        if (left - size / 2 < 0 || left + size / 2 > width) continue;
        write(pen, 'small', 'text2', text, left - size / 2, 13);
    }
}

/** The memory curve between two heights; scale: {x, from, to, width}. */
function curve(pen, memory, {x, from, to, width}, top, bottom) {
    const {at_ns: at, bytes, peak_bytes: most} = memory, y = (n) => bottom - n / most * (bottom - top);
    pen.beginPath();
    let begun = false, last = bottom;
    for (let i = 0; i < at.length; i++) {
        if (i + 1 < at.length && at[i + 1] < from) continue;
        const left = max(0, min(width, x(at[i])));
        if (!begun) pen.moveTo(left, bottom);
        else pen.lineTo(left, last);
        begun = true;
        pen.lineTo(left, last = y(bytes[i]));
        if (at[i] > to) break;
    }
    if (begun) {
        const end = min(width, max(0, x(at[at.length - 1])));
        pen.lineTo(at[at.length - 1] < to ? end : width, last);
        pen.lineTo(at[at.length - 1] < to ? end : width, bottom);
    }
    pen.fillStyle = token('density-1');
    pen.strokeStyle = token('density-5');
    pen.lineWidth = 1;
    pen.fill();
    pen.stroke();
    rect(pen, 'line2', 0, bottom, width, 1);
}

function peak(pen, memory, {x, width}, top) {
    const text = `peak ${memory.peak_text}`, at = x(memory.peak_ns);
    if (at < 0 || at > width) return;
    const left = max(2, min(width - textWidth(text, 'bold') - 2, at + 4));
    rect(pen, 'text', round(at) - 1, top, 2, 6);
    pen.lineWidth = 4;
    pen.lineJoin = 'round';
    pen.strokeStyle = token('surface');
    write(pen, 'bold', 'text', text, left, top - 3);
    pen.strokeText(text, left, top - 3);
    write(pen, 'bold', 'text', text, left, top - 3);
}

/** The whole step: rows of 8 px, then the memory, then the axis. */
export function drawStrip(pen, width, height, boxes) {
    const {memory} = boxes.doc, scale = {from: 0, to: boxes.whole, width,
        x: (at) => at / boxes.whole * width};
    const rows = min(boxes.rows.length, 6), bottom = height - 20;
    rect(pen, 'sunken', 0, 0, width, 8);
    for (let row = 1; row < rows; row++) {
        let drawn = -1;
        for (const i of boxes.rows[row]) {
            const left = scale.x(boxes.start[i]), right = scale.x(boxes.end(i));
            if (right < drawn + .5) continue;
            const family = boxes.family(i);
            rect(pen, family ? `f-${family}` : 'g3', left, row * 9, max(.5, right - left), 8);
            drawn = right;
        }
    }
    if (memory) {
        curve(pen, memory, scale, rows * 9 + 22, bottom);
        write(pen, 'bold', 'text', 'memory', 4, rows * 9 + 14);
        if (width > 500)
            write(pen, 'small', 'text2', 'of tensors that are alive',
                10 + textWidth('memory', 'bold'), rows * 9 + 14);
        peak(pen, memory, scale, rows * 9 + 22);
    } else {
        rect(pen, 'line2', 0, bottom, width, 1);
    }
    for (const [at, text] of timeTicks(0, boxes.whole, width)) {
        const left = scale.x(at), size = textWidth(text);
        rect(pen, 'line2', round(left), bottom, 1, 4);
        if (left + size / 2 < width)
            write(pen, 'small', 'text2', text, max(0, left - size / 2), bottom + 16);
    }
}

/** Draws a dashed line at the end of forward. */
function dashed(pen, x, top, bottom) {
    pen.beginPath();
    pen.setLineDash([3, 3]);
    pen.strokeStyle = token('text2');
    pen.lineWidth = 1;
    pen.moveTo(round(x) + .5, top);
    pen.lineTo(round(x) + .5, bottom);
    pen.stroke();
    pen.setLineDash([]);
}

function ring(pen, left, y, width, inner) {
    pen.strokeStyle = token('accent');
    pen.lineWidth = 2;
    pen.strokeRect(left - inner, y - inner, width + 2 * inner, 24 + 2 * inner);
}

/** The boxes of a window. view: {from, to, memory, texts(i), step, selected, cursor}. */
export function drawFlame(pen, width, height, boxes, view) {
    const {from, to, selected, cursor} = view;
    const scale = {from, to, width, x: (at) => (at - from) / (to - from) * width};
    const top = view.memory ? TOP + CURVE : TOP, rings = [];
    axis(pen, scale, height);
    if (view.memory) {
        curve(pen, boxes.doc.memory, scale, TOP + 18, top - 10);
        peak(pen, boxes.doc.memory, scale, TOP + 18);
    }
    const end = min(width, scale.x(boxes.whole)), begin = max(0, scale.x(0));
    box(pen, begin, top, end - begin, '');
    label(pen, {name: view.step, took: `${time(boxes.whole)}, 100% of step`}, begin, end,
        top + 17);
    for (let row = 1; row < boxes.rows.length; row++) {
        const y = top + row * ROW, list = boxes.rows[row];
        if (y > height) break;
        for (let k = boxes.first(row, from); k < list.length; k++) {
            const i = list[k], x0 = scale.x(boxes.start[i]), x1 = scale.x(boxes.end(i)) - 1;
            if (boxes.start[i] > to) break;
            if (x1 - x0 < 1 && i !== cursor) continue;
            const left = max(0, x0), right = min(width, max(x1, x0 + 1));
            box(pen, left, y, right - left, boxes.family(i), true);
            if (right - left > 18) label(pen, view.texts(i), left, right, y + 17);
            if (i === cursor || boxes.place(i) === selected)
                rings.push([left, y, right - left, i === cursor && view.focused ? 2 : 0]);
        }
    }
    rings.forEach((one) => ring(pen, ...one));
    const back = boxes.rows[1] && boxes.rows[1].find((i) => boxes.phase(i) === 'backward');
    if (back !== undefined) dashed(pen, scale.x(boxes.start[back]), 20, height);
}
