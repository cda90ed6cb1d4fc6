/* search.js - the search field: modules, tensors and operations by name. */

import {ask} from './api.js';
import {div, el, icon, put, span} from './dom.js';
import {find, hitsOf} from './find.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {max} from './math.js';
import {places as placesOf} from './model.js';
import {go, state} from './state.js';
import {plural} from './text.js';

const FEW = 7; // of each group
const GROUPS = [['Modules', (kind) => kind === 'module' || kind === 'group'],
    ['Tensors', (kind) => kind === 'tensor' || kind === 'value']];

class Search {
    constructor(stage) {
        Object.assign(this, {stage, ops: null, at: -1, items: []});
        this.field = stage.querySelector('input');
        this.list = div({class: 'found off', id: 'found', role: 'listbox',
            aria: {label: 'Found'}});
        stage.append(this.list);
        this.field.role = 'combobox';
        const set = (key, text) => this.field.setAttribute(`aria-${key}`, text);
        set('controls', 'found');
        set('expanded', 'false');
        this.field.value = state.query;
        this.field.oninput = () => {
            clearTimeout(this.timer);
            this.timer = setTimeout(() => this.type(), 80);
        };
        this.field.onfocus = () => this.field.value && this.type();
        this.field.addEventListener('keydown', (event) => this.key(event));
        stage.addEventListener('focusout', (event) => stage.contains(event.relatedTarget) ||
            this.close());
        const key = (keys, what, by) => bind({keys, what, where: 'Page', run: () =>
            this.step(by)});
        this.unbind = [key(['n'], 'next match', 1), key(['N'], 'match before', -1)];
    }

    async type() {
        const text = this.field.value.trim();
        go({query: text}, 'replace');
        if (!text) {
            this.close();
            return;
        }
        try {
            const model = await placesOf(state.file);
            if (text === this.field.value.trim() && this.stage.contains(document.activeElement))
                this.show(model, text, find(model, text));
        } catch (error) {
            this.open([div({class: 'bad', role: 'alert'}, error.message)]);
        }
    }

    show(model, text, {list, inverse}) {
        const parts = [];
        this.items = [];
        const add = (name, about, changes) => {
            const item = el('button', {role: 'option', tabIndex: -1,
                id: `found${this.items.length}`, onclick: () => this.choose(changes)},
            el('b', 'cut', name), span('dim3 cut grow', about));
            this.items.push(item);
            return item;
        };
        const group = (title, n, items) => n && parts.push(div('head',
            plural(n, title.slice(0, -1).toLowerCase())), items, n > items.length ?
            div('head', `and ${plural(n - items.length, 'more', 'more')}`) : '');
        for (const [title, is] of GROUPS) {
            const some = list.filter((i) => is(model.kind(i)));
            group(title, some.length, some.slice(0, FEW).map((i) => add(model.full(i),
                `${model.klass(i)} ${model.text(model.rows.args?.[i])}`, {at: model.full(i)})));
        }
        const ops = inverse ? [] : this.opsOf(text);
        group('Ops', ops?.length, ops?.slice(0, FEW).map(({name, place}) => add(name,
            `in ${model.full(place) || 'the model'}`, {at: model.full(place)})));
        if (!this.items.length) parts.push(div({class: 'head', role: 'status'},
            'No module, tensor or op matches ', el('b', null, text),
            ` in ${plural(model.kinds.filter((one) => GROUPS[0][1](model.rows.kinds[one])).length,
                'module')}.`));
        if (!ops && files.get(state.file)?.has.includes('ops')) parts.push(el('button',
            {class: 'link', onclick: () => this.loadOps()}, icon('search'),
            'Search operations too'));
        this.at = -1;
        this.open(parts.flat());
    }

    /** Operations by name and place; null: not requested yet. */
    opsOf(text) {
        if (this.ops?.file !== state.file) return null;
        return this.ops.list.filter(({name}) => name.toLowerCase().includes(text.toLowerCase()));
    }

    async loadOps() {
        const {file} = state;
        try {
            const {boxes, kinds, texts} = await ask('timeline', {file}), made = new Map();
            boxes.name.forEach((at, i) => {
                if (kinds[boxes.kind[i]] !== 'op') return;
                made.set(`${at} ${boxes.place[i]}`, {name: texts[at], place: boxes.place[i] ?? 0});
            });
            this.ops = {file, list: [...made.values()]};
            this.field.focus();
            this.type();
        } catch (error) {
            this.open([div({class: 'bad', role: 'alert'}, error.message)]);
        }
    }

    choose(changes) {
        this.close();
        go(changes);
        this.field.blur();
    }

    open(parts) {
        put(this.list, ...parts);
        this.list.className = 'menu float found';
        this.field.ariaExpanded = 'true';
    }

    close() {
        this.list.className = 'found off';
        this.field.ariaExpanded = 'false';
    }

    key(event) {
        const by = {ArrowDown: 1, ArrowUp: -1}[event.key], n = this.items.length;
        if (event.key === 'Escape') {
            this.close();
            if (!this.field.value) go({query: ''}, 'replace');
        } else if (event.key === 'Enter' && n) this.items[max(0, this.at)].click();
        else if (by && n) {
            this.items[this.at]?.classList.remove('on');
            this.at = (this.at + by + n) % n;
            this.items[this.at].classList.add('on');
            this.field.setAttribute('aria-activedescendant', this.items[this.at].id);
            event.preventDefault();
        }
    }

    /** The next or previous match from the selected place. */
    step(by) {
        if (!state.query) return false;
        placesOf(state.file).then((model) => {
            const {list} = hitsOf(model, state.query) || {list: []}, at = model.find(state.at);
            const next = by > 0 ? list.find((i) => i > at) ?? list[0] :
                list.findLast((i) => i < at) ?? list.at(-1);
            if (next !== undefined) go({at: model.full(next)});
        }, () => {});
        return true;
    }
}

export const search = {
    id: 'search',
    mount(stage) {
        const made = new Search(stage);
        return {
            state(changed) {
                if (changed.has('query') && document.activeElement !== made.field)
                    made.field.value = state.query;
            },
            news() {},
            close: () => made.unbind.forEach((end) => end()),
        };
    },
};
