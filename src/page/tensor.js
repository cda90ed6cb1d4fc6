/* tensor.js - values in the view Details: their distribution with exact quantiles, a slice
   as a heat map and as numbers, the channels of a kept result as small pictures. */

import {ask} from './api.js';
import {div, el, failure, put, seg, span, svgEl} from './dom.js';
import {canvas, hatch, ramp} from './draw.js';
import {abs, ceil, floor} from './math.js';
import {go, state} from './state.js';
import {commas, plural, short} from './text.js';

const ROWS = 14, COLUMNS = 9, PICTURE = 64;

/* ---- distribution ---- */

/** Bars from the bottom of a box that CSS stretches; turned: from the left, downwards. */
function bars(kind, values, scale = (n) => n, turned = false) {
    const most = Math.max(...values.map(scale)) || 1;
    return svgEl('svg', {class: kind, viewBox: turned ? `0 0 1 ${values.length}` :
        `0 -1 ${values.length} 1`, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
    svgEl('path', {d: values.map((n, i) => {
        const size = (scale(n) / most).toFixed(3);
        return turned ? `M0 ${i}h${size}v.92H0z` : `M${i} 0v-${size}h.92V0z`;
    }).join('')}));
}

/** The quantiles on the axis of the histogram above; omits labels that would touch. */
function quantileLine(tensor, {min, max}) {
    const line = div('dtline');
    let last = -10;
    for (const {q, value} of tensor.quantiles || []) {
        const x = 100 * (value - min) / (max - min || 1), left = `${x}%`;
        if (typeof value !== 'number' || x < 0 || x > 100) continue;
        line.append(el('i', {class: q === 0.5 ? 'mid' : '', style: {left}}));
        if (x - last < 9) continue;
        last = x;
        line.append(span({style: {left}}, span('dim', q === 0.5 ? 'median' :
            `${+(100 * q).toFixed(1)}%`), el('br'), short(value)));
    }
    return line;
}

function distributionCard(tensor) {
    const card = el('section', 'dtcard'), draw = (inner) => {
        const {min, max, bins: counts} = inner ? tensor.inner : tensor.histogram;
        const finite = tensor.count - tensor.nan - tensor.pos_inf - tensor.neg_inf;
        put(card, div('row2', el('h2', null, 'Distribution'), span('dim grow', `${
            commas(finite)} finite values, ${counts.length} bins; quantiles exact`),
        tensor.inner && seg('Range', [['Full range', !inner, () => draw(false)],
            ['1% to 99%', inner, () => draw(true)]])),
        div({role: 'img', aria: {label: `Histogram from ${short(min)} to ${short(max)}, mean ${
            short(tensor.mean)}, std ${short(tensor.std)}`}}, bars('dtbars', counts),
        el('p', 'dim3', 'the same, logarithm of counts'), bars('dtbars', counts, Math.log1p)),
        div('row2 dim', span('grow', short(min)), span(null, `mean ${short(tensor.mean)} \u00b1 ${
            short(tensor.std)}`), span('grow num', short(max))),
        quantileLine(tensor, {min, max}));
    };
    draw(false);
    return card;
}

/* ---- values ---- */

/** The shown slice: from the address, or the last two dimensions. */
const sliceOf = (shape) => state.slice ||
    `[${shape.map((_, i) => i < shape.length - 2 ? '0' : ':').join(', ')}]`;

function paintPicture(pen, width, height, {wide, high, mean, bad, min, max}) {
    const most = Math.max(abs(min ?? 0), abs(max ?? 0)) || 1;
    const w = width / wide, h = height / high;
    mean.forEach((value, i) => {
        pen.fillStyle = bad[i] ? hatch(pen) : value === null ? 'transparent' :
            ramp('div', 0.5 + value / most / 2);
        pen.fillRect(i % wide * w, floor(i / wide) * h, ceil(w), ceil(h));
    });
}

class Values {
    constructor(box, tensor, where) {
        Object.assign(this, {where, row: 0, column: 0, cell: [0, 0]});
        this.slice = sliceOf(tensor.shape);
        this.card = el('section', 'dtcard');
        box.append(this.card);
        this.load();
    }

    async load() {
        const {row, column, cell, where: {file, place, call}} = this, mine = this.asked =
            (this.asked || 0) + 1, alive = () => mine === this.asked && this.where.alive();
        try {
            const doc = await ask('show', {file, place, call, slice: this.slice, row, column,
                rows: ROWS, columns: COLUMNS, picture: PICTURE, cell: cell.join(',')});
            if (alive()) this.draw((doc.tensor || doc.kept).slice);
        } catch (error) {
            if (alive()) put(this.card, this.head(), failure(error));
        }
    }

    head() {
        const field = el('input', {class: 'field mono', value: this.slice,
            ariaLabel: 'Slice', spellcheck: false, onkeydown: (event) => {
                if (event.key === 'Enter') go({slice: field.value.trim()});
                event.stopPropagation();
            }});
        return div('row2', el('h2', null, 'Values'), field);
    }

    /** Goes to a cell; the window follows. */
    to(row, column) {
        const {rows, columns} = this.shown, hold = (at, most) => Math.max(0, Math.min(most, at));
        const fit = (from, at, n, size) => hold(at < from ? at : at >= from + size ?
            at - size + 1 : from, n - size);
        this.cell = [hold(row, rows - 1), hold(column, columns - 1)];
        this.row = fit(this.row, this.cell[0], rows, Math.min(ROWS, rows));
        this.column = fit(this.column, this.cell[1], columns, Math.min(COLUMNS, columns));
        this.load();
    }

    /** The heat map with the means of |value| of its columns above it, of its rows beside it. */
    picture({picture, rows, columns}) {
        const map = canvas(`Heat map of ${this.slice}: ${rows} rows, ${columns} columns; from ${
            short(picture.min)} to ${short(picture.max)}`, (pen, width, height) =>
            paintPicture(pen, width, height, picture));
        map.onclick = (event) => {
            const at = map.getBoundingClientRect();
            this.to(floor((event.clientY - at.top) / at.height * rows),
                floor((event.clientX - at.left) / at.width * columns));
        };
        return div('dtmap', bars('', picture.column_mean_abs || []), span('dim3',
            'mean |value|'), map, bars('side', picture.row_mean_abs || [], undefined, true));
    }

    grid({row = 0, column = 0, window_rows: high, window_columns: wide, texts}) {
        const head = (scope, n) => el('th', {class: 'num dim3', scope}, n);
        const list = (n, make) => Array.from({length: n}, (_, i) => make(i));
        const [y, x] = this.cell, table = el('table', {class: 'dtgrid', tabIndex: 0, ariaLabel:
            'Values'}, el('thead', null, el('tr', null, el('td'), list(wide, (k) =>
            head('col', column + k)))), el('tbody', null, list(high, (i) => el('tr', null,
            head('row', row + i), list(wide, (k) => {
                const text = texts[i * wide + k].trim(), here = row + i === y && column + k === x;
                return el('td', {class: `num mono ${/[NI]/.test(text) ? 'bad' : ''} ${
                    here ? 'on' : ''}`, onclick: () => this.to(row + i, column + k)}, text);
            })))));
        const steps = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1],
            ArrowRight: [0, 1], PageUp: [-ROWS, 0], PageDown: [ROWS, 0]};
        table.onkeydown = (event) => {
            const by = steps[event.key];
            if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            event.stopPropagation();
            this.refocus = true; // several keys may come before an answer
            this.to(this.cell[0] + by[0], this.cell[1] + by[1]);
        };
        return table;
    }

    draw(slice) {
        this.shown = slice;
        const {cell, picture} = slice, bad = picture ? picture.nan + picture.inf : 0;
        const grid = slice.texts && this.grid(slice);
        put(this.card, this.head(), div('dtvalues', picture && this.picture(slice), grid),
            el('p', null, cell && [el('b', 'mono', `[${cell.index.join(', ')}] `),
                span('mono', cell.text), span('dim3 mono', ` ${cell.bits || ''}`)],
            bad > 0 && span('bad', ` ${commas(bad)} of ${commas(picture.count)} values of this ` +
                'slice are not finite')));
        if (this.refocus && grid) grid.focus();
        this.refocus = false;
    }
}

/** Appends the cards of a tensor or a kept result. */
export function tensorCards(box, tensor, where) {
    const why = tensor.stats_why || tensor.readable_why || tensor.values_why;
    if (why) box.append(el('p', 'dim dtnote', `No values here: ${why}.`, 
        why === tensor.values_why && tensor.min !== undefined ?
            ' Statistics are those of the step that was recorded.' : ''));
    if (tensor.histogram?.bins) box.append(distributionCard(tensor));
    if (tensor.readable !== false && tensor.numel) new Values(box, tensor, where);
}

/* ---- channels ---- */

/** The channels of N×C×H×W as small pictures; click shows one as a slice. */
export function sheetCard(sheet) {
    const {n, first, item, high, wide, most, channels} = sheet, points = atob(sheet.points);
    const one = (k) => {
        const map = canvas(null, (pen, width, height) => {
            const mean = [], bad = [];
            for (let i = 0; i < high * wide; i++) {
                const byte = points.charCodeAt(k * high * wide + i);
                mean.push((byte - 127) / 127 * most);
                bad.push(byte === 255);
            }
            paintPicture(pen, width, height, {wide, high, mean, bad, min: -most, max: most});
        });
        return el('button', {class: 'dtchannel', title: `channel ${first + k}`, onclick: () =>
            go({slice: `[${item}, ${first + k}, :, :]`})}, map, span('dim3', first + k));
    };
    return el('section', 'dtcard', div('row2', el('h2', null, 'Channels'), span('dim', `${
        n < channels ? `${n} of ` : ''}${plural(channels, 'channel')} of item ${item}, \u00b1${
        short(most)}`)), div('dtsheet', Array.from({length: n}, (_, k) => one(k))));
}
