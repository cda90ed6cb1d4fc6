/* model.js - the places of a file, from the document `rows`. */

import {ask} from './api.js';

export const FLAGS = {
    frozen: 1, notCalled: 2, tied: 4, alarm: 8, alarmInside: 16, carries: 32, warning: 64,
    warningInside: 128,
};

class Places {
    constructor(rows) {
        Object.assign(this, {n: rows.n, end: rows.end, parent: rows.parent,
            flagBits: rows.flags, columns: rows.columns || [], rows});
        this.kinds = rows.what;
        this.names = null;
        this.runs = new Map((rows.runs || []).map(([first, many, period]) =>
            [first, {many, period: period || 1}]));
    }

    text(i) {
        return i < 0 ? '' : this.rows.texts[i];
    }

    /** Its own name, the last part of the full one. */
    name(i) {
        return this.text(this.rows.name[i]);
    }

    /** '' for the root. */
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

    column(id) {
        return this.columns.find((one) => one.id === id) || null;
    }

    /** The text of a column at a place. */
    cell(column, i) {
        return this.text(column.text[i]);
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
