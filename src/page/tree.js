/* tree.js - the modules at the left. Only visible rows are elements, so 100,000 places
   scroll smoothly. */

import {div, el, emptyState, failure, icon, loading, put, span} from './dom.js';
import {hitsOf} from './find.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {ceil, floor, max, min} from './math.js';
import {FLAGS, places as placesOf, training} from './model.js';
import {go, state} from './state.js';
import {DOTS, TIMES, commas} from './text.js';
import {TreeRows} from './tree_rows.js';
import {indent, rowNeeds, setRowWidth, treeGrip, widest} from './tree_width.js';

export const ROW = 24;
const MORE = 6; // rows above and below

export function badge(letter) {
    return span({class: 'badge', data: {panel: letter}, aria: {label: `panel ${letter}`}},
        letter);
}

/** Also the base class of the table. id: prefix of row ids; top: px of sticky rows. */
export class Tree {
    constructor(stage, {id = 'row', role = 'tree', label = 'Modules', top = 0} = {}) {
        Object.assign(this, {stage, id, top, where: label === 'Modules' ? 'Tree' : label});
        this.rows = [];
        this.at = 0; // index of the cursor's row
        this.model = null;
        this.written = null; // `open` of the address, as written from here
        this.list = div({class: 'rows', role, tabIndex: 0, aria: {label}});
        this.head = div('treehead');
        this.space = div({class: 'space', role: 'presentation'});
        this.list.append(this.space);
        this.list.addEventListener('scroll', () => this.draw());
        this.list.addEventListener('click', (event) => this.click(event));
        this.list.addEventListener('dblclick', (event) => this.toggle(this.rowOf(event)));
        this.sizes = new ResizeObserver(() => this.draw());
        this.sizes.observe(this.list);
        this.unbind = this.bindKeys();
    }

    async load(file) {
        const promise = placesOf(file);
        this.file = file;
        put(this.stage, loading(promise, 'Reading the modules'));
        try {
            const model = await promise;
            if (this.file === file) await this.take(model);
        } catch (error) {
            if (this.file === file)
                put(this.stage, failure(error, () => this.load(file)));
        }
    }

    take(model) {
        const before = this.model && this.model.n === model.n ? this.folds : null;
        this.model = model;
        const anyModule = model.rows.what.some((what) => model.rows.kinds[what] === 'module');
        this.folds = new TreeRows(model, (i) => i === 0 || (!model.has(i, FLAGS.hidden) &&
            (anyModule ? model.isModule(i) : model.kind(i) !== 'value')));
        if (before) this.folds.open.set(before.open);
        else if (state.open.length) this.folds.openOnly(state.open);
        const columns = model.columns.filter((one) => one.text);
        this.column = columns.find((one) => one.id === 'params') ||
            columns.find((one) => one.number) || null;
        const many = model.rows.what.filter((_, i) => this.folds.shown(i)).length;
        put(this.head, el('b', null, anyModule ? 'Modules' : 'Tensors'),
            span('dim3 grow', commas(many)),
            span('dim3', this.column ? this.column.title : ''));
        if (model.n > 1) put(this.stage, this.head, this.list);
        else put(this.stage, emptyState('No modules', 'This file contains no modules.'));
        this.reveal();
        this.markAlarms();
    }

    async markAlarms() {
        const file = files.get(this.file), {model} = this;
        const document = file && await training(file).catch(() => null);
        if (!document || model !== this.model) return;
        model.addAlarms(document.alarms);
        this.update();
    }

    /** Unfolds the parents of the selected place and scrolls to it. */
    reveal() {
        const place = this.model.find(state.at);
        if (place > 0) this.folds.reveal(place);
        this.update();
        if (place >= 0) this.moveTo(this.rows.findIndex((row) => row.place === place), true);
    }

    update() {
        if (!this.model) return;
        const kept = this.rows[this.at]?.place ?? 0;
        this.hits = state.query ? hitsOf(this.model, state.query) : null;
        this.wanted = new Set([state.at, ...state.panels].map((name) => this.model.find(name)));
        this.rows = this.visible((place) => this.wanted.has(place) && place > 0);
        let at = this.rows.findIndex((row) => row.place === kept);
        for (let up = kept; at < 0 && up >= 0; up = this.model.parent[up])
            at = this.rows.findIndex((row) => row.place === up);
        this.at = max(0, at);
        this.space.style.height = `${this.rows.length * ROW}px`;
        this.fit();
        this.drawn = '';
        this.draw();
    }

    visible(apart) { return this.folds.visible(apart); }

    /** Sets the width for scrolling sideways to names that do not fit. */
    fit() {
        this.needs = widest(this.rows, (row) => this.nameOf(row));
        this.space.style.minWidth = `${this.needs}px`;
    }

    draw() {
        if (!this.model || !this.list.isConnected) return;
        const first = max(0, floor(this.list.scrollTop / ROW) - MORE);
        const last = min(this.rows.length,
            ceil((this.list.scrollTop + this.list.clientHeight) / ROW) + MORE);
        this.seen = this.list.scrollLeft + this.list.clientWidth; // px that are seen
        const key = `${first} ${last} ${this.seen} ${this.at} ${state.at} ${state.panels}`;
        if (key === this.drawn) return;
        this.drawn = key;
        const rows = [];
        for (let i = first; i < last; i++) rows.push(this.row(i));
        put(this.space, ...rows);
        this.list.setAttribute('aria-activedescendant', `${this.id}${this.at}`);
    }

    mark(i) {
        const bad = this.model.has(i, FLAGS.alarm);
        return bad || this.model.has(i, FLAGS.warning) ? span({class: bad ? 'al' : 'wl',
            title: bad ? 'alarm' : 'warning'}, icon('alarm')) : null;
    }

    value(row, column = this.column) {
        const {model} = this;
        if (!column) return null;
        const run = model.runs.get(row.place), all = run && run.many === row.many;
        const n = all ? column.run_number?.[run.i] : column.number?.[row.place];
        const whole = column.whole ?? 0;
        const text = model.cell(column, row.place, all && run);
        const part = n > 0 && whole > 0 && row.place > 0 ? n / whole * 46 : 0;
        return span('value', span(null, text || '\u2013'),
            part >= 1 ? el('i', {style: {width: `${part}px`}}) : null);
    }

    nameOf({place, many, last, flat}) {
        const {model} = this, name = model.name(place);
        if (flat) return model.full(place);
        if (place === 0) return model.klass(0) || name || 'model';
        return many > 1 ? `${name}${DOTS}${model.name(last)}` : name;
    }

    row(i) {
        const row = this.rows[i], {model} = this, {place} = row, name = this.nameOf(row);
        const full = model.full(place), letter = 'ABCDE'[state.panels.indexOf(full)];
        const can = !row.flat && (row.many > 1 || this.folds.hasChildren(place));
        const isOpen = row.many === 1 && this.folds.open[place] === 1;
        const is = (flag) => model.has(place, flag);
        const kinds = ['row', state.at === full && row.many === 1 && 'sel',
            i === this.at && 'cursor', is(FLAGS.carries) && 'prop', is(FLAGS.frozen) && 'frozen',
            is(FLAGS.notCalled) && 'uncalled', this.hits?.has[place] && 'match'];
        const klass = place === 0 ? '' : model.klass(place);
        const marks = [letter ? badge(letter) : null, this.mark(place)].filter(Boolean);
        const element = div({class: kinds.filter(Boolean).join(' '), id: `${this.id}${i}`,
            role: this.list.role === 'tree' ? 'treeitem' : 'row', draggable: true,
            data: {row: i}, title: full || name,
            aria: {level: row.depth + 1, selected: state.at === full,
                expanded: can ? isOpen : null}},
        this.cells(row, [span('ch', can ? icon(isOpen ? 'down' : 'right') : null),
            el('b', 'nm', name),
            span('cl', row.many > 1 ? `${row.many} ${TIMES} ${klass}` : klass,
                is(FLAGS.notCalled) ? ', not called' : null)], marks));
        element.style.top = `${i * ROW}px`;
        (element.querySelector('.tname') || element).style.paddingLeft =
            `${indent(row.depth)}px`;
        if (this.needs) setRowWidth(element, rowNeeds(name, row.depth, marks.length), this.seen);
        element.ondragstart = (event) => {
            for (const type of ['text/plain', 'application/x-torchoscope-place'])
                event.dataTransfer.setData(type, full);
        };
        return element;
    }

    cells(row, name, marks) {
        return [...name, span('tail', marks, this.value(row))];
    }

    rowOf(event) {
        const element = event.target.closest('.row');
        return element ? Number(element.dataset.row) : -1;
    }

    click(event) {
        const i = this.rowOf(event);
        if (i < 0) return;
        this.at = i;
        if (event.target.closest('.ch') || this.rows[i].many > 1) this.toggle(i);
        else this.select(i);
    }

    select(i) { go({at: this.model.full(this.rows[i].place)}); }

    folded() {
        this.update();
        const names = this.folds.names();
        this.written = names;
        if (names) go({open: names}, 'replace');
    }

    toggle(i) {
        const row = this.rows[i];
        if (!row) return;
        this.at = i;
        if (row.many > 1) {
            this.folds.unfoldRun(row.place);
            this.update();
            return;
        }
        if (row.flat || !this.folds.hasChildren(row.place)) return;
        this.folds.fold('Space', row.place);
        this.folded();
    }

    moveTo(i, quiet) {
        if (i < 0 || i >= this.rows.length) return;
        this.at = i;
        const top = i * ROW, {scrollTop, clientHeight} = this.list;
        if (clientHeight && top < scrollTop) this.list.scrollTop = top;
        if (clientHeight && top + ROW > scrollTop + clientHeight - this.top)
            this.list.scrollTop = top + ROW - clientHeight + this.top;
        this.draw();
        if (!quiet && this.rows[i].many === 1)
            go({at: this.model.full(this.rows[i].place)}, 'replace');
    }

    right() {
        const row = this.rows[this.at];
        const isOpen = row.many === 1 && this.folds.open[row.place];
        if (isOpen || (row.many === 1 && !this.folds.hasChildren(row.place)))
            this.moveTo(this.at + (isOpen ? 1 : 0));
        else this.toggle(this.at);
    }

    left() {
        const row = this.rows[this.at], {place} = row;
        if (row.many === 1 && this.folds.open[place] && this.folds.hasChildren(place)) {
            this.toggle(this.at);
            return;
        }
        const above = this.model.parent[place];
        this.moveTo(this.rows.findIndex((one) => one.place === above));
    }

    bindKeys() {
        const page = () => max(1, floor(this.list.clientHeight / ROW) - 1);
        const to = (i) => this.moveTo(max(0, min(this.rows.length - 1, i)));
        const fold = (key) => {
            this.folds.fold(key, this.rows[this.at].place);
            this.folded();
        };
        const table = [
            [['Up', 'k'], 'row above', () => to(this.at - 1)],
            [['Down', 'j'], 'row below', () => to(this.at + 1)],
            [['Left', 'h'], 'fold, then to the row above it', () => this.left()],
            [['Right', 'l'], 'unfold, then to the first below', () => this.right()],
            [['PageUp'], 'a page up', () => to(this.at - page())],
            [['PageDown'], 'a page down', () => to(this.at + page())],
            [['Home', 'g'], 'first row', () => to(0)],
            [['End', 'G'], 'last row', () => to(this.rows.length - 1)],
            [['Enter'], 'select; on repeats: show them', () =>
                this.rows[this.at].many > 1 ? this.toggle(this.at) : this.select(this.at)],
            [['Space'], 'fold or unfold', () => this.toggle(this.at)],
            [['z'], 'fold or unfold the subtree', () => fold('z')],
            [['Z'], 'fold or unfold everything', () => fold('Z')],
            [['s'], 'fold or unfold the siblings', () => fold('s')],
            [['S'], 'the siblings and all below them', () => fold('S')],
            [['o'], 'fold or unfold all of this class', () => fold('o')],
            [['O'], 'all of this class and all below them', () => fold('O')],
        ];
        return table.map(([keys, what, run]) =>
            bind({keys, what, run: () => this.model ? run() : false, where: this.where,
                within: this.list}));
    }

    state(changed) {
        if (!this.model) return;
        if (changed.has('open') && !(this.written && state.open.join() === this.written.join()) &&
            state.open.length) this.folds.openOnly(state.open);
        if (changed.has('at')) this.reveal();
        else if (changed.has('panels') || changed.has('open') || changed.has('query'))
            this.update();
    }
}

export const tree = {
    id: 'tree',
    mount(stage) {
        const body = div('treebody'), made = new Tree(body);
        const {grip, close} = treeGrip(stage, () => made.needs + made.list.offsetWidth -
            made.list.clientWidth + 1);
        put(stage, body, grip);
        if (state.file) made.load(state.file);
        return {
            state: (changed) => changed.has('file') ? made.load(state.file) :
                made.state(changed),
            news: (file) => placesOf(file.id).then((model) => made.file !== file.id ||
                (model === made.model ? made.markAlarms() : made.take(model)), () => {}),
            close() {
                close();
                made.unbind.forEach((end) => end());
                made.sizes.disconnect();
            },
        };
    },
};
