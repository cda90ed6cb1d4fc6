/* overview.js - where a training opens: modules by steps as heat maps, and the numbers of
   the cursor's step. */

import {ask} from './api.js';
import {cell, columnOf} from './axis.js';
import {button, copyText, el, failure, icon, loading, menu, toast, tooltip} from './dom.js';
import {canvas, stepAxis} from './draw.js';
import {paintLegend} from './heat.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {FLAGS, places as placesOf, training as trainingOf} from './model.js';
import {KINDS, Modules, Step} from './overview_data.js';
import {paintClose, paintCursor, paintRows, scales, stripes} from './overview_map.js';
import {OverviewRows} from './overview_rows.js';
import {alarmList, goTo, scalar, spark, verdict, worstAlarms} from './overview_strip.js';
import {go, state} from './state.js';
import {DOTS, TIMES, plain, plural, short} from './text.js';

const INDENT = 11, HEAD = 46, AXIS = 20, MORE = 4; // px, rows beside those on screen
const WIDE = 1200, SLIM = 720, LETTERS = 'ABCDE';
const HEATS = KINDS.slice(0, 3);

class Overview {
    constructor(stage) {
        this.stage = stage;
        this.at = 0;
        this.rows = [];
        this.step = new Step(null);
        this.shown = state.tab || 'gradient'; // the one column of a narrow page
        this.frame = el('div', 'ovframe off');
        tooltip(this.frame, () => this.hit && this.tip(this.hit));
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
        this.unbind = this.bindKeys();
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
        if (model.addAlarms) model.addAlarms(training.alarms);
        this.modules = new Modules(modules);
        this.step = new Step(step);
        if (same) this.list.take(this.modules, training);
        else this.list = new OverviewRows(model, this.modules, training, state.open);
        if (!this.root.isConnected) this.stage.replaceChildren(this.root);
        this.makeStrip();
        this.makeHead();
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
                zoom ? null : ask('modules', {...this.asked, since}), state.step === null ?
                    ask('step', {file}) : this.step.document]);
            if (file !== state.file || before !== this.modules) return;
            const at = zoom ? n : n && !this.asked.around ? before.add(more) : false;
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
            if (this.model.addAlarms) this.model.addAlarms(training.alarms);
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

    makeStrip() {
        const {training, modules} = this, {phase} = modules.document;
        const columns = training.phases.find((one) => one.phase === phase)?.columns ||
            {columns: 0, first: [], last: []};
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
        this.banner = verdict(training, () => document.querySelector('.btn.alarms')?.click());
        this.strip.before(this.banner);
        const parts = [['loss', loss, {name: phase}],
            ['gradient norm', norm && {values: [...norm]}, {name: 'all parameters, log',
                log: true, columns: modules.columns}],
            ['learning rate', rate, {name: rates > 1 ? `group 0 of ${rates}` : ''}]];
        this.data = parts.map(([, found, more]) => ({...common(), values: null, ...found,
            ...more}));
        this.sparks = this.sparks || parts.map(([title], i) => spark(title, () =>
            ({...this.data[i], step: this.now()})));
        this.strip.classList.toggle('off', !training.verdict);
        this.strip.replaceChildren(...this.sparks.map((one) => one.box), alarmList(training,
            modules.columns.columns ? training.newest ?? this.newest() : 0, () =>
                document.querySelector('.btn.alarms')?.click()));
        this.sparks.forEach((one) => one.update());
    }

    /* --- Head */

    makeHead() {
        const {model, modules} = this, {ranks = []} = modules.document;
        let all = 0;
        for (let i = 0; i < model.n; i++) all += model.isModule(i);
        this.all = all;
        this.count = el('span');
        this.stale = el('button', {type: 'button', class: 'link off', onclick: () =>
            this.update()}, 'order changed, sort again');
        this.order = menu(button({text: 'model order', class: 'small', label: 'Order'}), () =>
            [['', 'model order'], ...KINDS.map((one) => [one.id, one.sort]), ['name', 'name']]
                .map(([id, text]) => ({text, current: id === this.sort(), run: () =>
                    this.sortBy(id)})));
        const rank = (id) => id === null ? `${ranks.length} ranks, merged` :
            `rank ${id} of ${ranks.length}`;
        const hidden = modules.at.size ? all - modules.at.size : 0;
        const legends = KINDS.map((kind) => el('div', {class: `k-${kind.id}`,
            aria: {hidden: 'true'}}, el('div', 'cap', el('b', null, kind.title), kind.note),
        this.legend(kind)));
        const numbers = el('div', 'nums');
        this.heads = KINDS.map((kind) => el('button', {type: 'button', tabIndex: -1,
            onclick: () => this.sortBy(kind.id)}, kind.head));
        numbers.append(...this.heads.map((one, i) => el('span', {role: 'columnheader',
            class: `n-${KINDS[i].id}`}, one)));
        this.atStep = el('b');
        this.head.replaceChildren(el('div', {class: 'first', role: 'columnheader'},
            el('div', 'cap', el('b', null, 'Modules'), this.count, el('span', 'grow'),
                this.order),
            el('div', 'cap2', this.stale, hidden ? el('span', null,
                `${hidden} without parameters or units hidden`) : null)), ...legends,
        el('div', {class: 'k-numbers', role: 'presentation'}, el('div', 'cap',
            ranks.length > 1 ? menu(button({text: rank(state.rank), class: 'small',
                label: 'Ranks'}), () => [null, ...ranks].map((id) => ({text: rank(id),
                current: id === state.rank, run: () => go({rank: id})}))) : null,
            el('span', 'grow'), 'at step', this.atStep), numbers));
        this.tabs.replaceChildren(...KINDS.map((kind) => el('button', {type: 'button',
            onclick: () => go({tab: kind.id}, 'replace')}, kind.title)));
    }

    legend(kind) {
        if (kind.id === 'bad') return el('div', 'lg', el('i', 'hatch'), 'NaN, Inf',
            el('i', 'fine'), 'finite');
        const box = el('div', 'lg'), strip = canvas('', (pen, width, height) => {
            if (this.scales) paintLegend(pen, width, height, this.scales[kind.id]);
        });
        strip.ariaHidden = 'true';
        box.update = () => {
            const ticks = this.scales[kind.id].ticks.map(([at, text]) => el('span', {style:
                {left: `${at * 100}%`}, class: at < .06 ? 'left' : at > .94 ? 'right' : ''}, text));
            box.replaceChildren(strip, ...ticks, kind.id === 'ratio' ? el('i', 'healthy') : '');
            strip.redraw();
        };
        this[kind.id] = box;
        return box;
    }

    /* --- Rows */

    sort() {
        return state.sort === 'name' || KINDS.some((one) => one.id === state.sort) ?
            state.sort : '';
    }

    sortBy(id) {
        go(id === this.sort() ? {reverse: !state.reverse} : {sort: id, reverse: false},
            'replace');
    }

    ordered() {
        return this.list.sorted(this.sort(), state.reverse, this.step);
    }

    update() {
        const kept = this.rows[this.at]?.place ?? 0, {model} = this;
        const wanted = new Set([state.at, ...state.panels].map((name) => model.find(name)));
        this.rows = this.sort() ? this.ordered() :
            this.list.tree((place) => place > 0 && wanted.has(place));
        const find = (place) => this.rows.findIndex((row) => row.members.includes(place));
        this.at = find(kept);
        for (let up = kept; this.at < 0 && up >= 0; up = model.parent[up]) this.at = find(up);
        this.at = Math.max(0, this.at);
        this.count.textContent = `${plural(this.rows.length, 'row')} for ${this.all}`;
        this.order.firstChild.textContent = ['', ...KINDS.map((one) => one.id), 'name']
            .indexOf(this.sort()) < 1 ? 'model order' : (KINDS.find((one) =>
                one.id === this.sort()) || {sort: 'name'}).sort;
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
        this.scales = scales(this.modules, this.rows);
        HEATS.forEach(({id}) => this[id].update());
        this.columns = KINDS.map(({id}) => {
            const at = this.head.querySelector(`.k-${id}`);
            return {id, left: at.offsetLeft, width: at.offsetWidth};
        }).filter((one) => one.width);
        this.axis.replaceChildren(el('div', 'first', 'x: step'), ...this.columns.map((one) =>
            this.axisOf(one)));
        this.pane.querySelectorAll('.none').forEach((one) => one.remove());
        for (const {id, left, width} of this.columns) {
            const text = this.emptyText(id);
            if (text) this.pane.append(el('div', {class: 'none', style: {left: `${left}px`,
                width: `${width}px`}}, text));
        }
    }

    emptyText(id) {
        const {modules} = this;
        if (!modules.n) return '';
        if (id === 'bad') return modules.document.close_up ? '' : `none in ${this.newest()} steps`;
        return modules.logged(id) ? '' : KINDS.find((one) => one.id === id).missing;
    }

    axisOf({id, width}) {
        const near = this.modules.document.close_up, box = el('div', `k-${id}`);
        if (!this.modules.n || (id === 'bad' && !near)) return box;
        const axis = id === 'bad' ? {ticks: [near.first[0], near.last.at(-1)], x: (step) =>
            step === near.first[0] ? 0 : width} : stepAxis(this.range, width);
        for (const step of axis.ticks) {
            const x = axis.x(step);
            box.append(el('span', {class: x < 20 ? 'left' : x > width - 20 ? 'right' : '',
                style: {left: `${x}px`}}, step));
        }
        return box;
    }

    high() {
        return this.root.classList.contains('slim') ? 44 : 24;
    }

    draw() {
        const high = this.high(), {scrollTop, clientHeight} = this.table, rows = [];
        const first = Math.max(0, Math.floor(scrollTop / high) - MORE);
        const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / high));
        this.drawn = [first, last];
        for (let i = first; i < last; i++) rows.push(this.row(i, high));
        this.space.replaceChildren(...rows);
        this.table.setAttribute('aria-activedescendant', `ov${this.at}`);
    }

    mark(place) {
        const {model} = this, is = model.has(place, FLAGS.alarm | (FLAGS.alarmInside || 0));
        if (is) return el('span', {class: 'al', title: this.list.makers.has(place) ?
            'made here' : 'made inside'}, icon('alarm'));
        return model.has(place, FLAGS.warning | (FLAGS.warningInside || 0)) ?
            el('span', {class: 'wl', title: 'warning'}, icon('alarm')) : null;
    }

    name(row) {
        const {model} = this, {place} = row;
        if (row.flat) return model.full(place);
        if (place === 0) return model.klass(0) || model.name(0) || 'model';
        return row.many > 1 ? `${model.name(place)}${DOTS}${model.name(row.last)}` :
            model.name(place);
    }

    row(i, high) {
        const row = this.rows[i], {model} = this, {place} = row, full = model.full(place);
        const can = !row.flat && (row.many > 1 || this.list.folds.hasChildren(place));
        const isOpen = can && row.many === 1 && this.list.folds.open[place] === 1;
        const selected = state.at === full && row.many === 1, name = this.name(row);
        const letter = row.many === 1 ? LETTERS[state.panels.indexOf(full)] : null;
        const tied = model.has(place, FLAGS.tied), klass = place === 0 ? '' : model.klass(place);
        const element = el('div', {id: `ov${i}`, role: 'row', data: {row: i},
            class: ['row', 'ovgrid', selected && 'sel', i === this.at && 'cursor',
                row.carries && 'prop'].filter(Boolean).join(' '),
            aria: {level: row.depth + 1, rowindex: i + 2, selected,
                expanded: can ? isOpen : null}},
        el('div', {class: 'first', role: 'rowheader', title: full || name,
            style: {'padding-left': `${8 + INDENT * row.depth}px`}},
        el('span', 'ch', can ? icon(isOpen ? 'down' : 'right') : null),
        el('b', 'nm', name), el('span', 'cl', row.many > 1 ? `${row.many} ${TIMES} ${klass}` :
            klass, tied ? ', tied' : null),
        letter ? el('span', {class: 'badge', data: {panel: letter}}, letter) : null,
        this.mark(place)),
        el('div', {class: 'nums', role: 'presentation'}, KINDS.map((kind) => {
            const {text, word, bad, none} = this.step.show(kind, row.members);
            return el('span', {role: 'gridcell', class: `n-${kind.id} ${bad ? 'bad' : ''}` +
                `${none ? 'na' : ''}`}, word ? el('em', null, `${word} `) : null,
            tied && !none ? `(${text})` : text);
        })));
        element.style.top = `${i * high}px`;
        return element;
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
        if (!this.modules) return;
        this.measure();
        this.draw();
        this.map.redraw();
    }

    /* --- The pointer */

    /** What is at this point: {row, column, i (of the steps), place, frame}. */
    find(event) {
        const box = this.table.getBoundingClientRect(), high = this.high();
        const y = event.clientY - box.top - HEAD + this.table.scrollTop;
        const inside = event.clientY > box.top + HEAD && !event.target.closest('.ovaxis');
        const k = inside ? Math.floor(y / high) : -1, row = this.rows[k];
        const px = event.clientX - box.left;
        const column = this.columns?.find((one) => px >= one.left && px < one.left + one.width);
        if (!row || !column || !this.modules.n) return {row, k};
        const near = this.modules.document.close_up, list = stripes(row, high - 2);
        const stripe = Math.max(0, Math.min(list.length - 1,
            Math.floor((y - k * high - 1) * list.length / (high - 2))));
        const part = (high - 2) / list.length, found = {row, k, column, places: list[stripe]};
        let left = 0, right = column.width, step = null, i = 0;
        if (column.id === 'bad') {
            if (!near) return {row, k};
            const size = column.width / near.first.length;
            i = Math.floor((px - column.left) / size);
            [left, right] = [i * size, (i + 1) * size];
            step = near.first[i];
        } else {
            const axis = stepAxis(this.range, column.width);
            step = axis.step(px - column.left);
            i = columnOf(this.modules.columns, step);
            [left, right] = cell(this.modules.columns, i, axis.x);
            if (px - column.left > right + 2) return {row, k};
        }
        const top = k * high + 1 + Math.round(stripe * part) - this.table.scrollTop;
        return {...found, i, step, frame: [column.left + left - 2, top - 1,
            Math.max(8, right - left + 4), part + 2]};
    }

    hover(event) {
        const hit = this.find(event), key = hit.column && [hit.column.id, hit.k, hit.i,
            hit.places[0]].join();
        this.frame.classList.toggle('off', !key);
        if (key === this.hitKey) return;
        this.hitKey = key;
        this.hit = key ? hit : null;
        const tell = (name) => this.frame.dispatchEvent(new PointerEvent(name));
        tell(key ? 'pointerenter' : 'pointerleave');
        if (key) ['left', 'top', 'width', 'height'].forEach((side, i) => {
            this.frame.style[side] = `${hit.frame[i]}px`;
        });
    }

    tip({column: {id}, i, places}) {
        const {modules, model} = this, place = places[0], kind = KINDS.find((one) =>
            one.id === id), {columns} = modules, one = modules.at.get(place);
        if (!one) return null;
        const near = modules.document.close_up, at = id === 'bad' ? near : columns;
        const range = at.first[i] === at.last[i] ? at.first[i] :
            `${at.first[i]} to ${at.last[i]}`;
        const value = id === 'bad' ? NaN : modules.worst(id, [place], i);
        const said = id === 'bad' ? {1: 'NaN or Inf', 0: 'finite', '-': 'not looked at'}[
            modules.close([place])[i]] : this.valueText(kind, place, value);
        const rank = one[`${id}_rank`]?.[i], least = one[`${id}_least`]?.[i];
        const full = model.full(place), lines = [[at === columns ? 'steps' : 'step', range +
            (id !== 'bad' && columns.steps[i] > 1 ? `, ${kind.most}` : '')],
        [kind.title, said]];
        if (rank !== undefined && rank !== null) lines.push(['ranks', `rank ${rank}` +
            (least !== undefined && least !== null ? `; least ${short(least)} on rank ` +
                one[`${id}_least_rank`][i] : '')]);
        const letter = LETTERS[state.panels.length];
        return [el('b', null, full || this.name({place, many: 1})), ' ',
            el('span', 'dim', model.klass(place)), el('dl', null, lines.map(([word, text]) =>
                [el('dt', null, word), el('dd', null, text)])),
            letter && !state.panels.includes(full) ? el('button', {type: 'button',
                class: 'link act', onclick: () => this.open(full)},
            el('span', {class: 'badge', data: {panel: letter}}, letter),
            el('span', 'grow', `open in panel ${letter}`), el('kbd', null, 'Enter')) : null];
    }

    /** 4.63, 103 times its median */
    valueText(kind, place, value) {
        if (Number.isNaN(value)) return 'not logged';
        if (value === Infinity) return el('b', 'bad', 'NaN or Inf');
        const usual = this.modules.median(kind.id, place), times = value / usual;
        const text = kind.id === 'dead' ? this.percent(value) : short(value);
        return [el('b', null, text), usual > 0 ? `, ${kind.id === 'dead' ?
            `its median is ${this.percent(usual)}` : `${times >= 10 ? Math.round(times) :
                short(Number(times.toPrecision(2)))} times its median`}` : ''];
    }

    percent(value) {
        return `${short(Number((value * 100).toPrecision(2)))}%`;
    }

    listen() {
        const {table, axis} = this;
        table.addEventListener('scroll', () => {
            this.draw();
            this.map.redraw();
        });
        table.addEventListener('pointermove', (event) => this.modules && this.hover(event));
        table.addEventListener('pointerleave', () => this.hover({clientY: -1, target: table}));
        table.addEventListener('click', (event) => this.click(event));
        table.addEventListener('dblclick', (event) => {
            const {row} = this.find(event);
            if (row && !event.target.closest('.ch')) this.enter(row);
        });
        axis.addEventListener('pointerdown', (event) => this.zoom(event));
    }

    click(event) {
        const {k, row, step} = this.find(event);
        if (!row || event.target.closest('button')) return;
        this.at = k;
        const full = this.model.full(row.place);
        if (step !== null && step !== undefined) go({step, at: row.many > 1 ? state.at : full});
        else if (event.target.closest('.ch')) this.toggle(row);
        else if (row.many > 1) this.draw();
        else go({at: full});
    }

    /** Drag on the step axis: these steps only. */
    zoom(event) {
        const box = this.table.getBoundingClientRect(), from = event.clientX - box.left;
        const column = this.columns.find((one) => one.id !== 'bad' && from >= one.left &&
            from <= one.left + one.width);
        if (!column || !this.modules.n) return;
        const {axis} = this, mark = el('div', 'ovzoom');
        let span = [from, from];
        axis.append(mark);
        axis.setPointerCapture(event.pointerId);
        axis.onpointermove = (move) => {
            const to = Math.max(column.left, Math.min(column.left + column.width,
                move.clientX - box.left));
            span = [Math.min(from, to), Math.max(from, to)];
            mark.style.left = `${span[0]}px`;
            mark.style.width = `${span[1] - span[0]}px`;
        };
        axis.onpointerup = axis.onpointercancel = (last) => {
            axis.onpointermove = axis.onpointerup = axis.onpointercancel = null;
            mark.remove();
            if (last.type === 'pointercancel' || span[1] - span[0] < 4) return;
            const steps = stepAxis(this.range, column.width);
            go({from: steps.step(span[0] - column.left), to: steps.step(span[1] - column.left)});
        };
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

    cellBy(by) {
        const {columns, n} = this.modules, i = columnOf(columns, this.now()) + by;
        if (n) go({step: columns.last[Math.max(0, Math.min(n - 1, i))]}, 'replace');
    }

    nextAlarm() {
        const list = worstAlarms(this.training).sort((a, b) => a.step - b.step);
        const at = list.findIndex((one) => one.step === state.step && one.name === state.at);
        if (list.length) goTo(list[(at + 1) % list.length]);
        else toast('No alarm');
    }

    copy() {
        const row = this.rows[this.at], {text} = this.step.document || {};
        const numbers = KINDS.map((kind) =>
            `${kind.head} ${plain(this.step.show(kind, row.members).text)}`);
        copyText([this.model.full(row.place) || this.name(row), text, ...numbers].join('\t'));
    }

    bindKeys() {
        const page = () => Math.max(1, Math.floor(this.table.clientHeight / this.high()) - 3);
        const row = () => this.rows[this.at], move = (by) => this.moveTo(this.at + by);
        const rows = [
            [['Up', 'k'], 'row above', () => move(-1)], [['Down', 'j'], 'row below', () => move(1)],
            [['PageUp'], 'a page up', () => move(-page())],
            [['PageDown'], 'a page down', () => move(page())],
            [['Home'], 'first row', () => move(-Infinity)],
            [['End'], 'last row', () => move(Infinity)],
            [['Left'], 'one cell back', () => this.cellBy(-1)],
            [['Right'], 'one cell forward', () => this.cellBy(1)],
            [['Enter'], 'open in the next panel', () => this.enter(row())],
            [['Space'], 'fold or unfold', () => this.toggle(row())],
            [['y'], 'copy the row', () => this.copy()],
            [[...'zZsSoO'], 'fold: subtree, all, siblings, class', (event, key) =>
                this.fold(key, row().place)],
            [[...LETTERS], 'open in this panel', (event, key) => row().many === 1 &&
                this.open(this.model.full(row().place), LETTERS.indexOf(key))],
        ].map((one) => [...one, this.table]);
        const sorts = [...KINDS.map((one) => [`i ${one.key}`, one.id, one.sort]),
            ['i n', 'name', 'name'], ['i x', '', 'model order']].map(([key, id, text]) =>
            [[key], `order: ${text}`, () => this.sortBy(id)]);
        const all = [[['0'], 'all steps', () => go({from: null, to: null})],
            [['!'], 'next alarm', () => this.nextAlarm()], ...sorts, ...rows];
        return all.map(([keys, what, run, within]) => bind({keys, what, within,
            where: 'Overview', run: (...to) => this.modules ? run(...to) : false}));
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
