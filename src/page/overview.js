/* overview.js - where a training opens: modules by steps as heat maps, and the numbers of
   the cursor's step. */

import {ask} from './api.js';
import {el, failure, loading, toast, tooltip} from './dom.js';
import {canvas, stepAxis} from './draw.js';
import {files} from './live.js';
import {places as placesOf, training as trainingOf} from './model.js';
import {KINDS, Modules, ORDERS, Step} from './overview_data.js';
import {makeHead} from './overview_head.js';
import {bindKeys} from './overview_keys.js';
import {paintClose, paintCursor, paintRows, scales} from './overview_map.js';
import {OverviewRows} from './overview_rows.js';
import {alarmList, scalar, spark, verdict, worstAlarms} from './overview_strip.js';
import {HEAD, LETTERS, axisOf, emptyText, rowElement} from './overview_table.js';
import {find, hover, tip, zoom} from './overview_tip.js';
import {go, state} from './state.js';
import {plural} from './text.js';

const AXIS = 20, MORE = 4; // px, rows beside those on screen
const WIDE = 1200, SLIM = 720;

const showAlarms = () => document.querySelector('.btn.alarms')?.click();

class Overview {
    constructor(stage) {
        this.stage = stage;
        this.at = 0;
        this.rows = [];
        this.step = new Step(null);
        this.frame = el('div', 'ovframe off');
        tooltip(this.frame, () => this.hit && tip(this, this.hit));
        this.map = canvas('', (pen, width, height) => this.paint(pen, height));
        this.map.ariaHidden = 'true';
        this.pane = el('div', {class: 'ovpane', role: 'presentation'}, this.map, this.frame);
        this.space = el('div', {class: 'space', role: 'rowgroup'});
        this.head = el('div', {class: 'ovgrid ovhead', role: 'row'});
        this.axis = el('div', {class: 'ovgrid ovaxis', aria: {hidden: 'true'}});
        this.table = el('div', {class: 'ovtable', role: 'treegrid', tabIndex: 0,
            aria: {label: 'Modules over steps'}},
        el('div', {class: 'ovtop', role: 'rowgroup'}, this.head), this.pane, this.space,
        this.axis);
        this.strip = el('div', 'ovgrid strip');
        this.tabs = el('div', {class: 'seg ovtabs', role: 'group', aria: {label: 'Column'}});
        this.root = el('div', 'ov', this.strip, this.tabs, this.table);
        this.listen();
        this.unbind = bindKeys(this);
        this.sizes = new ResizeObserver(() => this.resize());
        this.sizes.observe(stage);
        this.load();
    }

    /* --- Documents */

    query() {
        const columns = Math.round(Math.max(360, this.stage.clientWidth - 700) / 6) & ~1;
        return {file: state.file, from: state.from, to: state.to, rank: state.rank,
            columns: Math.max(60, Math.min(400, columns)), least: true, around: this.around};
    }

    async load() {
        const {file} = state, query = this.query();
        this.asked = query;
        const promise = Promise.all([placesOf(file), trainingOf(files.get(file)),
            ask('modules', query), ask('step', {file, step: state.step})]);
        if (!this.model) this.stage.replaceChildren(loading(promise, 'Reading the steps'));
        try {
            const [model, training, modules, step] = await promise;
            if (this.asked === query) this.take(model, training, modules, step);
        } catch (error) {
            if (this.asked === query && this.stage.isConnected)
                this.stage.replaceChildren(failure(error, () => this.load()));
        }
    }

    take(model, training, modules, step) {
        const same = this.model === model && this.list;
        this.model = model;
        this.training = training;
        model.addAlarms(training.alarms);
        this.modules = new Modules(modules);
        this.step = new Step(step);
        if (same) this.list.take(this.modules, training);
        else {
            this.list = new OverviewRows(model, this.modules, training, state.open);
            this.order = '';
        }
        if (!this.root.isConnected) this.stage.replaceChildren(this.root);
        this.makeStrip();
        makeHead(this);
        this.resize();
        this.update();
        if (!same) this.reveal();
    }

    /** New steps: only the columns that changed are asked for and drawn. */
    async news() {
        if (!this.modules || this.busy) {
            this.again = true;
            return;
        }
        this.busy = true;
        const {file} = state, {columns, n} = this.modules, before = this.modules;
        try {
            const since = n ? columns.first[n - 1] : null, zoom = state.to !== null;
            const [training, more, step] = await Promise.all([trainingOf(files.get(file)),
                zoom ? null : ask('modules', {...this.asked, since,
                    around: this.around ?? before.document.first_bad}), state.step === null ?
                    ask('step', {file}) : this.step.document]);
            if (file !== state.file || before !== this.modules) return;
            const at = zoom ? n : n ? before.add(more) : false;
            if (at === false) await this.load();
            else this.grow(training, step, at);
        } catch { /* the connection is lost: the frame says so */
        } finally {
            this.busy = false;
            if (this.again) {
                this.again = false;
                this.news();
            }
        }
    }

    grow(training, step, at) {
        const {end} = this.range, key = JSON.stringify(this.scales.gradient.ticks);
        const alarms = this.training.alarms.length;
        this.training = training;
        this.step = new Step(step);
        this.list.take(this.modules, training);
        if (training.alarms.length !== alarms) {
            this.model.addAlarms(training.alarms);
            this.update();
        }
        this.measure();
        this.makeStrip();
        this.numbers();
        const still = end === this.range.end && at > 0 &&
            key === JSON.stringify(this.scales.gradient.ticks);
        if (still) this.paintFrom(at - 1);
        else this.map.redraw();
    }

    /* --- Steps */

    newest() {
        const {columns, n} = this.modules;
        return n ? columns.last[n - 1] : 0;
    }

    now() {
        return state.step ?? this.newest();
    }

    isLive() {
        return Boolean(files.get(state.file)?.live) && state.to === null;
    }

    /** Of a live run there is room for further columns, until they become half as many. */
    setRange() {
        const {columns: {first}, n} = this.modules, last = this.newest();
        const room = Math.min(this.asked.columns, Math.max(16, 2 ** Math.ceil(Math.log2(n))));
        const begin = first[0] ?? 0, wide = n > 1 ? first[1] - begin : last - begin + 1;
        this.range = {first: begin, last, end: this.isLive() && n ?
            Math.max(last + 1, begin + wide * room) : last + 1};
    }

    /* --- Strip */

    phase() {
        return this.training.phases.find((one) =>
            one.phase === this.modules.document.phase) || {};
    }

    steps() {
        return this.phase().steps ?? 0;
    }

    makeStrip() {
        const {training, modules} = this, {phase} = modules.document;
        const {columns = {columns: 0, first: [], last: []}} = this.phase();
        this.setRange();
        const common = () => ({columns, range: this.range, step: this.now(),
            alarms: worstAlarms(this.training)});
        const is = (test) => scalar(training, phase, test);
        const loss = is((name) => name === (training.loss || 'loss')) ||
            is((name) => /loss/i.test(name));
        const rate = is((name) => /^lr(\/|$)/.test(name));
        const rates = training.scalars.filter((one) => one.name.startsWith('lr/')).length;
        const norm = modules.values('gradient', 0);
        this.banner?.remove();
        this.banner = verdict(training, showAlarms);
        this.strip.before(this.banner);
        const parts = [['loss', loss, {name: phase}],
            ['gradient norm', norm && {values: Array.from(norm, (one) =>
                Number.isNaN(one) ? null : one === Infinity ? NaN : one)}, {name: 'all parameters, log',
                log: true, columns: modules.columns}],
            ['learning rate', rate, {name: rates > 1 ? `group 0 of ${rates}` : ''}]];
        this.data = parts.map(([, found, more]) => ({...common(), values: null, ...found,
            ...more}));
        this.sparks = this.sparks || parts.map(([title], i) => spark(title, () =>
            ({...this.data[i], step: this.now()})));
        this.strip.classList.toggle('off', !training.verdict);
        this.strip.replaceChildren(...this.sparks.map((one) => one.box),
            alarmList(training, this.steps(), showAlarms));
        this.sparks.forEach((one) => one.update());
    }

    /* --- Rows */

    sort() {
        return ORDERS[state.sort] ? state.sort : '';
    }

    sortBy(id) {
        go(id === this.sort() ? {reverse: !state.reverse} : {sort: id, reverse: false},
            'replace');
    }

    ordered() {
        return this.list.sorted(this.sort(), state.reverse, this.step);
    }

    /** A sorted list keeps its order, except when it is sorted again. */
    update(again = false) {
        const kept = this.rows[this.at]?.place ?? 0, {model} = this;
        const wanted = new Set([state.at, ...state.panels].map((name) => model.find(name)));
        const order = this.sort() && `${this.sort()} ${state.reverse}`;
        this.rows = !order ? this.list.tree((place) => place > 0 && wanted.has(place)) :
            again || order !== this.order ? this.ordered() :
                this.rows.map((row) => this.list.finish(row));
        this.order = order;
        const find = (place) => this.rows.findIndex((row) => row.members.includes(place));
        this.at = find(kept);
        for (let up = kept; this.at < 0 && up >= 0; up = model.parent[up]) this.at = find(up);
        this.at = Math.max(0, this.at);
        this.count.textContent = `${plural(this.rows.length, 'row')} for ${this.all}`;
        this.orderButton.firstChild.textContent = ORDERS[this.sort()];
        this.heads.forEach((head, i) => head.parentNode.setAttribute('aria-sort',
            KINDS[i].id !== this.sort() ? 'none' : state.reverse ? 'ascending' : 'descending'));
        this.table.setAttribute('aria-rowcount', this.rows.length + 1);
        this.measure();
        this.numbers();
        this.map.redraw();
    }

    /** What depends on sizes and on all values: scales, axes, empty columns. */
    measure() {
        this.setRange();
        this.space.style.height = `${this.rows.length * this.high()}px`;
        this.map.style.height = `${Math.max(0, Math.min(this.table.clientHeight - HEAD - AXIS,
            this.rows.length * this.high()))}px`;
        this.scales = scales(this.modules, this.rows);
        this.legends.forEach((one) => one.update());
        this.columns = KINDS.map(({id}) => {
            const at = this.head.querySelector(`.k-${id}`);
            return {id, left: at.offsetLeft, width: at.offsetWidth};
        }).filter((one) => one.width);
        this.axis.replaceChildren(el('div', 'first', 'x: step'), ...this.columns.map((one) =>
            axisOf(this, one)));
        this.pane.querySelectorAll('.none').forEach((one) => one.remove());
        for (const {id, left, width} of this.columns) {
            const text = emptyText(this, id);
            if (text) this.pane.append(el('div', {class: 'none', style: {left: `${left}px`,
                width: `${width}px`}}, text));
        }
    }

    high() {
        return this.root.classList.contains('slim') ? 44 : 24;
    }

    draw() {
        const high = this.high(), {scrollTop, clientHeight} = this.table, rows = [];
        const first = Math.max(0, Math.floor(scrollTop / high) - MORE);
        const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / high));
        for (let i = first; i < last; i++) rows.push(rowElement(this, i, high));
        this.space.replaceChildren(...rows);
        this.table.setAttribute('aria-activedescendant', `ov${this.at}`);
    }

    numbers() {
        const {document: step} = this.step, order = this.sort() && this.ordered();
        this.atStep.textContent = step?.last ?? '\u2013';
        this.atStep.title = step?.text || '';
        this.stale.classList.toggle('off', !order || order.every((row, i) =>
            row.place === this.rows[i]?.place));
        this.draw();
    }

    /* --- The map */

    view() {
        return {modules: this.modules, scales: this.scales, range: this.range,
            columns: this.columns, step: this.now(), marks: this.root.className !== 'ov'};
    }

    paint(pen, height) {
        if (!this.modules?.n || !this.scales) return;
        const view = this.view(), high = this.high(), {scrollTop} = this.table;
        const first = Math.floor(scrollTop / high);
        const rows = this.rows.slice(first, first + Math.ceil(height / high) + 1);
        const top = (row) => this.rows.indexOf(row, first) * high - scrollTop;
        paintRows(pen, view, rows, top, high);
        paintClose(pen, view, rows, top, high);
        paintCursor(pen, view, Math.min(height, this.rows.length * high - scrollTop));
    }

    /** Draws the columns from one on again, without touching the others. */
    paintFrom(at) {
        const pen = this.map.getContext('2d'), from = Math.max(0, at);
        pen.save();
        pen.beginPath();
        for (const {id, left, width} of this.columns) {
            const x = left + (id === 'bad' ? 0 : Math.floor(stepAxis(this.range, width)
                .x(this.modules.columns.first[from])) - 2);
            pen.rect(x, 0, left + width + 2 - x, this.map.clientHeight);
        }
        pen.clip();
        pen.clearRect(0, 0, this.map.clientWidth, this.map.clientHeight);
        this.paint(pen, this.map.clientHeight);
        pen.restore();
        this.map.painted = [from, this.modules.n];
    }

    resize() {
        const width = this.stage.clientWidth;
        if (!width) return;
        this.root.className = width < SLIM ? 'ov mid slim' : width < WIDE ? 'ov mid' : 'ov';
        this.root.classList.toggle('nonums', state.panels.length > 0 && width >= SLIM);
        this.root.dataset.tab = state.tab || 'gradient';
        [...this.tabs.children].forEach((tab, i) => {
            const on = KINDS[i].id === this.root.dataset.tab;
            tab.className = on ? 'on' : '';
            tab.ariaPressed = String(on);
        });
        if (!this.columns) return;
        this.measure();
        this.draw();
        this.map.redraw();
    }

    /* --- The pointer */

    listen() {
        const {table, axis} = this;
        table.addEventListener('scroll', () => {
            this.draw();
            this.map.redraw();
        });
        table.addEventListener('pointermove', (event) => this.modules && hover(this, event));
        table.addEventListener('pointerleave', () => hover(this, {clientY: -1, target: table}));
        table.addEventListener('click', (event) => this.click(event));
        table.addEventListener('dblclick', (event) => {
            const {row} = find(this, event);
            if (row && !event.target.closest('.ch')) this.enter(row);
        });
        axis.addEventListener('pointerdown', (event) => zoom(this, event));
    }

    click(event) {
        const {k, row, step} = find(this, event);
        if (!row || event.target.closest('button')) return;
        this.at = k;
        const full = this.model.full(row.place);
        if (step !== null && step !== undefined) go({step, at: row.many > 1 ? state.at : full});
        else if (event.target.closest('.ch')) this.toggle(row);
        else if (row.many > 1) this.draw();
        else go({at: full});
    }

    /* --- Keys */

    moveTo(k) {
        this.at = Math.max(0, Math.min(this.rows.length - 1, k));
        const row = this.rows[this.at], high = this.high(), top = this.at * high;
        const see = this.table.clientHeight - HEAD - AXIS, {scrollTop} = this.table;
        if (top < scrollTop) this.table.scrollTop = top;
        else if (top + high > scrollTop + see) this.table.scrollTop = top + high - see;
        this.draw();
        if (row.many === 1) go({at: this.model.full(row.place)}, 'replace');
    }

    /** Brings the selected place into view. */
    reveal() {
        const place = this.model.find(state.at);
        if (place > 0) this.list.folds.reveal(place);
        this.update();
        const k = this.rows.findIndex((row) => row.place === place);
        if (k >= 0) this.moveTo(k);
    }

    toggle(row) {
        if (row.flat) return;
        if (row.many > 1) {
            this.list.folds.unfoldRun(row.place);
            this.update();
        } else if (this.list.folds.hasChildren(row.place)) this.fold('Space', row.place);
    }

    fold(key, place) {
        if (this.sort()) return;
        this.list.folds.fold(key, place);
        this.update();
        this.written = this.list.folds.names();
        if (this.written) go({open: this.written}, 'replace');
    }

    /** Repeats open; a row goes into the next free panel. */
    enter(row) {
        if (row.many > 1) this.toggle(row);
        else this.open(this.model.full(row.place));
    }

    open(full, at = state.panels.length) {
        const panels = state.panels.filter((one) => one !== full);
        if (panels.length === LETTERS.length && at >= panels.length) toast('5 panels are open');
        else go({panels: at < panels.length ? panels.with(at, full) : [...panels, full]});
    }

    async state(changed) {
        const is = (...keys) => keys.some((key) => changed.has(key));
        if (!this.model) return;
        const alarm = this.training.alarms.find((one) => one.step === state.step);
        const around = is('step') && alarm ? alarm.step : this.around;
        if (is('from', 'to', 'rank') || around !== this.around) {
            this.around = around;
            this.load();
        }
        if (is('open') && state.open.length && state.open.join() !== this.written?.join())
            this.list.folds.openOnly(state.open);
        if (is('panels', 'tab')) this.resize();
        if (is('at')) this.reveal();
        else if (is('panels', 'open', 'sort', 'reverse')) this.update();
        if (!is('step')) return;
        this.map.redraw();
        this.sparks.forEach((one) => one.update());
        const asked = state.step;
        const step = await ask('step', {file: state.file, step: asked}).catch(() => null);
        if (asked !== state.step || !step) return;
        this.step = new Step(step);
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
                made.asked = null;
            },
        };
    },
};
