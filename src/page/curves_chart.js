/* curves_chart.js - a chart of the view Curves: its head, its readout, its copies. */

import {button, div, el, put, span, svgEl} from './dom.js';
import {canvas, token} from './draw.js';
import {dashes, frame, paintChart, paintOver, paintTitle, scales} from './chart.js';
import {axisText, keyOf, pointAt, rangeOf, smooth, value} from './lines.js';
import {floor, max, round} from './math.js';
import {mainScalar} from './scrubber.js';
import {go, state} from './state.js';
import {SvgPen} from './svg_pen.js';
import {NONE, csv, number} from './text.js';
import {alarmWord} from './topbar.js';

const TITLES = {grad_norm: ['gradient norm', 'all parameters'],
    grad_scale: ['gradient scale', '']};
const SEVERITY = ['alarm', 'warning'];

/** Title and subtitle of a scalar. */
export function titleOf({runs}, key) {
    const line = runs.map((run) => run.lines.get(key)).find(Boolean);
    if (!line) return [key, ''];
    const owners = runs.filter((run) => run.lines.has(key)), {name, phase} = line;
    const rate = /^lr(?:\/(\d+))?$/.exec(name), groups = [...owners[0].lines.keys()]
        .filter((one) => /^lr\//.test(one)).length;
    let [title, about] = TITLES[name] || (rate ? ['learning rate', groups > 1 ?
        `group ${rate[1]} of ${groups}` : ''] : [name, '']);
    if (phase !== 'train') about = 'evaluation';
    if (owners.length < runs.length) about = `logged by ${owners.map(({letter}) =>
        letter).join(', ')} only`;
    if (!about) {
        const {step, columns} = owners[0].points(key, 'step');
        const every = round((step.at(-1) - step[0]) / (step.length - 1));
        if (step.length > 2 && every > 1.5 * (columns.width ?? 1)) about = `every ${every} steps`;
    }
    return [title, about];
}

/** Sort order: loss, the user's scalars by group, learning rates, the watch's scalars. */
export function order(runs) {
    const keys = new Set(runs.flatMap((run) => [...run.lines.keys()]));
    const main = new Set(runs.map(({document}) => mainScalar(document)).filter(Boolean)
        .map(keyOf)), groups = [];
    const group = (key) => key.includes('/') ? key.slice(0, key.indexOf('/')) : key;
    for (const key of keys) if (!groups.includes(group(key))) groups.push(group(key));
    const rank = (key) => main.has(key) ? 0 : /^lr(\/\d+)?$/.test(key) ? 2 :
        /^grad_(norm|scale)$/.test(key) ? 3 : 1;
    return [...keys].sort((a, b) => rank(a) - rank(b) ||
        groups.indexOf(group(a)) - groups.indexOf(group(b)));
}

/** The line style of a run. */
export function sample(letter) {
    const stroke = `var(--p-${letter.toLowerCase()})`;
    return svgEl('svg', {class: 'sample', viewBox: '0 0 22 10', fill: 'none', stroke,
        'aria-hidden': 'true'},
    svgEl('path', {d: 'M0 6l3-3 3 4 3-5 3 5 3-3 3 3 4-4', 'stroke-opacity': .5}),
    svgEl('path', {d: 'M0 5.5L22 4.5', 'stroke-width': 2, 'stroke-dasharray':
        dashes(letter).map((one) => one * .66).join(' ') || null}));
}

/** The alarms of all runs, worst first: {x, bad, words}. */
function alarmsOf({runs, axis}) {
    const made = new Map();
    for (const run of runs)
        for (const {severity, step, kind} of run.document.alarms)
            if (SEVERITY.includes(severity)) made.set(`${run.letter} ${step} ${kind}`, {
                x: run.at(step, axis), bad: severity === 'alarm', step,
                words: (runs.length > 1 ? `${run.letter} ` : '') + alarmWord(kind)});
    return [...made.values()].sort((a, b) => b.bad - a.bad || a.step - b.step);
}

export class Chart {
    constructor(view, key) {
        Object.assign(this, {view, key, chart: null});
        this.head = el('header');
        this.plot = canvas('', (pen, width, height) => this.chart && paintChart(pen,
            this.frame(width, height), this.chart));
        this.over = canvas('', (pen, width, height) => this.chart && paintOver(pen,
            this.frame(width, height), this.chart, state.step === null ? null :
                view.runs[0].at(state.step, view.axis), view.at));
        this.plot.ariaHidden = this.over.ariaHidden = 'true';
        this.box = div('ro float off');
        this.area = div({class: 'plot', tabIndex: 0, role: 'slider',
            onpointermove: (event) => this.point(event),
            onpointerleave: () => view.read(null),
            onclick: () => view.at !== null && go({step: view.step()})}, this.plot, this.over,
        this.box);
        this.card = el('section', {class: 'curve', data: {key}}, this.head, this.area);
    }

    frame(width, height) {
        return frame(width, height, this.big, this.chart);
    }

    point(event) {
        const box = this.area.getBoundingClientRect();
        const {at} = scales(this.frame(box.width, box.height), this.chart);
        this.view.read(at(event.clientX - box.left));
    }

    /** Takes the lines of the view. grown: {run, step}: paints only newer columns; keep: the
        range of y may only grow. */
    take(big, grown, keep) {
        const {view, key} = this, {width} = view.smoothing, log = view.log(key);
        const before = this.chart, all = view.runs.map((run) => run.points(key, view.axis, log))
            .filter(Boolean);
        this.big = big;
        this.chart = {lines: all.map((points) => ({points, smooth: smooth(points, width, log)})),
            range: rangeOf(all, log, keep ? before?.range : null), span: view.span,
            axis: view.axis, width, alarms: alarmsOf(view)};
        this.card.className = big ? 'curve big' : 'curve';
        const left = all.reduce((sum, one) => sum + one.left, 0);
        this.note = [width ? `thin: as logged; thick: mean over ${width} steps` : '',
            ...this.chart.range.says, left ? `${left} values \u2264 0 left out` : '']
            .filter(Boolean).join('; ');
        this.makeHead(log);
        const {range} = this.chart, same = grown && before && before.range.low === range.low &&
            before.range.high === range.high && this.plot.clientWidth;
        if (!same) this.plot.redraw();
        else this.paintFrom(grown);
    }

    paintFrom({run, step}) {
        const box = this.frame(this.plot.clientWidth, this.plot.clientHeight);
        const from = run.at(step, this.view.axis) - (this.view.axis === 'step' ?
            this.chart.width : 0);
        const smoothed = this.view.axis === 'step' || !this.chart.width;
        const x = scales(box, this.chart).x(from) - 26;
        if (!smoothed || x <= box.left) this.plot.redraw();
        else paintChart(this.plot.getContext('2d'), box, this.chart, floor(x));
        this.painted = x;
    }

    makeHead(log) {
        const {view, key} = this, [title, about] = titleOf(view, key);
        this.title = title;
        this.reads = span('reads');
        const name = this.big ? el('b', {class: 't cut', title: key}, title) : el('button',
            {type: 'button', class: 'bare t cut', title: 'Show it large', onclick: () =>
                go({chart: key})}, title);
        put(this.head, name, span('dim3 cut', about), span('grow'),
            this.big ? span('dim note', this.note) : this.reads,
            button({text: 'log', class: 'tg', press: log, onclick: () => go({logs:
                state.logs.includes(key) ? state.logs.filter((one) => one !== key) :
                    [...state.logs, key]})}));
        this.area.setAttribute('aria-label', `${title} ${about}`);
        this.card.setAttribute('aria-label', title);
    }

    /** {smoothed, raw, text} of each run at the readout, or at its end. */
    values() {
        return this.view.runs.map((run) => {
            const one = this.chart.lines.find(({points}) => points.run === run);
            if (!one) return {run, text: 'not logged'};
            const {points} = one, {at} = this.view;
            const {x, bad} = points, isBad = bad.length && !(bad.at(-1)[0] <= x.at(-1));
            const i = at !== null ? pointAt(points, at) : isBad ? NaN : x.length - 1;
            if (Number.isNaN(i)) return {run, text: 'NaN', rawText: 'NaN', bad: true};
            if (i < 0) return {run, text: NONE};
            return {run, smoothed: one.smooth[i], raw: points.y[i], text: value(one.smooth[i]),
                rawText: value(points.y[i])};
        });
    }

    /** Draws the readout: line, dots, values. */
    show() {
        const {view} = this, list = this.values();
        this.over.redraw();
        const said = list.map(({run, text}) => `${run.letter} ${text}`).join(', ');
        const set = (name, words) => this.area.setAttribute(`aria-${name}`, words);
        const step = view.step() ?? view.base().newest();
        set('valuemin', 0);
        set('valuemax', view.base().newest());
        set('valuenow', step);
        set('valuetext', `step ${step}: ${said}`);
        put(this.reads, ...list.map(({run, text, bad}) => span('rd',
            span({class: 'badge', data: {panel: run.letter}}, run.letter),
            span(bad ? 'bad' : '', text))));
        this.box.classList.toggle('off', !this.big || view.at === null);
        if (this.big && view.at !== null) this.fillBox(list);
    }

    fillBox(list) {
        const {view, chart} = this, {columns} = view.base().main, i = view.index;
        const [first, last] = [columns.first[i], columns.last[i]], two = chart.width > 0;
        const row = (head, a, b, kind) => el('tr', kind, el('td', null, head), el('td', null,
            el(two ? 'b' : 'span', null, a)), two ? el('td', null, b) : null);
        const rows = list.map(({run, text, rawText}) => row([span({class: 'badge',
            data: {panel: run.letter}}, run.letter), span('cut', run.file.name)], text,
        rawText ?? NONE));
        const [a, b] = list;
        if (list.length === 2 && a.raw !== undefined && b.raw !== undefined)
            rows.push(row('A \u2212 B', value(a.smoothed - b.smoothed), value(a.raw - b.raw), 'df'));
        put(this.box, el('b', null, first === last ? `step ${first}` :
            `steps ${first} to ${last}, mean`), view.axis === 'step' ? '' :
            `, ${axisText(view.axis, view.at)}`, el('table', null, two ? row('', 'smoothed',
            'raw', 'h') : null, rows));
        const {width, height} = this.area.getBoundingClientRect();
        const x = scales(this.frame(width, height), chart).x(view.at);
        const wide = this.box.offsetWidth, right = x + 14 + wide < width;
        this.box.style.left = `${right && x < width / 2 ? x + 14 : max(0, x - 14 - wide)}px`;
    }

    csv() {
        const lines = ['run,scalar,first_step,last_step,value,smoothed'.split(',')];
        for (const {points, smooth: soft} of this.chart.lines) {
            const {run, columns} = points, kept = new Map(points.i.map((i, k) => [i, k]));
            run.lines.get(this.key).value.forEach((one, i) => number(one) !== null && lines.push(
                [run.file.name, this.key, columns.first[i], columns.last[i], one, this.chart.width ?
                    soft[kept.get(i)] ?? '' : '']));
        }
        return csv(lines);
    }

    paintOut(pen, width, height) {
        pen.fillStyle = token('surface');
        pen.fillRect(0, 0, width, height);
        const {runs} = this.view;
        paintTitle(pen, this.title, runs.length > 1 ? runs.map(({letter, file}) =>
            `${letter} ${file.name}`).join(', ') : runs[0].file.name, width);
        paintChart(pen, frame(width, height, true, this.chart, 34), this.chart);
    }

    svg() {
        const {clientWidth: width, clientHeight: height} = this.plot;
        const pen = new SvgPen(width, height + 30);
        this.paintOut(pen, width, height + 30);
        return pen.toString();
    }

    png() {
        const {clientWidth: width, clientHeight: height} = this.plot, scale = 1.5;
        const image = el('canvas', {width: width * scale, height: (height + 30) * scale});
        const pen = image.getContext('2d');
        pen.scale(scale, scale);
        this.paintOut(pen, width, height + 30);
        return new Promise((done) => image.toBlob(done));
    }
}
