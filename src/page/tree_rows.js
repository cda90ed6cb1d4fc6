/* tree_rows.js - the rows of a tree: open places, and repeats folded into one row. */

import {FLAGS} from './model.js';

const FEW = 36; // rows that are opened at first

export class TreeRows {
    /** shown(i): can this place be a row? blocks: fold two equal ones, too. */
    constructor(places, shown, blocks = false) {
        this.places = places;
        this.shown = shown;
        this.runs = blocks ? new Map([...places.runs, ...places.blocks]) : places.runs;
        this.open = new Uint8Array(places.n);
        this.single = new Set(); // runs that are shown one by one, by first place
        this.openFirst();
    }

    children(i) {
        return this.places.below(i).filter(this.shown);
    }

    hasChildren(i) {
        const {end} = this.places;
        for (let at = i + 1; at < end[i]; at = end[at]) if (this.shown(at)) return true;
        return false;
    }

    openFirst() {
        this.open[0] = 1;
        let rows = this.children(0);
        while (rows.length && rows.length < FEW) {
            const next = rows.flatMap((i) => this.children(i));
            if (!next.length || next.length + rows.length > FEW) break;
            rows.forEach((i) => { this.open[i] = 1; });
            rows = next;
        }
    }

    /** Splits a run of equal siblings into pieces [first, many]. Places with an alarm, or
        for which apart(place) is true, are not folded. */
    pieces(first, {many, pairs}, apart) {
        const {places} = this, list = [];
        const alone = FLAGS.alarm | FLAGS.warning;
        let at = first, from = first, n = 0;
        for (let k = 0; k < many; k++, at = places.end[at]) {
            if (!places.has(at, alone) && !apart(at)) {
                if (!n) from = at;
                n++;
                continue;
            }
            if (n) list.push([from, n]);
            list.push([at, 1]);
            n = 0;
        }
        if (n) list.push([from, n]);
        if (pairs && list.length > 1) { // cannot be parted
            list.length = 0;
            for (let k = 0, i = first; k < many; k++, i = places.end[i]) list.push([i, 1]);
        }
        return list;
    }

    /** The rows: {place, depth, many, last}; many > 1: repeats in one row. With
        compare(a, b) siblings are sorted, and none are one row. */
    visible(apart = () => false, compare = null) {
        const rows = [], {places} = this;
        const visit = (place, depth, many, last) => {
            rows.push({place, depth, many, last});
            if (many === 1 && this.open[place]) below(place, depth + 1);
        };
        const below = (above, depth) => {
            if (compare) {
                for (const at of this.children(above).sort(compare)) visit(at, depth, 1, at);
                return;
            }
            for (let at = above + 1; at < places.end[above];) {
                const run = this.runs.get(at);
                if (run && this.shown(at) && !this.single.has(at)) {
                    let next = at;
                    for (const [first, many] of this.pieces(at, run, apart)) {
                        let last = first;
                        for (let k = 1; k < many; k++) last = places.end[last];
                        visit(first, depth, many, last);
                        next = places.end[last];
                    }
                    at = next;
                } else {
                    if (this.shown(at)) visit(at, depth, 1, at);
                    at = places.end[at];
                }
            }
        };
        visit(0, 0, 1, 0);
        return rows;
    }

    /** Unfolds the repeats of this row. */
    unfoldRun(place) {
        for (const [first, {many}] of this.runs) {
            let end = first;
            for (let k = 0; k < many; k++) end = this.places.end[end];
            if (place >= first && place < end &&
                this.places.parent[place] === this.places.parent[first]) this.single.add(first);
        }
    }

    /** Opens all parents of a place. */
    reveal(place) {
        for (let at = this.places.parent[place]; at >= 0; at = this.places.parent[at])
            this.open[at] = 1;
    }

    set(list, value) {
        list.forEach((i) => { this.open[i] = value; });
    }

    /** The places from `list` and below that can be opened. */
    deep(list) {
        const all = [];
        for (const first of list)
            for (let i = first; i < this.places.end[first]; i++)
                if (this.shown(i) && this.hasChildren(i)) all.push(i);
        return all;
    }

    /** The fold keys of the terminal: Space z Z s S o O. */
    fold(key, place) {
        const {places} = this, above = places.parent[place];
        const siblings = () => above < 0 ? [place] : this.children(above);
        const alike = () => {
            const list = [];
            for (let i = 0; i < places.n; i++)
                if (this.shown(i) && places.rows.class[i] === places.rows.class[place])
                    list.push(i);
            return list;
        };
        const lists = {
            Space: () => [place], z: () => this.deep([place]), Z: () => this.deep([0]),
            s: siblings, S: () => this.deep(siblings()), o: alike, O: () => this.deep(alike()),
        };
        const list = lists[key]();
        const open = key === 'Z' ? list.slice(1).some((i) => this.open[i]) :
            this.open[place];
        this.set(list, open ? 0 : 1);
        if (key === 'Z') this.open[0] = 1;
    }

    /** The innermost open places, as names; null if there are too many for an address. */
    names() {
        const list = [];
        for (let i = 0; i < this.places.n; i++) {
            if (!this.open[i] || !this.hasChildren(i)) continue;
            if (this.children(i).some((k) => this.open[k] && this.hasChildren(k))) continue;
            list.push(this.places.full(i));
            if (list.length > 40) return null;
        }
        return list;
    }

    /** Opens these places and their parents; closes all others. */
    openOnly(names) {
        this.open.fill(0);
        this.open[0] = 1;
        for (const name of names) {
            const place = this.places.find(name);
            if (place < 0) continue;
            this.open[place] = 1;
            this.reveal(place);
        }
    }
}
