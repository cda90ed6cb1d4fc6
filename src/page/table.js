/* table.js - the tree with columns, which can be sorted, filtered and flattened. */

import {copyable} from './actions.js';
import {ask} from './api.js';
import {button, div, el, icon, menu, put, seg, span} from './dom.js';
import {textWidth} from './draw.js';
import {find, keepOf} from './find.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {ceil, max, min, round} from './math.js';
import {FLAGS, places as placesOf} from './model.js';
import {go, state} from './state.js';
import {NONE, bytes, count, csv, plain, plural, time} from './text.js';
import {ROW, Tree} from './tree.js';
import {TreeRows} from './tree_rows.js';

const HEAD = 30, LETTER = textWidth('0') * 12 / 11, FIRST = 300, NARROW = 200; // px
const FLAT = [['', 'Tree'], ['leaves', 'Leaves'], ['tensors', 'Tensors']];
/* The keys after i, as in the terminal. */
const SORTS = {x: '', n: 'name', p: 'params', m: 'memory', r: 'time', s: 'self', c: 'calls',
    f: 'flops', o: 'ops', g: 'grad', u: 'update', w: 'weight', z: 'zeros', '!': 'nan'};
const AT_STEP = ['grad', 'update', 'weight', 'dead']; // columns of numbers of a step
const UNITS = {count: (n) => count(round(n)), bytes, time};
const natural = new Intl.Collator('en', {numeric: true});

class Table extends Tree {
    constructor(stage) {
        super(stage, {id: 'cell', role: 'treegrid', label: 'Table', top: 2 * HEAD});
        this.header = div({class: 'trow thead', role: 'row'});
        this.foot = div({class: 'trow tfoot', role: 'row'});
        this.list.classList.add('table');
        this.list.prepend(this.header);
        this.list.append(this.foot);
        this.says = span({class: 'bad', role: 'status'});
        this.field = el('input', {type: 'search', class: 'field', placeholder: 'Filter',
            title: 'text, glob*, /regex/; !PATTERN: all others', value: state.filter,
            spellcheck: false, aria: {label: 'Filter'}, oninput: () => {
                clearTimeout(this.timer);
                this.timer = setTimeout(() => go({filter: this.field.value}, 'replace'), 120);
            }});
        this.flat = span();
        const columns = menu(button({text: 'Columns', class: 'ghost'}), () => this.items());
        columns.append(icon('down'));
        this.when = span('dim3');
        this.bar = div('viewbar', this.field, this.says, span('grow'), this.when, this.flat,
            columns);
        this.unbind.push(copyable(() => [{text: 'CSV', detail: 'the rows of the table',
            value: () => this.csv()}]), bind({keys: Object.keys(SORTS).map((key) => `i ${key}`),
            where: 'Table', what: 'sort: name, params, memory, time \u2026; x: not', run:
                (_, both) => this.sort(SORTS[both[2]])}));
    }

    /** The columns of the address, or the default ones; requests their cells. */
    async columnsOf(model) {
        const wanted = state.columns ? state.columns.split(',') : model.columns.filter((one) =>
            one.text).map((one) => one.id);
        if (state.sort && state.sort !== 'name' && !wanted.includes(state.sort))
            wanted.push(state.sort);
        const known = wanted.filter((id) => model.column(id)), file = files.get(this.file);
        const step = file.has.includes('history') ? state.step ?? file.step : null;
        const isAtStep = (id) => step !== null && AT_STEP.includes(id);
        const missing = known.filter((id) => !model.column(id).text ||
            (isAtStep(id) && model.column(id).step !== step));
        await this.fetch(model, missing.filter((id) => !isAtStep(id)), null);
        await this.fetch(model, missing.filter(isAtStep), step);
        return known.map((id) => model.column(id)).filter((one) => one.text);
    }

    /** Requests cells of columns. A column without numbers at a step becomes empty. */
    async fetch(model, ids, step) {
        if (!ids.length) return;
        const more = await ask('rows', {file: this.file, columns: ids.join(','), step});
        const none = {text: [], number: null, run_text: [], run_number: null};
        for (const id of ids)
            Object.assign(model.column(id), step === null ? null : none,
                more.columns.find((one) => one.id === id), {texts: more.texts, step,
                    shows: more.step?.last});
    }

    async take(model) {
        const before = this.model === model ? this.folds.open : null;
        const columns = await this.columnsOf(model);
        Object.assign(this, {model, columns});
        if (!this.list.isConnected) put(this.stage, this.bar, this.list);
        this.filter(before);
        this.heads();
        this.reveal();
        this.markAlarms();
    }

    /** The cursor moved: requests the numbers of its step. */
    follow() {
        clearTimeout(this.waits);
        this.waits = setTimeout(async () => {
            const {model} = this, columns = await this.columnsOf(model).catch(() => null);
            if (!columns || this.model !== model) return;
            this.columns = columns;
            this.heads();
            this.update();
        }, 150);
    }

    filter(open) {
        const {model} = this;
        let keep = null;
        this.says.textContent = '';
        try {
            keep = state.filter ? keepOf(model, state.filter) : null;
        } catch (error) {
            this.says.textContent = error.message;
        }
        this.keep = keep;
        this.folds = new TreeRows(model, (i) => i === 0 || (!model.has(i, FLAGS.hidden) &&
            (!keep || keep[i] > 0)));
        if (open) this.folds.open.set(open);
        else if (state.open.length) this.folds.openOnly(state.open);
        keep?.forEach((one, i) => { if (one & 2) this.folds.open[i] = 1; });
    }

    compare() {
        const {model} = this, turn = state.reverse ? -1 : 1, column = model.column(state.sort);
        if (state.sort === 'name') return (a, b) => turn *
            natural.compare(model.name(a), model.name(b));
        if (!column?.text) return this.keep ? (a, b) => a - b : null;
        const {number} = column, far = -Infinity;
        if (number) return (a, b) => ((number[b] ?? far) - (number[a] ?? far) || 0) * turn || a - b;
        return (a, b) => turn * natural.compare(model.cell(column, a), model.cell(column, b)) ||
            a - b;
    }

    visible(apart) {
        const {model, keep} = this, compare = this.compare(), tensors = state.flat === 'tensors';
        if (!state.flat) return this.folds.visible(apart, compare);
        const list = [];
        for (let i = 1; i < model.n; i++) {
            const kind = model.kind(i), isLeaf = tensors ? kind === 'tensor' :
                kind !== 'tensor' && kind !== 'value' && !model.below(i).some((k) =>
                    model.isModule(k) || model.kind(k) === 'group');
            if (isLeaf && (!keep || keep[i] & 1)) list.push(i);
        }
        return (compare ? list.sort(compare) : list).map((place) => ({place, depth: 0, many: 1,
            last: place, flat: true}));
    }

    fit() {} // its columns have their own widths

    update() {
        super.update();
        if (this.model) this.total();
    }

    /** Updates widths, heads and switches. */
    heads() {
        const {columns, model} = this, texts = new Map();
        const wide = columns.map((column) => {
            const list = column.texts || model.rows.texts, used = new Set(column.text);
            let most = column.title.length + 2;
            for (const at of used) most = max(most, min(34, list[at]?.length ?? 0));
            texts.set(column, most);
            return ceil(most * LETTER) + 18;
        });
        const most = innerWidth < 720 ? NARROW : FIRST;
        this.list.style.setProperty('--cols', `minmax(${most}px,1fr) ${wide.map((one) =>
            `${one}px`).join(' ')}`);
        this.list.style.setProperty('--wide', `${wide.reduce((a, b) => a + b, most)}px`);
        const head = (id, text, about, right) => {
            const now = (state.sort || '') === id && id;
            return div({role: 'columnheader', class: right ? 'num' : '', aria: {sort: now ?
                state.reverse === (id === 'name') ? 'descending' : 'ascending' : null}},
            el('button', {class: `bare ${now ? 'now' : ''}`, title: about,
                onclick: () => this.sort(id)}, text, now ? icon('down') : null));
        };
        this.header.classList.toggle('up', state.reverse);
        put(this.header, head('name', 'Name', 'name', false), ...columns.map((one) =>
            head(one.id, one.title, one.about, one.right)));
        put(this.flat, seg('Rows', FLAT.map(([id, name]) => [name, id === state.flat, () =>
            go({flat: id})])));
        const {shows} = columns.find((one) => AT_STEP.includes(one.id) && one.shows >= 0) || {};
        this.when.textContent = shows === undefined ? '' : `numbers of step ${shows}`;
        if (document.activeElement !== this.field) this.field.value = state.filter;
    }

    cells(row, name, marks) {
        return [div({class: 'tname', role: 'rowheader'}, name, marks), ...this.columns.map((one) => {
            const text = this.model.cell(one, row.place, row.many > 1 &&
                this.model.runs.get(row.place)) || NONE;
            return div({role: 'gridcell', class: `${one.right ? 'num' : 'cut'} ` +
                `${/^(NaN|[+\u2212]?Inf)/.test(text) ? 'bad' : ''}`}, one.whole ? this.value(row, one) : text);
        })];
    }

    /** Sorts; a second click reverses the order, a third one restores model order. */
    sort(id) {
        if (id && id !== 'name' && !this.model?.column(id)) return;
        if (id !== state.sort) go({sort: id, reverse: false});
        else if (state.reverse) go({sort: '', reverse: false});
        else go({reverse: true});
    }

    items() {
        const shown = this.columns.map((one) => one.id);
        return [{text: 'The usual ones', off: !state.columns, run: () => go({columns: ''})},
            'line', ...this.model.columns.map((one) => ({text: one.title, detail: one.about,
                icon: shown.includes(one.id) ? 'check' : null, run: () => go({columns:
                    (shown.includes(one.id) ? shown.filter((id) => id !== one.id) :
                        [...shown, one.id]).join(',')})}))];
    }

    /** Totals of the model, or of the matches that are not below another match. */
    total() {
        const {model, columns, keep} = this, some = keep || state.flat;
        const rows = state.flat ? this.rows.map((row) => row.place) : keep ?
            find(model, state.filter).list.filter((i) => !(keep[model.parent[i]] & 1)) : [];
        const sum = ({number, kind}) => number && UNITS[kind] ?
            UNITS[kind](rows.reduce((all, i) => all + (number[i] ?? 0), 0)) : '';
        const [n, ...words] = state.flat === 'leaves' ? [rows.length, 'leaf', 'leaves'] :
            state.flat ? [rows.length, 'tensor'] :
                keep ? [find(model, state.filter).list.length, 'match', 'matches'] :
                    [model.kinds.filter((one) => model.rows.kinds[one] === 'module').length,
                        'module'];
        put(this.foot, div({class: 'tname', role: 'rowheader'}, plural(n, ...words)),
            ...columns.map((one) => div({role: 'gridcell', class: one.right ? 'num' : ''},
                some ? sum(one) : one.whole ? model.cell(one, 0) : '')));
    }

    csv() {
        const {columns, model} = this, lines = [['name', ...columns.map((one) => one.id)]];
        for (const {place, many} of this.rows)
            for (let k = 0, i = place; k < many; k++, i = model.end[i])
                lines.push([model.full(i), ...columns.map((one) => {
                    const text = plain(model.cell(one, i));
                    return one.number?.[i] ?? (text === NONE ? '' : text);
                })]);
        return csv(lines);
    }

    state(changed) {
        if (['columns', 'sort', 'reverse', 'filter', 'flat'].some((key) => changed.has(key)) &&
            this.model) {
            const {model} = this;
            this.columnsOf(model).then((columns) => {
                if (this.model !== model) return;
                this.columns = columns;
                if (changed.has('filter')) this.filter(null);
                this.heads();
                this.reveal();
            });
        } else super.state(changed);
        if (changed.has('step') && this.model) this.follow();
    }
}

export const table = {
    id: 'table', title: 'Table', icon: 'table', wide: true,
    fits: () => true,
    mount(stage) {
        const made = new Table(stage);
        made.load(state.file);
        return {
            state: (changed) => made.state(changed),
            news: (file) => placesOf(file.id).then((model) => {
                if (model !== made.model) return made.take(model);
                made.follow();
                return made.markAlarms();
            }, () => {}),
            close() {
                clearTimeout(made.waits);
                made.unbind.forEach((end) => end());
                made.sizes.disconnect();
            },
        };
    },
};
