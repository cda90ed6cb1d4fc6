/* overview.js - the first view of a training run: heat maps of modules over steps, and the
   numbers at the cursor's step. */

import {ask} from './api.js';
import {stepRange} from './axis.js';
import {div, failure, loading, put, span, toast, tooltip} from './dom.js';
import {canvas} from './draw.js';
import {files} from './live.js';
import {ceil, max, min} from './math.js';
import {places, training as trainingOf} from './model.js';
import {KINDS, Modules, ORDERS, Step} from './overview_data.js';
import {makeHead} from './overview_head.js';
import {bindKeys} from './overview_keys.js';
import {paintFrom, paintMap, scales} from './overview_map.js';
import {OverviewRows} from './overview_rows.js';
import {NO_COLUMNS, makeStrip} from './overview_strip.js';
import {AXIS, HEAD, LETTERS, drawRows, measure} from './overview_table.js';
import {listen, tip} from './overview_tip.js';
import {go, state} from './state.js';
import {plural} from './text.js';

const WIDE = 1200, SLIM = 720; // px of the view

class Overview {
    constructor(stage) {
        this.stage = stage;
        this.at = 0; // index of the cursor's row
        this.rows = [];
        this.root = div('ov', this.strip = div('ovgrid strip'),
            this.tabs = div({class: 'seg ovtabs', role: 'group',
                aria: {label: 'Column'}}),
            this.table = div({class: 'ovtable', role: 'treegrid', tabIndex: 0,
                aria: {label: 'Modules over steps'}},
            div({class: 'ovtop', role: 'rowgroup'},
                this.head = div({class: 'ovgrid ovhead', role: 'row'})),
            this.pane = div({class: 'ovpane', role: 'presentation'},
                this.map = canvas('', (...to) => this.modules && paintMap(this, ...to)),
                this.frame = div('ovframe off')),
            this.space = div({class: 'space', role: 'rowgroup'}),
            this.axis = div({class: 'ovgrid ovaxis', aria: {hidden: 'true'}})));
        this.map.ariaHidden = 'true';
        tooltip(this.frame, () => this.hit && tip(this, this.hit));
        listen(this);
        this.unbind = bindKeys(this);
        this.sizes = new ResizeObserver(() => this.resize());
        this.sizes.observe(stage);
        this.load();
    }

    /* --- Documents */

    /** Large runs are read twice: first a part of each column, then all of it. */
    async load(quick = true) {
        const {file, from, to, rank, step} = state, {around} = this;
        const columns = max(360, min(2400, this.stage.clientWidth - 700)) / 6 & ~1;
        const asked = {file, from, to, rank, around, columns, quick, least: true};
        this.asked = asked;
        const promise = Promise.all([places(file), trainingOf(files.get(file)),
            ask('modules', asked), ask('step', {file, step})]);
        if (!this.model) put(this.stage, loading(promise, 'Reading the steps'));
        try {
            const answers = await promise;
            if (this.asked !== asked) return;
            this.take(...answers);
            if (quick && answers[2].unread) this.load(false);
        } catch (error) {
            if (this.asked === asked)
                put(this.stage, failure(error, () => this.load()));
        }
    }

    take(model, training, modules, step) {
        const same = this.model === model;
        Object.assign(this, {model, training, modules: new Modules(modules),
            step: new Step(step)});
        model.addAlarms(training.alarms);
        if (same) this.list.take(this.modules, training);
        else {
            this.list = new OverviewRows(model, this.modules, training, state.open);
            this.order = '';
        }
        if (!this.root.isConnected) put(this.stage, this.root);
        makeStrip(this);
        makeHead(this);
        this.resize();
        if (same) this.update();
        else this.reveal();
    }

    /** Requests the columns that changed with new steps. */
    async news() {
        const {modules} = this;
        this.again = Boolean(this.busy);
        if (this.busy || !modules) return;
        this.busy = true;
        const {file, to} = state, {n, columns, document} = modules;
        try {
            const [training, more, step] = await Promise.all([trainingOf(files.get(file)),
                to === null && n && ask('modules', {...this.asked,
                    quick: false, since: columns.first[n - 1], around: this.around ?? document.first_bad}),
                state.step === null ? ask('step', {file}) : this.step.document]);
            const at = more ? modules.add(more) : n ? n : false;
            if (file !== state.file || modules !== this.modules) return;
            if (at === false) await this.load();
            else this.grow(training, step, at);
        } catch { /* the connection is lost; a banner reports it */
        } finally {
            this.busy = false;
            if (this.again) this.news();
        }
    }

    /** Takes new columns; repaints only these if no other cell moves. */
    grow(training, step, at) {
        const look = () => this.range.end + JSON.stringify(this.scales.gradient.ticks);
        const before = look(), alarms = this.training.alarms.length;
        this.training = training;
        this.step = new Step(step);
        this.list.take(this.modules, training);
        this.model.addAlarms(training.alarms);
        makeStrip(this);
        if (alarms !== training.alarms.length) this.update();
        this.setScales();
        this.numbers();
        if (at > 0 && look() === before) paintFrom(this, at - 1);
        else this.map.redraw();
    }

    /* --- Steps */

    /** The newest step; now() is the cursor's. */
    newest() {
        return this.ends().last;
    }

    /** The first and last step of the axis: all logged steps, or the zoomed part of the heat
        maps. A fast training logs its losses more often than its modules. */
    ends() {
        const {first, last} = this.steps, all = this.phase().columns || NO_COLUMNS;
        const least = (a, b) => min(a ?? b ?? 0, b ?? a ?? 0), most = (a, b) => max(a ?? 0, b ?? 0);
        return {first: state.from === null ? least(all.first[0], first[0]) : first[0] ?? 0,
            last: state.to === null ? most(last.at(-1), all.last.at(-1)) : last.at(-1) ?? 0};
    }

    /** The columns of the heat maps, or of the scalars if no series was logged. */
    get steps() {
        return this.modules.n ? this.modules.columns : this.phase().columns || NO_COLUMNS;
    }

    now() {
        return state.step ?? this.newest();
    }

    phase() {
        const {modules: {n, document}, training: {phases}} = this;
        return phases.find((one) => n ? one.phase === document.phase : one.columns.columns) ||
            {};
    }

    /** first, last, end: a live run has room for more columns, until two become one. */
    setScales() {
        const {first, columns: n} = this.steps, {first: begin, last} = this.ends();
        const live = files.get(state.file)?.live && state.to === null && n;
        const wide = n > 1 ? first[1] - first[0] : last - begin + 1;
        const room = min(this.asked.columns, max(16, 2 ** ceil(Math.log2(n))));
        const end = live ? begin + wide * room : last + 1;
        this.range = end > last ? {first: begin, last, end} : stepRange(begin, last, live);
        this.scales = scales(this.modules, this.rows);
        measure(this);
    }

    /* --- Rows */

    sort() {
        return ORDERS[state.sort] ? state.sort : '';
    }

    sortBy(id) {
        const same = id === this.sort();
        go({sort: id, reverse: same && !state.reverse}, 'replace');
    }

    ordered() {
        return this.list.sorted(this.sort(), state.reverse, this.step);
    }

    /** A sorted list keeps its order until the user sorts again. */
    update(again = false) {
        const {model, list} = this, kept = this.rows[this.at]?.place ?? 0;
        const wanted = new Set([state.at, ...state.panels].map((name) => model.find(name)));
        const order = this.sort() && `${this.sort()} ${state.reverse}`;
        this.rows = !order ? list.tree((place) => place > 0 && wanted.has(place)) :
            again || order !== this.order ? this.ordered() :
                this.rows.map((row) => list.finish(row));
        this.order = order;
        const find = (place) => this.rows.findIndex((row) => row.members.includes(place));
        this.at = -1;
        for (let up = kept; this.at < 0 && up >= 0; up = model.parent[up]) this.at = find(up);
        this.at = max(0, this.at);
        put(this.count, span(null, plural(this.rows.length, 'row')),
            ' ', span(null, `for ${this.all}`));
        this.orderButton.firstChild.textContent = ORDERS[this.sort()];
        this.heads.forEach((head, i) => head.setAttribute('aria-sort',
            KINDS[i].id !== this.sort() ? 'none' :
                state.reverse ? 'ascending' : 'descending'));
        this.setScales();
        this.numbers();
        this.map.redraw();
    }

    numbers() {
        const {document: step} = this.step, order = this.sort() && this.ordered();
        this.atStep.textContent = step.last ?? '\u2013';
        this.atStep.title = step.text || '';
        this.stale.classList.toggle('off', !order || order.every((row, i) =>
            row.place === this.rows[i].place));
        drawRows(this);
    }

    high() {
        return this.root.classList.contains('slim') ? 44 : 24;
    }

    resize() {
        const width = this.stage.clientWidth, {classList, dataset} = this.root;
        if (!width) return;
        classList.toggle('mid', width < WIDE);
        classList.toggle('slim', width < SLIM);
        classList.toggle('nonums', state.panels.length > 0 && width >= SLIM);
        dataset.tab = state.tab || 'gradient';
        [...this.tabs.children].forEach((tab, i) => {
            const on = KINDS[i].id === dataset.tab;
            tab.className = on ? 'on' : '';
            tab.ariaPressed = String(on);
        });
        if (!this.scales) return;
        measure(this);
        drawRows(this);
        this.map.redraw();
    }

    moveTo(k) {
        this.at = max(0, min(this.rows.length - 1, k));
        const row = this.rows[this.at], high = this.high(), top = this.at * high;
        const see = this.table.clientHeight - HEAD - AXIS;
        this.table.scrollTop = max(top + high - see,
            min(top, this.table.scrollTop));
        drawRows(this);
        if (row.many === 1) go({at: this.model.full(row.place)}, 'replace');
    }

    /** Scrolls to the selected place. */
    reveal() {
        const place = this.model.find(state.at);
        if (place > 0) this.list.folds.reveal(place);
        this.update();
        const k = this.rows.findIndex((row) => row.place === place);
        if (k >= 0) this.moveTo(k);
    }

    fold(key, {place, many, flat}) {
        const {folds} = this.list;
        if (flat) return;
        if (key === 'Space' && many > 1) folds.unfoldRun(place);
        else if (key !== 'Space' || folds.hasChildren(place)) folds.fold(key, place);
        this.update();
        this.written = folds.names();
        if (this.written) go({open: this.written}, 'replace');
    }

    /** Unfolds repeats; opens any other row in a panel, by default the next free one. */
    open(row, at = state.panels.length) {
        if (row.many > 1) {
            this.fold('Space', row);
            return;
        }
        const full = this.model.full(row.place);
        const panels = state.panels.filter((one) => one !== full);
        if (at < panels.length) panels[at] = full;
        else panels.push(full);
        if (panels.length > LETTERS.length) toast(`${LETTERS.length} panels are open`);
        else go({panels});
    }

    async state(changed) {
        const is = (...keys) => keys.some((key) => changed.has(key));
        if (!this.model) return;
        const {step} = state, {around} = this;
        if (is('step') && this.training.alarms.some((one) => one.step === step))
            this.around = step;
        if (is('from', 'to', 'rank') || around !== this.around) this.load();
        if (is('open') && state.open.length && `${state.open}` !== `${this.written}`)
            this.list.folds.openOnly(state.open);
        if (is('panels', 'tab')) this.resize();
        if (is('at')) this.reveal();
        else if (is('panels', 'open', 'sort', 'reverse')) this.update();
        if (!is('step')) return;
        this.map.redraw();
        this.sparks.forEach((one) => one.update());
        const found = await ask('step', {file: state.file, step}).catch(() => null);
        if (step !== state.step || !found) return;
        this.step = new Step(found);
        this.numbers();
    }
}

export const overview = {
    id: 'overview', title: 'Overview', icon: 'overview', wide: true,
    fits: (file) => file.has.includes('history'),
    mount(stage) {
        const made = new Overview(stage);
        return {
            state: (changed) => made.state(changed),
            news: () => made.news(),
            close() {
                made.unbind.forEach((end) => end());
                made.sizes.disconnect();
                made.asked = made.modules = null;
            },
        };
    },
};
