/* overview_rows.js - which rows the overview shows and in which order. A row: {place, depth,
   many, last, members, maker, bad, flat}. */

import {abs, log10} from './math.js';
import {FLAGS} from './model.js';
import {KINDS} from './overview_data.js';
import {TreeRows} from './tree_rows.js';

const MOST = 24; // rows at first

/** The modules that alarms name; for a parameter, its module. */
function alarmPlaces(places, alarms) {
    return alarms.map(({place, name}) => {
        let at = place ?? places.find(name || null);
        while (at > 0 && !places.isModule(at)) at = places.parent[at];
        return at;
    }).filter((at) => at >= 0);
}

export class OverviewRows {
    constructor(places, modules, training, open) {
        this.places = places;
        this.take(modules, training);
        this.folds = new TreeRows(places, (i) => i === 0 ||
            (this.modules.at.size ? this.modules.has(i) : places.isModule(i)), true);
        if (open.length) this.folds.openOnly(open);
        else this.openStart();
    }

    take(modules, training) {
        this.modules = modules;
        const {alarms = []} = training || {};
        this.alarms = alarmPlaces(this.places, alarms);
        this.makers = new Set(alarmPlaces(this.places, alarms.filter((one) =>
            one.severity === 'alarm')));
    }

    /** Opens rows with alarms, then others level by level while they fit. */
    openStart() {
        const {folds} = this, tried = new Set();
        folds.openOnly([]);
        this.alarms.forEach((place) => folds.reveal(place));
        for (;;) {
            const rows = folds.visible(), row = rows.filter((one) => one.many === 1 &&
                !folds.open[one.place] && !tried.has(one.place) &&
                folds.hasChildren(one.place)).sort((a, b) => a.depth - b.depth)[0];
            if (!row || rows.length >= MOST) return;
            tried.add(row.place);
            folds.open[row.place] = 1;
            if (folds.visible().length > MOST) folds.open[row.place] = 0;
        }
    }

    finish(row) {
        const {places, modules} = this;
        row.members = [];
        for (let at = row.place, k = 0; k < row.many; k++, at = places.end[at])
            row.members.push(at);
        row.maker = row.many === 1 && this.makers.has(row.place);
        row.bad = modules.firstBad(row.place);
        row.carries = !places.has(row.place, FLAGS.alarm) && modules.carries(row.members);
        return row;
    }

    /** Rows in model order; places for which apart() is true are not folded. */
    tree(apart) {
        return this.folds.visible(apart).map((row) => this.finish(row));
    }

    /** Leaves, worst first. sort: the id of a kind, or 'name'. */
    sorted(sort, reverse, step) {
        const list = [], {folds, modules, places} = this;
        for (let i = 0; i < places.n; i++)
            if (folds.shown(i) && !folds.hasChildren(i))
                list.push(this.finish({place: i, depth: 0, many: 1, last: i, flat: true}));
        const kind = KINDS.find((one) => one.id === sort);
        const key = (row) => {
            if (sort === 'bad') return -modules.firstBad(row.place);
            const value = step.value(kind, row.members);
            if (Number.isNaN(value)) return -Infinity;
            return sort === 'ratio' && value < Infinity ? abs(log10(value) + 3) : value;
        };
        if (sort === 'name') list.sort((a, b) => this.full(a).localeCompare(this.full(b), 'en',
            {numeric: true}));
        else {
            list.forEach((row) => { row.key = key(row); });
            list.sort((a, b) => b.key - a.key || a.place - b.place);
        }
        return reverse ? list.reverse() : list;
    }

    full(row) {
        return this.places.full(row.place);
    }
}
