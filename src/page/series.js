/* series.js - the series of one module over steps: the document `series`, of which only new
   columns are asked for again, as traces that a plot can show. */

import {ask} from './api.js';
import {bytesOf} from './shades.js';
import {MINUS, commas, number, share, short} from './text.js';

const COLUMNS = 160, ROWS = 48, MOST_CALLS = 8;
const NUMBERS = ['norm', 'mean', 'std', 'min', 'max', 'bad', 'ratio'];
const SORTS = {input: 0, output: 1, param: 2};
/* Kind -> whose it is, what, px, place among those of the same tensor. */
const KINDS = {
    input: ['input', 'values', 120, 0], output: ['output', 'values', 120, 0],
    param: ['param', 'values', 120, 0], grad_input: ['input', 'grad', 88, 1],
    grad_output: ['output', 'grad', 88, 1], grad_param: ['param', 'grad', 88, 1],
    grad_input_norm: ['input', 'grad norm', 88, 2], update: ['param', 'update', 64, 3],
    grad_output_norm: ['output', 'grad norm', 88, 2],
};

/* The twin of measure/spread_view.c: an axis {low, high, least}. */
const scaleOf = ({least}, value) => {
    const size = Math.abs(value);
    if (!(least > 0)) return value / 2;
    if (size < least) return value / least / 2;
    return Math.sign(value) * (Math.log2(size) - Math.log2(least) + 0.5);
};

/** 0 at the low end, 1 at the high one. */
export function axisPlace(axis, value) {
    const low = scaleOf(axis, axis.low);
    return (scaleOf(axis, value) - low) / (scaleOf(axis, axis.high) - low);
}

export function axisValue(axis, place) {
    const low = scaleOf(axis, axis.low), {least} = axis;
    const scale = low + (scaleOf(axis, axis.high) - low) * place;
    if (!(least > 0)) return 2 * scale;
    if (Math.abs(scale) <= 0.5) return 2 * scale * least;
    return Math.sign(scale) * 2 ** (Math.abs(scale) - 0.5 + Math.log2(least));
}

const isBare = (path) => path === '' || /^[[.]/.test(path);

/** What a series is called: its tensor, and what of it. */
function titleOf({kind, name, path, call}, calls) {
    const [of, what] = KINDS[kind];
    const tensor = of === 'param' ? name.slice(name.lastIndexOf('.') + 1) :
        of === 'output' && isBare(path) ? `output${path}` : path || of;
    return {tensor, what, whose: of === 'input' && path && path !== 'input' ? 'input' :
        of === 'output' && !isBare(path) ? 'attached' : '', call: calls > 1 &&
        of !== 'param' ? `call ${call + 1}/${calls}` : ''};
}

function cellsOf({rows, codes}, n) {
    const bytes = bytesOf(codes);
    return Array.from({length: n}, (_, i) =>
        Uint8Array.from({length: rows}, (__, k) => bytes[k * n + i]));
}

const sameAxis = (a, b) => (!a && !b) || (a && b &&
    ['low', 'high', 'least', 'largest', 'rows'].every((key) => a[key] === b[key]));

/** What one series shows: its numbers by column, the axis, cells, the numbers of one step. */
function traceOf(series, n) {
    const made = {id: `${series.phase} ${series.kind} ${series.call} ${series.path} ` +
        series.name, series, axis: series.histogram || null, own: series.own || null,
    cells: series.histogram ? cellsOf(series.histogram, n) : []};
    for (const key of NUMBERS) made[key] = (series[key] || Array(n).fill(null)).map(number);
    return made;
}

/** The series of one module in one phase. */
export class ModuleSeries {
    constructor(params) {
        this.params = params;
        this.how = '';
    }

    /** Asks for what is new. how: {axis, clip, from, to}; at: the step of the numbers. */
    async load(how, at) {
        const key = JSON.stringify(how), first = this.columns && this.columns.first;
        const more = key === this.how && first.length > 1 ? first[first.length - 1] : null;
        const common = {...this.params, ...how, at, columns: COLUMNS, rows: ROWS};
        let doc = await ask('series', {...common, since: more});
        if (more === null || !this.extend(doc)) {
            if (more !== null) doc = await ask('series', common);
            this.replace(doc);
        }
        this.how = key;
        return this;
    }

    replace(doc) {
        const n = doc.columns.columns;
        this.columns = doc.columns;
        this.leftOut = doc.series_left_out;
        const calls = new Map();
        for (const {kind, path, call} of doc.series)
            calls.set(kind + path, Math.max(calls.get(kind + path) || 0, call + 1));
        this.traces = doc.series.filter(({call}) => call < MOST_CALLS).map((series) =>
            ({...traceOf(series, n), height: KINDS[series.kind][2],
                title: titleOf(series, calls.get(series.kind + series.path))}));
        this.sort();
        this.addRatios();
    }

    /** Inputs, outputs, attached tensors call by call, then parameters; a value is followed
        by what belongs to it. */
    sort() {
        const tensor = ({kind, path, name, call}) => `${KINDS[kind][0]} ${call} ${path} ${name}`;
        const first = new Map(), order = new Map();
        this.traces.forEach(({series}, i) => first.has(tensor(series)) ||
            first.set(tensor(series), i));
        for (const one of this.traces) {
            const {series} = one, [of, , , last] = KINDS[series.kind];
            const part = (of === 'param' ? MOST_CALLS : series.call) * 3 + SORTS[of];
            order.set(one, ((2 * part + (of === 'output' && !isBare(series.path))) * 1e4 +
                first.get(tensor(series))) * 4 + last);
        }
        this.traces.sort((a, b) => order.get(a) - order.get(b));
    }

    /** The norm of an update over that of its parameter is a number: a line of its own. */
    addRatios() {
        this.traces = this.traces.flatMap((one) => one.ratio.some((v) => v !== null) ?
            [one, {...one, id: `${one.id} ratio`, cells: [], height: 64, line: true,
                title: {...one.title, what: 'update \u00f7 value'}}] : [one]);
        for (const one of this.traces) if (one.line) ratioAxis(one);
    }

    /** Takes the last columns anew. False: something else changed, so all is needed. */
    extend(doc) {
        const {columns} = doc, at = this.columns.first.indexOf(columns.first[0]);
        const byId = new Map(this.traces.map((one) => [one.id, one]));
        const news = doc.series.filter(({call}) => call < MOST_CALLS).map((one) =>
            traceOf(one, columns.columns));
        if (at < 0 || columns.width !== this.columns.width || !news.every((one) =>
            byId.has(one.id) && sameAxis(byId.get(one.id).axis, one.axis))) return false;
        const join = (old, tail) => [...old.slice(0, at), ...tail];
        for (const one of news)
            for (const trace of [byId.get(one.id), byId.get(`${one.id} ratio`)]) {
                if (!trace) continue;
                for (const key of NUMBERS) trace[key] = join(trace[key], one[key]);
                if (trace.line) ratioAxis(trace);
                else trace.cells = join(trace.cells, one.cells);
                trace.own = one.own;
            }
        const old = this.columns;
        this.columns = {...columns};
        for (const key of ['first', 'last', 'steps'])
            this.columns[key] = join(old[key], columns[key]);
        return true;
    }
}

/* A line's axis: from 0, or from its least value if all is logarithmic. */
function ratioAxis(trace) {
    const high = Math.max(...trace.ratio.filter(Number.isFinite), 0);
    trace.axis = {low: 0, high: high * 1.1 || 1, least: 0};
    trace.cells = [];
}

/** The share of the values that is not finite, in words: at the step of `own`, or in a
    column. mask: only -Inf, as masks have it. */
export function badWords(trace, at) {
    const {own, line, series} = trace, bad = own ? own.nan + own.pos_inf + own.neg_inf :
        trace.bad[at];
    if (!bad || line) return null;
    const parts = own ? [['NaN', own.nan], ['+Inf', own.pos_inf], [`${MINUS}Inf`,
        own.neg_inf]].filter(([, n]) => n > 0) : [];
    return {mask: own && own.neg_inf === bad && /put$/.test(series.kind), text:
        parts.map(([word, n]) => `${word} ${share(n, own.count)}`).join(', ') ||
        `NaN, Inf ${share(bad, 1)}`};
}

/** [name, value] of one column, or of the step of `own`. */
export function numbersOf(trace, at) {
    const from = trace.own || Object.fromEntries(NUMBERS.map((key) => [key, trace[key][at]]));
    if (trace.line) return [['ratio', from.ratio]];
    return ['mean', 'std', 'min', 'max', 'norm'].map((key) => [key, from[key] ?? null]);
}

/** "step 12", "steps 11500 to 11599" */
export const stepsText = ({first, last}, i) => first[i] === last[i] ? `step ${first[i]}` :
    `steps ${first[i]} to ${last[i]}`;

/** What a cell means: row 0 is the highest. */
export function cellWords(trace, columns, i, row) {
    const {axis, own} = trace, lines = [stepsText(columns, i)];
    if (trace.line) return [...lines, short(trace.ratio[i])];
    if (trace.mean[i] === null && trace.norm[i] === null) return [...lines, 'not logged'];
    if (trace.bad[i]) lines.push(`NaN, Inf ${share(trace.bad[i], 1)}`);
    if (!trace.cells[i] || !axis || trace.bad[i] >= 1) return lines;
    const edge = (k) => short(axisValue(axis, 1 - k / axis.rows));
    const part = (trace.cells[i][row] / 255) ** 2 * axis.largest, all = own && own.histogram;
    lines.push(`${edge(row + 1)} to ${edge(row)}`);
    lines.push(!part ? 'no value' : all ? `about ${commas(Math.max(1, Math.round(part *
        all.counted)))} values, ${share(part, 1)} of all` : `${share(part, 1)} of the values`);
    return lines;
}

/** The table of a trace: heads, and rows of texts; `plainly` for programs. */
export function tableOf(trace, columns, plainly) {
    const keys = trace.line ? ['ratio'] : NUMBERS.filter((key) => key !== 'ratio' &&
        trace[key].some((value) => value !== null));
    const text = plainly ? (value) => value === null ? '' : String(value) : short;
    return {heads: ['first step', 'last step', ...keys.map((key) => key === 'bad' ?
        'share of NaN, Inf' : key)],
    rows: columns.first.map((first, i) => [String(first), String(columns.last[i]),
        ...keys.map((key) => text(trace[key][i]))])};
}

const quote = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** The line of Python that gives the same series, in full. */
export function pythonOf(path, {name, kind, call, path: tensor, phase}) {
    const more = [call ? `call=${call}` : '', tensor ? `path=${quote(tensor)}` : '',
        phase === 'train' ? '' : `phase=${quote(phase)}`].filter(Boolean);
    return `torchoscope.open(${quote(path)}).series(${[quote(name), quote(kind),
        ...more].join(', ')}).to_pandas()`;
}
