/* histogram.js - one series over steps: cells, the lines of its least and largest value,
   zero, what is not finite, the cursor, and the numbers of the cursor's step. */

import {button, el, icon, menu, svgEl} from './dom.js';
import {cell, columnOf, hatched} from './axis.js';
import {canvas, stepAxis, token} from './draw.js';
import {axisPlace, badWords, cellWords, numbersOf, stepsText} from './series.js';
import {Shades} from './shades.js';
import {go} from './state.js';
import {NONE, brief, long, short} from './text.js';

const inside = (y, height) => Math.max(0.5, Math.min(height - 0.5, y));

/** Values by column as a path; `at` gives y, or null for a gap. */
function linePath(spans, at) {
    let path = '', down = false;
    spans.forEach(([left, right], i) => {
        const y = at(i), middle = ((left + right) / 2).toFixed(1);
        if (y === null) {
            down = false;
            return;
        }
        path += `${down ? 'L' : `M${left.toFixed(1)} ${y.toFixed(1)}L`}` +
            `${middle} ${y.toFixed(1)}`;
        if (i + 1 === spans.length || at(i + 1) === null)
            path += `L${right.toFixed(1)} ${y.toFixed(1)}`;
        down = true;
    });
    return path;
}

/** The value of a series that never changes, else null. */
function constantOf({min, max, line}) {
    const all = line ? [] : [...min, ...max].filter((value) => value !== null);
    return all.length && all.every((value) => value === all[0]) ? all[0] : null;
}

/** A figure. host: {range(), step(), tools(trace) -> items of its menu, name}. */
export class Histogram {
    constructor(host) {
        this.host = host;
        this.shades = new Shades();
        this.canvas = canvas('', (...to) => this.paint(...to));
        this.canvas.setAttribute('aria-hidden', 'true');
        this.lines = svgEl('svg', {'aria-hidden': 'true'});
        this.cursor = el('i', 'cur');
        this.frame = el('i', 'hov off');
        this.tip = el('div', 'hvt off');
        this.labels = el('div', {class: 'ax', aria: {hidden: 'true'}});
        this.plot = el('div', {class: 'hp', role: 'slider', tabIndex: 0}, this.labels,
            this.canvas, this.lines, this.cursor, this.frame, this.tip);
        this.caption = el('figcaption');
        this.numbers = el('div', 'st');
        this.more = menu(button({icon: 'more', label: 'More', class: 'ghost tool'}), () =>
            this.host.tools(this));
        this.element = el('figure', 'hg', this.caption, this.plot, this.numbers, this.more);
        this.listen();
    }

    listen() {
        const {plot} = this, point = (event) => {
            const box = plot.getBoundingClientRect();
            return [event.clientX - box.x - 1, event.clientY - box.y - 1];
        };
        plot.onpointermove = (event) => {
            const [x, y] = point(event);
            this.read(this.columnAtX(x), Math.floor(y / plot.clientHeight * this.rows()));
        };
        plot.onpointerleave = plot.onblur = () => this.read(-1);
        plot.onclick = (event) => {
            const {first, last} = this.columns, x = point(event)[0], at = this.columnAtX(x);
            go({step: Math.max(first[at], Math.min(last[at], this.stepAtX(x)))});
        };
        plot.onkeydown = (event) => this.key(event);
    }

    key(event) {
        const by = event.shiftKey ? 10 : 1, column = this.at ?? this.column();
        const row = this.row ?? this.rows() >> 1;
        const keys = {
            ArrowLeft: () => this.read(column - by, row),
            ArrowRight: () => this.read(column + by, row),
            ArrowUp: () => this.read(column, row - by),
            ArrowDown: () => this.read(column, row + by),
            Enter: () => go({step: this.columns.last[column]}),
            Escape: () => this.read(-1),
        };
        if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        keys[event.key]();
    }

    rows() {
        return this.trace.axis && this.trace.cells.length ? this.trace.axis.rows : 1;
    }

    axis() {
        return stepAxis(this.host.range(), this.plot.clientWidth);
    }

    stepAtX(x) {
        const {first, end} = this.host.range();
        return Math.floor(first + x / this.plot.clientWidth * (end - first));
    }

    columnAtX(x) {
        return columnOf(this.columns, this.stepAtX(x));
    }

    /** The column of the cursor. */
    column() {
        return columnOf(this.columns, this.host.step());
    }

    take(trace, columns) {
        this.trace = trace;
        this.columns = columns;
        this.constant = constantOf(trace);
        this.plot.style.height = `${trace.height}px`;
        this.plot.style.setProperty('--h', trace.height / 120);
        if (trace.cells.length) this.shades.update(trace.cells);
        this.showLabels();
        this.showCursor();
        this.canvas.redraw();
    }

    /** Where a value is, in px from the top. */
    y(value, height) {
        if (this.constant !== null) return height / 2;
        return inside(height * (1 - axisPlace(this.trace.axis, value)), height);
    }

    showLabels() {
        const {trace: {axis}, constant} = this, zero = axis ? 1 - axisPlace(axis, 0) : -1;
        const label = (value, at) => el('span', {title: long(value),
            style: {top: `${100 * at}%`}}, brief(value));
        this.labels.replaceChildren(...constant !== null ? [label(constant, 0.5)] : axis ?
            [label(axis.high, 0), zero > 0.18 && zero < 0.82 ? label(0, zero) : '',
                label(axis.low, 1)] : []);
    }

    paint(pen, width, height) {
        if (!this.trace) return;
        const {trace, columns} = this, mask = badWords(trace, this.column())?.mask;
        const {x} = stepAxis(this.host.range(), width);
        this.spans = columns.first.map((_, i) => cell(columns, i, x));
        if (this.constant === null && trace.cells.length)
            this.shades.paint(pen, this.spans, height);
        this.spans.forEach(([left, right], i) => trace.bad[i] > 0 && !mask &&
            hatched(pen, left, 0, Math.max(2, right - left), height));
        this.paintLines(width, height);
        this.placeCursor();
    }

    paintLines(width, height) {
        const {trace, spans, constant} = this, {axis} = trace, parts = [];
        const draw = (d, stroke, more) => d && parts.push(svgEl('path', {d, fill: 'none',
            stroke: token(stroke), ...more}));
        const values = (list) => draw(linePath(spans, (i) => Number.isFinite(list[i]) &&
            list[i] !== null ? this.y(list[i], height) : null), 'edge');
        if (axis && trace.line) values(trace.ratio);
        else if (axis || constant !== null) {
            values(trace.max);
            if (constant === null) values(trace.min);
        }
        const zero = axis && constant === null ? axisPlace(axis, 0) : 0;
        if (zero > 0 && zero < 1) {
            const d = `M0 ${Math.round(height * (1 - zero)) + 0.5}h${width}`;
            draw(d, 'surface', {'stroke-dasharray': '3 3'});
            draw(d, 'text', {'stroke-dasharray': '3 3', 'stroke-dashoffset': 3});
        }
        this.lines.replaceChildren(...parts);
    }

    placeCursor() {
        const {first, end} = this.host.range(), step = this.host.step();
        this.cursor.classList.toggle('off', step < first || step >= end);
        this.cursor.style.left = `${Math.round(this.axis().x(step + 0.5))}px`;
    }

    /** Caption and numbers of the cursor's step. */
    showCursor() {
        const {trace, columns} = this, at = this.column(), {title} = trace;
        const bad = badWords(trace, at), step = stepsText(columns, at);
        const numbers = numbersOf(trace, at).map(([name, value]) => [name, value === null ||
            (bad && trace.bad[at] >= 1) ? NONE : short(value), value]);
        const axis = trace.axis || {}, words = [title.tensor, title.whose, title.what]
            .filter(Boolean).join(' ') + (title.call && `, ${title.call}`);
        const about = [title.what, axis.least > 0 ? 'log' : '', axis.cut > 0 ? `${percent(
            axis.cut)} cut` : '', title.whose].filter(Boolean);
        this.words = words;
        this.caption.replaceChildren(el('b', 'cut', title.tensor), el('span', {class: 'dim fit',
            title: about.join(', ')}, about.map((text) => el('span', null, text))),
        bad ? el('span', bad.mask ? 'mark dim' : 'mark bad', bad.mask ? '' : icon('alarm'),
            bad.text) : '');
        this.numbers.replaceChildren(...numbers.map(([name, text, value]) => el('span',
            {title: value === null ? name : `${name} ${value}, ${step}`}, `${name} `,
            el('b', null, text))));
        const set = (key, text) => this.plot.setAttribute(`aria-${key}`, text);
        set('label', `${words}, over steps`);
        set('valuemin', columns.first[0]);
        set('valuemax', columns.last[columns.last.length - 1]);
        set('valuenow', Math.max(columns.first[0], this.host.step()));
        set('valuetext', [step, bad ? bad.text : '', this.constant !== null ? 'constant' : '',
            ...numbers.map((one) => `${one[0]} ${one[1]}`)].filter(Boolean).join(', '));
        if (this.spans) this.placeCursor();
    }

    /** Shows what a cell means; column -1: nothing. */
    read(column, row = 0) {
        const hide = column < 0 || !this.spans || !this.spans.length;
        this.frame.classList.toggle('off', hide);
        this.tip.classList.toggle('off', hide);
        this.at = this.row = undefined;
        if (hide) {
            if (this.trace) this.showCursor();
            return;
        }
        const {plot, trace, columns} = this, rows = this.rows(), height = plot.clientHeight;
        const at = this.at = Math.min(columns.first.length - 1, column);
        const line = this.row = Math.max(0, Math.min(rows - 1, row));
        const [left, right] = this.spans[at], high = height / rows;
        const value = trace.line ? trace.ratio[at] : null;
        const top = trace.line ? value === null ? 0 : this.y(value, height) : line * high;
        Object.assign(this.frame.style, {left: `${(left + right) / 2}px`, top: `${top +
            (trace.line ? 0 : high / 2)}px`});
        const lines = cellWords(trace, columns, at, line);
        this.tip.replaceChildren(...lines.map((text) => el('div', null, text)));
        const room = this.element.clientWidth - this.tip.offsetWidth;
        const x = left - this.tip.offsetWidth / 2;
        const low = top + 12 + this.tip.offsetHeight > height + 26;
        Object.assign(this.tip.style, {left: `${Math.max(-36, Math.min(room - 42, x))}px`,
            top: `${low ? top - 10 - this.tip.offsetHeight : top + 12}px`});
        this.plot.setAttribute('aria-valuetext', lines.join(', '));
    }
}

const percent = (part) => part < 0.01 ? `${short(part * 100)}%` : `${Math.round(part * 100)}%`;
