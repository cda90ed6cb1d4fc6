/* model.js - the places of a file, from the document `rows`. */

import {ask} from './api.js';

/* Bits of rows/row_state.h. */
export const FLAGS = {
    alarm: 2, warning: 4, carries: 8, notCalled: 16, frozen: 32, tied: 64, shared: 128,
    guessed: 256, hidden: 512,
};

class Places {
    constructor(rows) {
        Object.assign(this, {n: rows.n, end: rows.end, parent: rows.parent,
            flagBits: rows.flags, columns: rows.columns || [], rows});
        this.kinds = rows.what;
        this.names = null;
        this.parent[0] = -1;
        const {first, count, pairs} = rows.runs || {first: []};
        this.runs = new Map(first.map((place, i) => [place,
            {i, many: count[i], pairs: pairs[i] > 0}]));
        const few = rows.blocks || {first: []};
        this.blocks = new Map(few.first.map((place, i) => [place, {many: few.count[i]}]));
    }

    text(i) {
        return this.rows.texts[i] ?? '';
    }

    /** The last part of the full name. */
    name(i) {
        return this.text(this.rows.name[i]);
    }

    /** The full name; '' for the root. */
    full(i) {
        const parts = [];
        for (let at = i; at > 0; at = this.parent[at]) parts.push(this.name(at));
        return parts.reverse().join('.');
    }

    klass(i) {
        return this.text(this.rows.class[i]);
    }

    kind(i) {
        return this.rows.kinds[this.kinds[i]];
    }

    isModule(i) {
        return this.kind(i) === 'module';
    }

    /** 'conv', 'linear', '' for containers. */
    family(i) {
        return this.rows.families[this.rows.family[i]];
    }

    /** has(i, FLAGS.alarm) */
    has(i, flag) {
        return (this.flagBits[i] & flag) !== 0;
    }

    depth(i) {
        let depth = 0;
        for (let at = i; at > 0; at = this.parent[at]) depth++;
        return depth;
    }

    below(i) {
        const list = [];
        for (let at = i + 1; at < this.end[i]; at = this.end[at]) list.push(at);
        return list;
    }

    /** The place with this full name, or -1. */
    find(full) {
        if (full === null || full === undefined) return -1;
        if (!this.names) {
            const made = new Array(this.n);
            this.names = new Map();
            for (let i = 0; i < this.n; i++) {
                const above = this.parent[i];
                made[i] = i === 0 ? '' : above > 0 ? `${made[above]}.${this.name(i)}` :
                    this.name(i);
                if (!this.names.has(made[i])) this.names.set(made[i], i);
            }
        }
        return this.names.get(full) ?? -1;
    }

    /** What a panel shows: {place, of}. A tensor that a module takes or returns is named
        after it, "conv@input:x", "conv@output:" or "conv@attached:y": `of` is {kind, path}. */
    locate(name) {
        const place = this.find(name), [, around, kind, path] =
            /^(.*)@(input|output|attached):(.*)$/s.exec(name) || [];
        return place >= 0 || !kind ? {place} : {place: this.find(around), of: {kind, path}};
    }

    column(id) {
        return this.columns.find((one) => one.id === id) || null;
    }

    /** The text of a column at a place, or at a run of places; '' if not requested. */
    cell(column, i, run) {
        const list = run ? column.run_text : column.text;
        return list ? (column.texts || this.rows.texts)[list[run ? run.i : i]] ?? '' : '';
    }

    /** Marks the places that alarms name, and all places above them. */
    addAlarms(alarms) {
        for (const {severity, name, place} of alarms) {
            let at = severity === 'note' ? -1 : place ?? this.find(name ?? null);
            const flag = severity === 'alarm' ? FLAGS.alarm : FLAGS.warning;
            for (; at >= 0; at = this.parent[at]) this.flagBits[at] |= flag;
        }
    }
}

const made = new WeakMap(); // document -> Places

/** Promise of the places of a file. */
export async function places(file) {
    const rows = await ask('rows', {file});
    if (!made.has(rows)) made.set(rows, new Places(rows));
    return made.get(rows);
}

/** Promise of the document `training`, or null for a file without a history. */
export function training(file) {
    return file.has.includes('history') ? ask('training', {file: file.id}) :
        Promise.resolve(null);
}
