/* timeline_data.js - the boxes of the document `timeline`: positions and texts. */

import {ceil, floor, log10, max, round} from './math.js';
import {share, time} from './text.js';

const PHASE = 0, OP = 3; // kinds
/* The family of a box that is not a module, by phase. */
const PHASE_FAMILY = {loss: 'loss', optimizer: 'other'};

export class Boxes {
    constructor(doc) {
        const {boxes} = doc, {n, up, after_ns: after} = boxes;
        Object.assign(this, {doc, n, ns: boxes.ns, kind: boxes.kind, whole: doc.ns || 1});
        this.start = new Float64Array(n);
        this.parent = new Int32Array(n);
        this.own = new Float64Array(n);
        this.flops = new Map(boxes.flops_box.map((box, i) => [box, boxes.flops[i]]));
        this.holds = new Uint8Array(n); // 1: other modules are inside
        for (let i = 0, at = 0, own = 0; i < n; i++) {
            this.start[i] = at += after[i];
            this.parent[i] = up[i] ? i - up[i] : -1;
            this.own[i] = this.kind[i] === OP ? this.ns[i] : boxes.own_ns[own++];
            if (up[i] && this.kind[i] !== OP) this.holds[i - up[i]] = 1;
        }
    }

    /** Puts the boxes into rows: all, or without the operations inside modules that hold no
        others. Row 0 is the step. */
    arrange(all) {
        const {n, parent} = this;
        this.row = new Int16Array(n);
        this.rows = [];
        for (let i = 0; i < n; i++) {
            const up = parent[i];
            if (!all && this.kind[i] === OP && up >= 0 && !this.holds[up]) continue;
            const row = this.row[i] = up < 0 ? 1 : this.row[up] + 1;
            (this.rows[row] = this.rows[row] || []).push(i);
        }
        this.rows[0] = [];
        return this;
    }

    end(i) {
        return this.start[i] + this.ns[i];
    }

    text(list, i) {
        return this.doc.texts[list[i]] || '';
    }

    name(i) {
        return this.text(this.doc.boxes.name, i);
    }

    phase(i) {
        return this.doc.phase_names[this.doc.boxes.phase[i]];
    }

    place(i) {
        return this.doc.boxes.place[i];
    }

    family(i) {
        return this.doc.families[this.doc.boxes.family[i]] ||
            (this.kind[i] === PHASE && PHASE_FAMILY[this.phase(i)]) || '';
    }

    /** 22.69ms, 3% of step */
    took(i) {
        return `${time(this.ns[i])}, ${share(this.ns[i], this.whole)} of step`;
    }

    /** Index of the first box of a row that ends after `at`. Boxes of a row are not nested;
        those of other threads may overlap a little. */
    first(row, at) {
        const list = this.rows[row];
        let low = 0, high = list.length;
        while (low < high) {
            const middle = (low + high) >> 1;
            if (this.end(list[middle]) > at) high = middle;
            else low = middle + 1;
        }
        return low;
    }

    /** The box of a row at a time, or -1. */
    find(row, at) {
        const list = this.rows[row];
        if (!list) return -1;
        const i = list[this.first(row, at)];
        return i !== undefined && this.start[i] <= at ? i : -1;
    }

    /** The neighbour in the direction of an arrow key, or -1. */
    next(i, key) {
        if (i < 0) return this.rows[1] ? this.rows[1][0] : -1;
        if (key === 'Up') return this.parent[i];
        if (key === 'Down') {
            const row = this.rows[this.row[i] + 1] || [];
            return row.find((one) => this.parent[one] === i) ?? -1;
        }
        const row = this.rows[this.row[i]];
        return row[row.indexOf(i) + (key === 'Right' ? 1 : -1)] ?? -1;
    }
}

/** Round times for an axis: [[ns, '180ms'], ...]. */
export function timeTicks(from, to, width) {
    const least = (to - from) * 72 / max(72, width);
    const power = 10 ** floor(log10(least || 1));
    const by = max(1, [1, 2, 5, 10].map((k) => k * power).find((one) => one >= least));
    const [size, unit] = [[1e9, 's'], [1e6, 'ms'], [1e3, '\u03bcs'], [1, 'ns']].find((one) =>
        by >= one[0]);
    const list = [];
    for (let k = ceil(from / by); k * by <= to && list.length < 99; k++)
        list.push([k * by, `${round(k * by / size)}${unit}`]);
    return list;
}
