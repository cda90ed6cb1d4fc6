/* overview_data.js - numbers of modules: by column (document `modules`) and at one step
   (document `step`). NaN: not logged; Infinity: not finite. */

import {columnOf} from './axis.js';
import {HEALTHY, ratioWord} from './heat.js';
import {abs, log10} from './math.js';
import {NONE, number, share, short} from './text.js';

/** The four columns. head: over the numbers; of: its member of the document `step`. */
export const KINDS = [
    {id: 'gradient', title: 'gradient norm', note: 'of the parameters, log', head: 'gradient',
        of: 'gradient_norm', most: 'largest value', key: 'g', sort: 'largest gradient',
        edge: 'lower edge: dead units', missing: "not logged: log=['params_grad']"},
    {id: 'ratio', title: 'update \u00f7 weight', note: 'log, per step', head: 'update \u00f7 w',
        of: 'update_ratio', most: 'farthest from 1e\u22123', key: 'u',
        sort: 'farthest from healthy', missing: 'not logged: no optimizer step was seen'},
    {id: 'dead', title: 'dead units', note: 'share of units', head: 'dead', of: 'dead_share',
        most: 'largest share', key: 'd', sort: 'most dead units', missing: "not logged: log=['io']"},
    {id: 'bad', title: 'not finite', note: 'close-up', head: 'not finite', of: 'bad_share',
        key: '!', sort: 'first not finite', missing: ''},
];

export const ORDERS = {'': 'model order', ...Object.fromEntries(KINDS.map((one) =>
    [one.id, one.sort])), name: 'name'};

const middle = log10(Math.sqrt(HEALTHY[0] * HEALTHY[1]));
const badness = (kind, value) => Number.isNaN(value) ? -1 : kind === 'ratio' ?
    value > 0 ? abs(log10(value) - middle) : 99 : value;

/** The worse of two values: not finite first; of ratios, the one farther from healthy. */
export const worse = (kind, a, b) => badness(kind, b) > badness(kind, a) ? b : a;

/** A row of the document as numbers. */
function values(module, kind, n) {
    const list = module[kind];
    if (!list) return null;
    const made = Float64Array.from({length: n}, (_, i) => number(list[i]) ?? NaN);
    for (const i of module.bad) made[i] = Infinity;
    return made;
}

export class Modules {
    constructor(document) {
        this.take(document);
    }

    take(document) {
        this.document = document;
        this.columns = document.columns;
        this.n = this.columns.columns;
        this.at = new Map(document.modules.map((one) => [one.place, one]));
        for (const one of document.modules)
            one.values = Object.fromEntries(KINDS.slice(0, 3).map(({id}) =>
                [id, values(one, id, this.n)]));
    }

    has(place) {
        return this.at.has(place);
    }

    /** Does any module have this number? */
    logged(kind) {
        return this.document.modules.some((one) => one.values[kind]);
    }

    values(kind, place) {
        return this.at.get(place)?.values[kind] || null;
    }

    /** The worst of several places in column i. */
    worst(kind, places, i) {
        let value = NaN;
        for (const place of places)
            value = worse(kind, value, this.values(kind, place)?.[i] ?? NaN);
        return value;
    }

    median(kind, place) {
        const list = [...this.values(kind, place)].filter(Number.isFinite).sort((a, b) => a - b);
        return list[list.length >> 1];
    }

    /** Letters of the close-up: 0 finite, 1 not, - not looked at; the worst of several. */
    close(places) {
        const all = places.map((place) => this.at.get(place)?.close_up || '');
        return (this.document.close_up?.first || []).map((_, i) =>
            ['1', '0'].find((letter) => all.some((one) => one[i] === letter)) || '-');
    }

    /** Was one of these not finite in the first step with NaN or Inf? */
    carries(places) {
        const {first_bad: step, close_up: near} = this.document;
        if (step === null || step === undefined) return false;
        if (near && near.first[0] <= step && near.last.at(-1) >= step)
            return this.close(places)[columnOf(near, step)] === '1';
        return places.some((place) => this.firstBad(place) <= columnOf(this.columns, step));
    }

    firstBad(place) {
        return this.at.get(place)?.bad[0] ?? Infinity;
    }

    /** Merges columns that were requested with `since`. False: request all. */
    add(document) {
        const {columns} = document, old = this.columns, from = columns.first[0];
        const at = old.first.indexOf(from);
        if (!columns.columns || at < 0 || columns.width !== old.width ||
            document.modules.length !== this.document.modules.length) return false;
        const join = (a, b) => Array.isArray(b) ? [...a.slice(0, at), ...b] : b;
        for (const key of Object.keys(columns)) columns[key] = join(old[key] || [], columns[key]);
        columns.columns = columns.first.length;
        document.modules.forEach((one, k) => {
            const before = this.document.modules[k], {length} = columns.first;
            for (const key of Object.keys(one))
                if (Array.isArray(one[key]) && !key.startsWith('bad'))
                    one[key] = join(before[key] || Array(at).fill(null), one[key]);
            for (const {id} of KINDS)
                if (before[id] && !one[id])
                    one[id] = [...before[id].slice(0, at), ...Array(length - at).fill(null)];
            one.bad = [...before.bad.filter((i) => i < at), ...one.bad.map((i) => i + at)];
        });
        document.first_bad = this.document.first_bad ?? document.first_bad;
        this.take(document);
        return at;
    }
}

/** The numbers of all places at one step. */
export class Step {
    constructor(document) {
        this.document = document;
        this.at = new Map((document?.place || []).map((place, i) => [place, i]));
    }

    /** The worst of several places. */
    value(kind, places) {
        let found = NaN;
        for (const place of places) {
            const value = number(this.document?.[kind.of]?.[this.at.get(place)]);
            if (value !== null) found = worse(kind.id, found, Number.isNaN(value) ?
                Infinity : value);
        }
        return found;
    }

    /** {text, word, bad, none} */
    show(kind, places) {
        const value = this.value(kind, places), none = Number.isNaN(value);
        if (none) return {text: NONE, none};
        if (value === Infinity) return {text: 'NaN', bad: true};
        if (kind.id === 'ratio') return {text: short(value), word: ratioWord(value)};
        if (kind.id === 'gradient') return {text: short(value)};
        const text = value > 0 && value < .005 ? '<1%' : value ? share(value, 1) : '0';
        return {text, bad: kind.id === 'bad' && value > 0, none: value === 0};
    }
}
