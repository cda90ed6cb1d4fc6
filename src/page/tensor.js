/* tensor.js - a tensor in the view Details: its distribution with exact quantiles, and a
   slice of its values as a heat map and as numbers. */

import {ask} from './api.js';
import {el, failure, svgEl} from './dom.js';
import {canvas, hatch, ramp} from './draw.js';
import {go, state} from './state.js';
import {commas, short} from './text.js';

const ROWS = 14, COLUMNS = 9, PICTURE = 64;

/* ---- distribution ---- */

function bars(histogram, height, log) {
    const {bins} = histogram, scale = log ? (n) => Math.log1p(n) : (n) => n;
    const most = Math.max(1, ...bins.map(scale)), wide = 1000 / bins.length;
    const d = bins.map((n, i) => n ? `M${(i * wide).toFixed(2)} ${height}V${(height -
        height * scale(n) / most).toFixed(2)}h${(wide * 0.92).toFixed(2)}V${height}z` : '');
    return svgEl('svg', {class: 'dtbars', viewBox: `0 0 1000 ${height}`,
        preserveAspectRatio: 'none', 'aria-hidden': 'true'}, svgEl('path', {d: d.join('')}));
}

/** The quantiles on the axis of the histogram above them; labels that would touch are left
    out, the table beside has all. */
function quantileLine(tensor, {min, max}) {
    const at = (value) => 100 * (value - min) / (max - min || 1), line = el('div', 'dtline');
    let last = -10;
    for (const {q, value} of tensor.quantiles || []) {
        const x = at(value);
        if (typeof value !== 'number' || x < 0 || x > 100) continue;
        const mark = el('i', q === 0.5 ? 'mid' : null);
        mark.style.left = `${x}%`;
        line.append(mark);
        if (x - last < 9) continue;
        last = x;
        const words = el('span', null, el('span', 'dim', q === 0.5 ? 'median' :
            `${+(100 * q).toFixed(1)}%`), el('br'), short(value));
        words.style.left = `${x}%`;
        line.append(words);
    }
    return line;
}

function distributionCard(tensor) {
    const card = el('section', 'dtcard'), draw = (inner) => {
        const histogram = inner ? tensor.inner : tensor.histogram;
        const pick = (text, on) => el('button', {type: 'button', class: inner === on ? 'on' : '',
            aria: {pressed: String(inner === on)}, onclick: () => draw(on)}, text);
        const finite = tensor.count - tensor.nan - tensor.pos_inf - tensor.neg_inf;
        card.replaceChildren(el('div', 'row2', el('h2', null, 'Distribution'),
            el('span', 'dim grow', `${commas(finite)} finite values, ${histogram.bins.length
            } bins; quantiles exact`), tensor.inner ? el('div', 'seg', pick('Full range', false),
                pick('1% to 99%', true)) : null),
        el('div', {role: 'img', aria: {label: `Histogram from ${short(histogram.min)} to ${
            short(histogram.max)}`}}, bars(histogram, 100, false), el('p', 'dim3',
            'the same, logarithm of counts'), bars(histogram, 50, true)),
        el('div', 'row2 dim', el('span', 'grow', short(histogram.min)),
            el('span', null, short(histogram.max))), quantileLine(tensor, histogram));
    };
    draw(false);
    return card;
}

/* ---- values ---- */

/** The slice that is shown: that of the address, else the last two dimensions. */
function sliceOf(shape) {
    if (state.slice) return state.slice;
    return `[${shape.map((_, i) => i < shape.length - 2 ? '0' : ':').join(', ')}]`;
}

function paintPicture(pen, width, height, picture) {
    const {wide, high, mean, bad} = picture;
    const most = Math.max(Math.abs(picture.min ?? 0), Math.abs(picture.max ?? 0)) || 1;
    const w = width / wide, h = height / high;
    for (let y = 0; y < high; y++)
        for (let x = 0; x < wide; x++) {
            const i = y * wide + x, value = mean[i];
            pen.fillStyle = bad[i] ? hatch(pen) : value === null ? 'transparent' :
                ramp('div', 0.5 + value / most / 2);
            pen.fillRect(x * w, y * h, Math.ceil(w), Math.ceil(h));
        }
}

class Values {
    constructor(box, doc, {file, place, alive}) {
        Object.assign(this, {file, place, alive, row: 0, column: 0, cell: [0, 0]});
        this.slice = sliceOf(doc.tensor.shape);
        this.card = el('section', 'dtcard');
        box.append(this.card);
        this.load();
    }

    async load() {
        const {file, place, row, column, cell} = this;
        try {
            const doc = await ask('show', {file, place, slice: this.slice, row, column,
                rows: ROWS, columns: COLUMNS, picture: PICTURE, cell: cell.join(',')});
            if (this.alive()) this.draw(doc.tensor.slice);
        } catch (error) {
            if (this.alive()) this.card.replaceChildren(this.head(), failure(error));
        }
    }

    head() {
        const field = el('input', {class: 'field mono', value: this.slice,
            ariaLabel: 'Slice', spellcheck: false, onkeydown: (event) => {
                if (event.key === 'Enter') go({slice: field.value.trim()});
                event.stopPropagation();
            }});
        return el('div', 'row2', el('h2', null, 'Values'), field);
    }

    /** Moves the cell, and the window when the cell leaves it. */
    move(down, across) {
        const {rows, columns} = this.shown, 
            to = (at, by, n) => Math.max(0, Math.min(n - 1, at + by));
        this.cell = [to(this.cell[0], down, rows), to(this.cell[1], across, columns)];
        const fit = (from, at, n, size) => Math.max(0, Math.min(n - size,
            at < from ? at : at >= from + size ? at - size + 1 : from));
        this.row = fit(this.row, this.cell[0], rows, Math.min(ROWS, rows));
        this.column = fit(this.column, this.cell[1], columns, Math.min(COLUMNS, columns));
        this.load();
    }

    picture(slice) {
        const {picture} = slice, map = canvas(`Heat map of ${this.slice}: ${
            slice.rows} rows, ${slice.columns} columns`, (pen, width, height) =>
            paintPicture(pen, width, height, picture));
        map.className = 'dtmap';
        map.onclick = (event) => {
            const at = map.getBoundingClientRect();
            const y = Math.floor((event.clientY - at.top) / at.height * slice.rows);
            const x = Math.floor((event.clientX - at.left) / at.width * slice.columns);
            this.move(y - this.cell[0], x - this.cell[1]);
        };
        return map;
    }

    grid(slice) {
        const {row = 0, column = 0, window_rows: high, window_columns: wide, texts} = slice;
        const heads = Array.from({length: wide}, (_, x) =>
            el('th', {class: 'num dim3', scope: 'col'}, String(column + x)));
        const lines = Array.from({length: high}, (_, y) => el('tr', null,
            el('th', {class: 'num dim3', scope: 'row'}, String(row + y)),
            Array.from({length: wide}, (_, x) => {
                const text = texts[y * wide + x].trim(), here = row + y === this.cell[0] &&
                    column + x === this.cell[1];
                return el('td', {class: `num mono ${/[NI]/.test(text) ? 'bad' : ''} ${
                    here ? 'on' : ''}`, onclick: () => this.move(row + y - this.cell[0],
                    column + x - this.cell[1])}, text);
            })));
        const table = el('table', {class: 'dtgrid', tabIndex: 0, ariaLabel: 'Values'},
            el('thead', null, el('tr', null, el('td'), heads)), el('tbody', null, lines));
        const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
            ArrowRight: [0, 1], PageUp: [-ROWS, 0], PageDown: [ROWS, 0]};
        table.onkeydown = (event) => {
            const step = steps[event.key];
            if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            event.stopPropagation();
            this.refocus = true;
            this.move(...step);
        };
        return table;
    }

    draw(slice) {
        this.shown = slice;
        const {cell, picture} = slice, bad = picture ? picture.nan + picture.inf : 0;
        const grid = slice.texts ? this.grid(slice) : null;
        this.card.replaceChildren(this.head(), el('div', 'dtvalues',
            picture ? this.picture(slice) : null, grid));
        this.card.append(el('p', null, cell ? [el('b', 'mono', `[${cell.index.join(', ')}] `),
            el('span', 'mono', cell.text), el('span', 'dim3 mono', ` ${cell.bits || ''}`)] : null,
        bad ? el('span', 'bad', ` ${commas(bad)} of ${commas(picture.count)} values of this ` +
            'slice are not finite') : null));
        if (this.refocus && grid) grid.focus();
        this.refocus = false;
    }
}

/** Appends the cards of a tensor; `doc` is the document `show` with its numbers. */
export function tensorCards(box, doc, where) {
    const {tensor} = doc;
    if (tensor.stats_why) box.append(el('p', 'dim dtnote', tensor.stats_why));
    if (tensor.histogram && tensor.histogram.bins) box.append(distributionCard(tensor));
    if (tensor.readable === false || !tensor.numel) return;
    new Values(box, doc, where);
}
