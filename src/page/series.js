/* series.js - the series of one module over steps (document `series`) as traces for plots.
   Updates request only new columns. */

import {ask, isStatic} from './api.js';
import {abs, max, min, round, sign} from './math.js';
import {bytesOf} from './shades.js';
import {MINUS, number, plural, share, short} from './text.js';

const COLUMNS = 160, ROWS = 48, MOST_CALLS = 8, PARAM = 2;
const NUMBERS = ['norm', 'mean', 'std', 'min', 'max', 'bad', 'ratio'];
const OWNERS = ['input', 'output', 'param'];
/* Kind -> owner, quantity, px, position among those of the same tensor. */
const KINDS = {
    input: [0, 'values', 120, 0], grad_input: [0, 'grad', 88, 1],
    grad_input_norm: [0, 'grad norm', 88, 2], output: [1, 'values', 120, 0],
    grad_output: [1, 'grad', 88, 1], grad_output_norm: [1, 'grad norm', 88, 2],
    param: [PARAM, 'values', 120, 0], grad_param: [PARAM, 'grad', 88, 1],
    update: [PARAM, 'update', 64, 3],
};

/* The twin of measure/spread_view.c: an axis {low, high, least}. */
function scaleOf({least}, value) {
    const size = abs(value);
    if (!least) return value / 2;
    return size < least ? value / least / 2 : sign(value) * (Math.log2(size / least) + 0.5);
}

/** 0 at the low end, 1 at the high one. */
export function axisPlace(axis, value) {
    const low = scaleOf(axis, axis.low);
    return (scaleOf(axis, value) - low) / (scaleOf(axis, axis.high) - low);
}

export function axisValue(axis, place) {
    const low = scaleOf(axis, axis.low), {least} = axis;
    const scale = low + (scaleOf(axis, axis.high) - low) * place, size = abs(scale);
    if (!least || size <= 0.5) return 2 * scale * (least || 1);
    return sign(scale) * 2 ** (size - 0.5) * least;
}

/** Does this path of a tensor equal the one in the graph, or lie inside it? For an empty
    path the graph has a word such as `output`. */
export const isPath = (path, wanted) => {
    const own = path.replace(/^\./, ''), next = own[wanted.length];
    return own === wanted || (own ? wanted && own.startsWith(wanted) && /[.[]/.test(next) :
        /^(tensor|input|output)$/.test(wanted));
};

/* attach() gives a result a name; other paths begin with a bracket or a dot. */
const isAttached = ({kind, path}) => KINDS[kind][0] === 1 && /^[^[.]/.test(path);
const whose = (one) => isAttached(one) ? 'attached' : OWNERS[KINDS[one.kind][0]];
/** The name of a series' tensor, for opening it in a panel; place: its module. */
export const panelName = ({kind, name, ...one}, place) => KINDS[kind][0] === PARAM ? name :
    `${place}@${whose({kind, ...one})}:${one.path.replace(/^\./, '')}`;
const tensorOf = ({kind, path, name, call}) => [KINDS[kind][0], path, name, call].join();

/** The title of a series: tensor, quantity, owner, call. */
function titleOf(one, list) {
    const {kind, name, path, call} = one, [of, what] = KINDS[kind], attached = isAttached(one);
    const calls = 1 + max(...list.map((other) => other.kind === kind &&
        other.path === path ? other.call : 0));
    const tensor = of === PARAM ? name.slice(name.lastIndexOf('.') + 1) :
        of && !attached ? `output${path}` : path || OWNERS[of];
    return {tensor, what, whose: attached ? 'attached' : of || /^(input)?$/.test(path) ? '' :
        'input', call: of < PARAM && calls > 1 ? `call ${call + 1}/${calls}` : ''};
}

function cellsOf({rows, codes}, n) {
    const bytes = bytesOf(codes);
    return Array.from({length: n}, (_, i) =>
        Uint8Array.from({length: rows}, (__, k) => bytes[k * n + i]));
}

const lineAxis = (values) => ({low: 0, least: 0,
    high: max(0, ...values.filter(Number.isFinite)) * 1.1 || 1});

/** Traces {id, series, title, height, axis, cells, own, norm, ...}, a value followed by what
    belongs to it: inputs, outputs, attached tensors call by call, then parameters. The norm
    of an update over that of its parameter is a line of its own. */
function tracesOf({series, columns: {columns: n}}, of) {
    const isWanted = (one) => !of || (whose(one) === of.kind && (of.name ? one.name === of.name :
        isPath(one.path, of.path)));
    const list = series.filter((one) => one.call < MOST_CALLS && isWanted(one));
    const firsts = list.map(tensorOf);
    const rank = (one) => {
        const [of, , , last] = KINDS[one.kind];
        return (((of === PARAM ? 99 : one.call) * 3 + of) * 2 + isAttached(one)) * 1e4 +
            firsts.indexOf(tensorOf(one)) * 4 + last;
    };
    return list.sort((a, b) => rank(a) - rank(b)).flatMap((one) => {
        const {kind, phase, histogram: axis = null, own = null} = one;
        const trace = {id: `${phase} ${kind} ${tensorOf(one)}`, series: one, axis, own,
            title: titleOf(one, list), height: KINDS[kind][2],
            cells: axis ? cellsOf(axis, n) : []};
        for (const key of NUMBERS) trace[key] = one[key] ? one[key].map(number) :
            Array(n).fill(null);
        return one.ratio ? [trace, {...trace, id: `${trace.id} line`, line: true, height: 64,
            cells: [], title: {...trace.title, what: 'update \u00f7 value'},
            axis: lineAxis(trace.ratio)}] : [trace];
    });
}

const sameAxis = (a, b) => !a || !b ? a === b :
    ['low', 'high', 'least', 'largest', 'rows'].every((key) => a[key] === b[key]);

/** The series of one place in one phase: `columns` and `traces`; of: only those of one tensor,
    as of Places.locate(). */
export class PlaceSeries {
    constructor(params, of) {
        Object.assign(this, {params, of});
    }

    /** Requests new columns. how: {log, clip, from, to}; at: the step of the numbers;
        newest: the newest step of this phase. */
    async load(how, at, newest) {
        const key = JSON.stringify(how), {columns} = this, last = columns?.last.at(-1);
        const same = key === this.how && columns.columns > 1;
        if (isStatic && columns) return;
        if (same && last === newest && (at === this.at || min(at, this.at) >= last)) return;
        const params = {...this.params, ...how, at, columns: COLUMNS, rows: ROWS};
        this.how = this.at = null;
        if (!same || !this.extend(await ask('series', {...params,
            since: columns.first.at(-1)}))) {
            const doc = await ask('series', params);
            this.columns = doc.columns;
            this.leftOut = doc.series_left_out;
            this.traces = tracesOf(doc, this.of);
        }
        this.how = key;
        this.at = at;
    }

    /** Replaces the last columns. False: something else changed; request everything. */
    extend(doc) {
        const {columns, traces} = this, at = columns.first.indexOf(doc.columns.first[0]);
        const news = new Map(tracesOf(doc, this.of).map((one) => [one.id, one]));
        if (at < 0 || doc.columns.width !== columns.width || !traces.every(({id, line, axis}) =>
            news.has(id) && (line || sameAxis(axis, news.get(id).axis)))) return false;
        const join = (old, tail) => [...old.slice(0, at), ...tail];
        for (const trace of traces) {
            const tail = news.get(trace.id);
            for (const name of [...NUMBERS, 'cells']) trace[name] = join(trace[name], tail[name]);
            trace.own = tail.own;
            if (trace.line) trace.axis = lineAxis(trace.ratio);
            else if (tail.axis) trace.axis = tail.axis;
        }
        this.columns = {...doc.columns};
        for (const name of ['first', 'last', 'steps'])
            this.columns[name] = join(columns[name], doc.columns[name]);
        this.columns.columns = this.columns.first.length;
        return true;
    }
}

/** "NaN 25%, +Inf 1%" of statistics; '' if all is finite. */
export const badWords = ({nan, pos_inf: up, neg_inf: down, count}) => [['NaN', nan],
    ['+Inf', up], [`${MINUS}Inf`, down]].filter(([, n]) => n).map(([word, n]) =>
    `${word} ${share(n, count)}`).join(', ');

/** {text, mask} of NaN and Inf in a column, or null; mask: only -Inf, as in masks. */
export function badOf({own, line, bad, series}, at) {
    const text = line ? '' : own ? badWords(own) :
        bad[at] ? `NaN, Inf ${share(bad[at], 1)}` : '';
    return text && {text, mask: own && own.neg_inf && !own.nan && !own.pos_inf &&
        /put$/.test(series.kind)};
}

/** [name, value] of the step of `own`, or of a column. */
export function numbersOf(trace, at) {
    return (trace.line ? ['ratio'] : ['mean', 'std', 'min', 'max', 'norm']).map((key) =>
        [key, trace.own ? trace.own[key] ?? null : trace[key][at]]);
}

/** "step 12", "steps 11500 to 11599" */
export const stepsText = ({first, last}, i) => first[i] === last[i] ? `step ${first[i]}` :
    `steps ${first[i]} to ${last[i]}`;

/** The readout of a cell, in lines; row 0 is the highest. */
export function cellWords(trace, columns, i, row) {
    const {axis, own, line, ratio, norm, bad, cells} = trace, lines = [stepsText(columns, i)];
    if (line) return [...lines, short(ratio[i])];
    if (norm[i] === null) return [...lines, 'not logged'];
    if (bad[i]) lines.push(`NaN, Inf ${share(bad[i], 1)}`);
    if (!cells[i] || bad[i] >= 1) return lines;
    const edge = (k) => short(axisValue(axis, 1 - k / axis.rows));
    const part = (cells[i][row] / 255) ** 2 * axis.largest, all = own?.histogram?.counted;
    return [...lines, `${edge(row + 1)} to ${edge(row)}`, !part ? 'no value' : (all ?
        `about ${plural(max(1, round(part * all)), 'value')}, ` : '') +
        `${part < 0.005 ? 'under 1%' : share(part, 1)} of all`];
}

/** {heads, rows} of texts; `plainly`: for programs. */
export function tableOf(trace, {first, last}, plainly) {
    const keys = trace.line ? ['ratio'] : NUMBERS.filter((key) => key !== 'ratio' &&
        trace[key].some((value) => value !== null));
    const text = (value) => !plainly ? short(value) : value === null ? '' : String(value);
    return {heads: ['first step', 'last step', ...keys.map((key) => key === 'bad' ?
        'share of NaN, Inf' : key)],
    rows: first.map((step, i) => [String(step), String(last[i]), ...keys.map((key) =>
        text(trace[key][i]))])};
}

const quote = (text) => `'${text.replace(/[\\']/g, '\\$&')}'`;

/** The line of Python that gives the same series, in full. */
export const pythonOf = (file, {name, kind, call, path, phase}) =>
    `torchoscope.open(${quote(file)}).series(${[quote(name), quote(kind),
        call && `call=${call}`, path && `path=${quote(path)}`,
        phase === 'eval' && "phase='eval'"].filter(Boolean).join(', ')}).to_pandas()`;
