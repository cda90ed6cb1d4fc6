/* histogram.js - a histogram over steps: cells, lines of the minimum and maximum, the zero
   line, hatched NaN and Inf, the cursor, and the numbers at its step. */

import {cell, columnOf, hatched} from './axis.js';
import {button, div, el, icon, menu, put, span, svgEl} from './dom.js';
import {canvas, stepAxis, token} from './draw.js';
import {floor, round} from './math.js';
import {axisPlace, badOf, cellWords, numbersOf, stepsText} from './series.js';
import {Shades} from './shades.js';
import {go} from './state.js';
import {NONE, brief, long, share, short} from './text.js';

const HIDDEN = {'aria-hidden': 'true'};
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const known = (value) => value !== null && Number.isFinite(value);

/** Values by column as a path: y(i), or null for a gap. */
function linePath(spans, y) {
    let path = '', down = false;
    spans.forEach(([left, right], i) => {
        const at = y(i);
        if (at !== null) path += `${down ? '' : `M${left} ${at}`}L${(left + right) / 2} ${at}` +
            (y(i + 1) === null ? `H${right}` : '');
        down = at !== null;
    });
    return path;
}

/** The value of a constant series, else null. */
function constantOf({min, max, line}) {
    const all = line ? [] : [...min, ...max].filter(known);
    return all.length && all.every((value) => value === all[0]) ? all[0] : null;
}

/** A figure. host: {range(), step(), tools(figure) -> items of its menu}. */
export class Histogram {
    constructor(host) {
        this.host = host;
        this.shades = new Shades();
        this.canvas = canvas('', (...to) => this.paint(...to));
        this.canvas.ariaHidden = 'true';
        this.lines = svgEl('svg', HIDDEN);
        this.cursor = el('i', 'cur');
        this.frame = el('i', 'hov off');
        this.tip = div('hvt off');
        this.labels = div({class: 'ax', ...HIDDEN});
        this.plot = div({class: 'hp', role: 'slider', tabIndex: 0,
            onpointermove: (event) => this.point(event),
            onpointerleave: () => this.read(-1), onblur: () => this.read(-1),
            onclick: (event) => this.point(event, true),
            onkeydown: (event) => this.key(event)},
        this.labels, this.canvas, this.lines, this.cursor, this.frame, this.tip);
        this.caption = el('figcaption');
        this.numbers = div('st');
        this.element = el('figure', 'hg', this.caption, this.plot, this.numbers,
            menu(button({icon: 'more', label: 'More', class: 'ghost tool'}), () =>
                host.tools(this)));
    }

    /** Shows the cell under the pointer, or goes to its step. */
    point({clientX, clientY}, choose) {
        const {plot, columns} = this, {first, end} = this.host.range();
        const box = plot.getBoundingClientRect(), x = (clientX - box.x - 1) / plot.clientWidth;
        const step = floor(first + x * (end - first)), at = columnOf(columns, step);
        if (choose) go({step: clamp(step, columns.first[at], columns.last[at])});
        else this.read(at, floor((clientY - box.y - 1) / plot.clientHeight * this.rows()));
    }

    key(event) {
        const by = event.shiftKey ? 10 : 1, column = this.at ?? this.column();
        const row = this.row ?? this.rows() >> 1;
        const [right, down] = {ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by],
            ArrowDown: [0, by]}[event.key] || [];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (event.key === 'Enter') go({step: this.columns.last[column]});
        else if (event.key === 'Escape') this.read(-1);
        else if (right !== undefined) this.read(Math.max(0, column + right), row + down);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    rows() {
        return this.trace.cells.length ? this.trace.axis.rows : 1;
    }

    /** The column of the cursor. */
    column() {
        return columnOf(this.columns, this.host.step());
    }

    take(trace, columns) {
        Object.assign(this, {trace, columns, constant: constantOf(trace)});
        const {axis} = trace, zero = axis ? 1 - axisPlace(axis, 0) : 0;
        const label = (value, at) => span({title: long(value),
            style: {top: `${100 * at}%`}}, brief(value));
        this.plot.style.height = `${trace.height}px`;
        put(this.labels, ...this.constant !== null ? [label(this.constant, 0.5)] :
            axis ? [label(axis.high, 0), zero > 0.18 && zero < 0.82 ? label(0, zero) : '',
                label(axis.low, 1)] : []);
        this.showCursor();
        this.canvas.redraw();
    }

    paint(pen, width, height) {
        if (!this.trace) return;
        const {trace, columns, constant} = this, {mask} = badOf(trace, this.column());
        const {x} = stepAxis(this.host.range(), width);
        const spans = this.spans = columns.first.map((_, i) => cell(columns, i, x));
        if (constant === null) this.shades.paint(pen, spans, height, trace.cells);
        spans.forEach(([left, right], i) => trace.bad[i] > 0 && !mask &&
            hatched(pen, left, 0, Math.max(2, right - left), height));
        this.paintLines(width, height);
        this.placeCursor();
    }

    /** The position of a value, in px from the top. */
    y(value, height) {
        return this.constant !== null ? height / 2 : clamp(height * (1 -
            axisPlace(this.trace.axis, value)), 0.5, height - 0.5).toFixed(1);
    }

    paintLines(width, height) {
        const {trace: {axis, line, ratio, max, min}, spans, constant} = this;
        const draw = (d, stroke, more) => d ? svgEl('path', {d, fill: 'none',
            stroke: token(stroke), ...more}) : '';
        const values = (list) => draw(linePath(spans, (i) => known(list[i] ?? null) ?
            this.y(list[i], height) : null), 'edge');
        const zero = axis && constant === null ? axisPlace(axis, 0) : 0;
        const at = `M0 ${round(height * (1 - zero)) + 0.5}h${width}`;
        const dash = {'stroke-dasharray': '3 3'};
        put(this.lines, ...!axis && constant === null ? [] : line ? [values(ratio)] :
            [values(max), constant === null ? values(min) : ''],
        ...zero > 0 && zero < 1 ? [draw(at, 'surface', dash), draw(at, 'text',
            {...dash, 'stroke-dashoffset': 3})] : []);
    }

    placeCursor() {
        const range = this.host.range(), step = this.host.step();
        this.cursor.classList.toggle('off', step < range.first || step >= range.end);
        this.cursor.style.left =
            `${round(stepAxis(range, this.plot.clientWidth).x(step + 0.5))}px`;
    }

    /** Caption and numbers of the cursor's step. */
    showCursor() {
        const {trace, columns, constant} = this, at = this.column(), axis = trace.axis || {};
        const {tensor, what, whose, call} = trace.title, step = stepsText(columns, at);
        const bad = badOf(trace, at), none = bad && trace.bad[at] >= 1;
        const numbers = numbersOf(trace, at).map(([name, value]) =>
            [name, value === null || none ? NONE : short(value), value]);
        const more = [axis.least > 0 && 'log', axis.cut > 0 && (axis.cut < 0.005 ?
            'under 1% cut' : `${share(axis.cut, 1)} cut`), whose].filter(Boolean);
        this.words = [tensor, whose, what].filter(Boolean).join(' ') + (call && `, ${call}`);
        put(this.caption, el('b', 'cut', tensor), span('dim', what),
            span({class: 'dim fit', title: more.join(', ')}, more.map((text) =>
                span(null, text))),
        bad ? span(bad.mask ? 'mark dim' : 'mark bad', bad.mask ? '' : icon('alarm'),
            bad.text) : '');
        put(this.numbers, ...numbers.map(([name, text, value]) => span({title:
            `${name} ${value ?? NONE}, ${step}`}, `${name} `, el('b', null, text))));
        this.tell({label: `${this.words}, over steps`, valuemin: columns.first[0] ?? 0,
            valuemax: columns.last.at(-1) ?? 0, valuenow: this.host.step(),
            valuetext: [step, bad && bad.text, constant !== null && 'constant',
                ...numbers.map((one) => `${one[0]} ${one[1]}`)].filter(Boolean).join(', ')});
        if (this.spans) this.placeCursor();
    }

    tell(values) {
        for (const [name, text] of Object.entries(values))
            this.plot.setAttribute(`aria-${name}`, text);
    }

    /** Shows the readout of a cell; column -1 hides it. */
    read(column, row = 0) {
        const {plot, trace, columns, tip, spans} = this, hide = column < 0 || !spans?.length;
        this.frame.classList.toggle('off', hide);
        tip.classList.toggle('off', hide);
        this.at = this.row = undefined;
        if (hide) {
            if (trace) this.showCursor();
            return;
        }
        const rows = this.rows(), height = plot.clientHeight, value = trace.ratio[column];
        const at = this.at = Math.min(spans.length - 1, column);
        const line = this.row = clamp(row, 0, rows - 1), x = (spans[at][0] + spans[at][1]) / 2;
        const y = trace.line ? known(value ?? null) ? Number(this.y(value, height)) : 0 :
            (line + 0.5) * height / rows;
        const lines = cellWords(trace, columns, at, line);
        Object.assign(this.frame.style, {left: `${x}px`, top: `${y}px`});
        put(tip, ...lines.map((text) => div(null, text)));
        const {offsetWidth: wide, offsetHeight: high} = tip, low = y + high + 12 > height + 26;
        Object.assign(tip.style, {left: `${clamp(x - wide / 2, -36, plot.clientWidth - wide)}px`,
            top: `${low ? y - 10 - high : y + 12}px`});
        this.tell({valuetext: lines.join(', ')});
    }
}
