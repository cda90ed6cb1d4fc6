/* lines.js - scalars of training runs as lines: gaps, smoothing, and the range of an
   axis. */

import {columnOf} from './axis.js';
import {abs, ceil, floor, log10, max, min, round} from './math.js';
import {MINUS, count, number, short, time} from './text.js';

export const AXES = ['step', 'time', 'tokens'];

/** A number for axes and readouts: 0.3957, 181.0K, −12.5M */
export function value(x) {
    const size = abs(x);
    if (!(size >= 1e4 && size < 1e12)) return short(x);
    return (x < 0 ? MINUS : '') + count(round(size));
}

/** An x value: seconds as time, others as steps or counts. */
export function axisText(axis, x) {
    if (axis === 'time') return x > 0 ? time(x * 1e9) : '0';
    return axis === 'tokens' ? count(round(x)) : String(round(x));
}

const isTokens = ({name, phase, value: list}) => phase === 'train' &&
    /(^|\W|_)tokens(_seen)?$/i.test(name) && list.map(number).filter((x) => x !== null)
    .every((x, i, all) => i === 0 || x >= all[i - 1]);

/** Values where they are known; between them, and at the ends, in proportion. */
function filled(list, steps) {
    const known = list.flatMap((x, i) => number(x) === null ? [] : [i]);
    let k = 0;
    return list.map((_, i) => {
        while (k + 2 < known.length && known[k + 1] <= i) k++;
        const a = known[k], b = known[k + 1] ?? a, from = number(list[a]);
        const part = a === b ? 0 : (steps[i] - steps[a]) / (steps[b] - steps[a]);
        return max(0, from + part * (number(list[b]) - from));
    });
}

/** The name of a line; evaluation has the prefix `eval:`. */
export const keyOf = ({phase, name}) => phase === 'train' ? name : `${phase}:${name}`;

const wide = (list, n) => Array.from({length: n}, (_, i) => list?.[i] ?? null);

/** The training run of a file, with its letter. */
export class Run {
    constructor(file, letter, document) {
        Object.assign(this, {file, letter});
        this.take(document);
    }

    take(document) {
        this.document = document;
        this.parts = new Map(document.phases.map(({phase, columns}) => [phase,
            this.part(columns)]));
        this.lines = new Map(document.scalars.map((one) => [keyOf(one), one]));
        this.main = this.parts.get('train')?.columns.columns ? this.parts.get('train') :
            [...this.parts.values()].find((one) => one.columns.columns) || null;
        const tokens = document.scalars.find(isTokens), train = this.parts.get('train');
        this.axes = AXES.filter((axis) => axis === 'step' || (axis === 'time' ?
            this.main?.columns.time_ms : tokens));
        if (!tokens) return;
        const known = filled(tokens.value, train.columns.last);
        for (const part of this.parts.values()) part.tokens = part.columns.last.map((step) =>
            known[columnOf(train.columns, step)]);
    }

    /** Columns of a phase, with their places on each axis. */
    part(columns) {
        const {first, last, time_ms: times} = columns, {segments} = this.document;
        const start = segments.length ? segments[0].time_ns / 1e6 : times?.[0];
        return {columns, step: first.map((one, i) => (one + last[i]) / 2),
            time: times?.map((ms) => max(0, (ms - start) / 1e3)),
            breaks: new Set(segments.slice(1).map((one) => first.findIndex((step) =>
                step >= one.first)))};
    }

    /** Appends new columns; false: older columns changed, too. */
    add(more) {
        const {document} = this, cuts = new Map();
        for (const [i, {phase, columns}] of more.phases.entries()) {
            const old = document.phases[i].columns;
            const at = columns.columns ? old.first.indexOf(columns.first[0]) : old.columns;
            if (at < 0 || (columns.columns && columns.width !== old.width)) return false;
            cuts.set(phase, at);
            for (const key of ['first', 'last', 'steps', 'time_ms'])
                if (old[key]) columns[key] = [...old[key].slice(0, at), ...columns[key]];
            columns.columns = columns.first.length;
        }
        const before = new Map(document.scalars.map((one) => [keyOf(one), one]));
        const now = new Map(more.scalars.map((one) => [keyOf(one), one]));
        more.scalars = [...new Set([...before.keys(), ...now.keys()])].map((key) => {
            const old = before.get(key), one = now.get(key) ?? {...old, value: [], min: null, max: null};
            const at = cuts.get(one.phase), all = more.phases.find(({phase}) =>
                phase === one.phase).columns.columns;
            for (const name of ['value', 'min', 'max'])
                if (one[name] || old?.[name]) one[name] = [...wide(old?.[name] || old?.value, at),
                    ...wide(one[name] || one.value, all - at)];
            return one;
        });
        this.take(more);
        return true;
    }

    newest() {
        return this.main ? this.main.columns.last.at(-1) : 0;
    }

    /** The place of a step on an axis. */
    at(step, axis) {
        return axis === 'step' || !this.main ? step :
            this.main[axis][columnOf(this.main.columns, step)];
    }

    /** The points of a scalar, without those that log leaves out; null: never logged. */
    points(key, axis, log) {
        const line = this.lines.get(key);
        if (!line) return null;
        const part = this.parts.get(line.phase), {columns} = part, places = part[axis];
        const out = {run: this, columns, i: [], x: [], y: [], low: [], high: [], step: [],
            cut: [], bad: [], left: 0};
        let cut = true;
        line.value.forEach((one, i) => {
            const y = number(one), x = places[i];
            cut = cut || part.breaks.has(i);
            if (y === null) return;
            if (!Number.isFinite(y)) {
                const from = axis === 'step' ? columns.first : places, end = axis === 'step' ?
                    columns.last.at(-1) + 1 : 2 * places.at(-1) - (places.at(-2) ?? 0);
                out.bad.push([from[i], from[i + 1] ?? end]);
                cut = true;
            } else if (log && y <= 0) out.left++;
            else {
                const low = number(line.min?.[i]) ?? y, high = number(line.max?.[i]) ?? y;
                const point = {i, x, y, low: log && low <= 0 ? y : low, high,
                    step: part.step[i], cut};
                for (const name of Object.keys(point)) out[name].push(point[name]);
                cut = false;
            }
        });
        return out;
    }
}

/** The mean of a window of so many steps around each point. It shrinks at the begin of a
    stretch; at the end it looks back only. Of logarithms if log. */
export function smooth({step, y, cut}, width, log) {
    const out = [...y], half = width / 2, sums = [0];
    y.forEach((one, i) => sums.push(sums[i] + (log ? Math.log(one) : one)));
    for (let a = 0, b; half && a < y.length; a = b) {
        for (b = a + 1; b < y.length && !cut[b];) b++;
        for (let i = a, low = a, high = a; i < b; i++) {
            const ahead = step[b - 1] - step[i];
            const back = ahead < half ? half : min(half, step[i] - step[a]);
            while (step[low] < step[i] - back) low++;
            while (high < b && step[high] <= step[i] + min(back, ahead)) high++;
            const mean = (sums[high] - sums[low]) / (high - low);
            out[i] = log ? Math.exp(mean) : mean;
        }
    }
    return out;
}

/** Index of the point at an axis value; -1: none; NaN: not finite there. */
export function pointAt({x, bad}, at) {
    if (bad.some(([from, to]) => at >= from && at < to)) return NaN;
    const span = x.at(-1) - x[0], usual = min(1.5 / (x.length - 1), .1) * span || 1;
    let low = 0, high = x.length - 1;
    while (low < high) {
        const middle = (low + high) >> 1;
        if (x[middle] < at) low = middle + 1;
        else high = middle;
    }
    if (low > 0 && at - x[low - 1] < x[low] - at) low--;
    return x.length && abs(x[low] - at) <= usual ? low : -1;
}

/** Are these equal, up to rounding? */
const isConstant = (low, high) => high - low <= 1e-6 * max(abs(low), abs(high));

/** Round numbers from low to high, at most `most` of them. */
export function ticks(low, high, most) {
    if (isConstant(low, high)) return [low];
    const span = high - low || 1, unit = 10 ** floor(log10(span / most));
    const by = [1, 2, 5, 10].map((k) => k * unit).find((k) => span / k <= most) ?? 10 * unit;
    const list = [];
    for (let k = ceil(low / by - 1e-9); k * by <= high + by * 1e-9; k++)
        list.push(Number((k * by).toPrecision(12)));
    return list;
}

/** Ticks of logarithms: decades, with 2 and 5 if those are few; round numbers if there are
    not two of them. */
export function logTicks(low, high, most) {
    const list = [], by = max(1, ceil((high - low) / most));
    for (let power = floor(low); power <= high; power++)
        for (const k of high - low < most / 3 ? [1, 2, 5] : power % by ? [] : [1])
            list.push(power + log10(k));
    const shown = list.filter((at) => at >= low && at <= high);
    return shown.length > 1 ? shown : ticks(10 ** low, 10 ** high, most).map(log10);
}

/** What y shows: 1 to 99 % of the values after the first 2 % of steps, or all if that is
    not much more. lists: of points; before: a range that this one may not shrink. */
export function rangeOf(lists, log, before) {
    const t = log ? log10 : (x) => x, all = [], late = [];
    for (const {y, step, columns} of lists) {
        const from = columns.first[0] + .02 * (columns.last.at(-1) - columns.first[0]);
        y.forEach((one, i) => {
            all.push(t(one));
            if (step[i] >= from) late.push(t(one));
        });
    }
    if (!all.length) return {low: 0, high: 1, ticks: [], t, says: []};
    const sorted = (late.length ? late : all).sort((a, b) => a - b);
    const cut = (part) => sorted[round(part * (sorted.length - 1))];
    const least = all.reduce((a, b) => min(a, b)), most = all.reduce((a, b) =>
        max(a, b));
    let low = cut(.01), high = cut(.99);
    if (all.length < 20 || most - least <= 1.6 * (high - low)) [low, high] = [least, most];
    const same = isConstant(least, most);
    const pad = (same ? abs(high) : high - low) * .05 || 1;
    const positive = !log && least >= 0;
    [low, high] = [positive ? max(0, low - pad) : low - pad, high + pad];
    const grid = log || same ? [] : ticks(low, high, 5), by = (grid[1] - grid[0]) / 2;
    if (by > 0) [low, high] = [floor(low / by) * by, ceil(high / by) * by];
    if (before && before.log === log) {
        low = min(low, before.low);
        high = max(high, before.high);
    }
    const shown = (at) => {
        const x = log ? 10 ** at : Number(at.toPrecision(12)), text = value(x);
        return text.length > 7 ? Number(x.toPrecision(3)).toExponential().replace(/-/g, MINUS) :
            text.replace(/\.0(?=\D)/, '');
    };
    const says = [[all.filter((x) => x > high).length, 'above', high],
        [all.filter((x) => x < low).length, 'below', low]].filter(([n]) => n)
        .map(([n, word, edge]) => `${n * 100 < all.length ? 'under 1' :
            round(n * 100 / all.length)}% of the points lie ${word} ${shown(edge)}`);
    const places = same && !before ? [most] : log ? logTicks(low, high, 6) : ticks(low, high, 6);
    return {low, high, log, t, says, ticks: places.map((at) => [at, shown(at)])};
}
