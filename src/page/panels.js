/* panels.js - the columns A to E at the right; in narrow windows a sheet with tabs. */

import {button, div, el, put, span} from './dom.js';
import {bind} from './keys.js';
import {files, onConnection} from './live.js';
import {abs, max, min} from './math.js';
import {places} from './model.js';
import {Panel} from './panel.js';
import {FREE, LETTERS, openPanel, selectedName, slots} from './slots.js';
import {go, state} from './state.js';

const SHEETS = ['closed', 'half', 'full'];
const DATA = ['axis', 'clip', 'log', 'from', 'to']; // change the histograms
const narrow = matchMedia('(max-width:719px)');

class Panels {
    constructor(stage) {
        this.stage = stage;
        this.panels = [...LETTERS].map((_, i) => new Panel(i, () => this.closeFree(i)));
        this.tabs = div({class: 'ptabs', role: 'tablist', aria: {label: 'Panels'}});
        this.handle = button({label: 'Height of the panels', class: 'ghost grip', icon: 'more',
            onpointerdown: (event) => this.grip(event),
            onkeydown: ({key}) => /^(Enter| )$/.test(key) && this.sheet(1, true)});
        this.target = div('drop');
        this.hint = true; // an empty slot is shown beside the graph
        this.current = 0; // of the sheet
        stage.dataset.sheet = 'half';
        const drag = {dragstart: (event) => this.dragStart(event), dragend: () => this.dragEnd(),
            dragover: (event) => this.drag(event), drop: (event) => this.drag(event, true)};
        for (const [name, run] of Object.entries(drag)) addEventListener(name, run);
        const resized = () => this.show();
        narrow.addEventListener('change', resized);
        const ends = [bind({keys: [...LETTERS], where: 'Panels', what:
            'go to it; empty, or again: what is selected', run: (_, key) =>
            this.letter(LETTERS.indexOf(key))}),
        bind({keys: ['x'], where: 'Panels', what: 'logarithmic axis', within: stage,
            run: () => go({log: !state.log})}),
        onConnection(() => this.open().forEach((one) => one.showFoot()))];
        this.close = () => {
            for (const [name, run] of Object.entries(drag)) removeEventListener(name, run);
            narrow.removeEventListener('change', resized);
            ends.forEach((end) => end());
        };
    }

    /** The visible panels. */
    open() {
        return this.panels.filter((one) => one.element.isConnected);
    }

    /** The number of slots shown as columns. */
    count() {
        if (state.panels.length) return min(5, state.panels.length);
        return this.hint && files.get(state.file)?.has.includes('history') &&
            state.view === 'graph' && innerWidth >= 1200 ? 1 : 0;
    }

    show() {
        const n = this.count(), names = slots(), at = this.sheetSlot(names);
        const shown = this.panels.filter(({slot}) => narrow.matches ? n && slot === at : slot < n);
        const nodes = shown.map((one) => one.element);
        if (n && narrow.matches) nodes.unshift(this.sheetHead(names, at));
        if (nodes.length !== this.stage.children.length || nodes.some((one, i) =>
            one !== this.stage.children[i])) put(this.stage, ...nodes);
        shown.forEach((one) => one.show(names[one.slot]));
    }

    /* ---- the sheet */

    sheetSlot(names) {
        return names[this.current] !== FREE ? this.current : names.findIndex((one) => one !== FREE);
    }

    sheetHead(names, at) {
        const used = [...names.keys()].filter((i) => names[i] !== FREE);
        put(this.tabs, ...used.map((i, k) => el('button', {role: 'tab',
            tabIndex: i === at ? 0 : -1, class: i === at ? 'on' : '', aria: {selected: i === at},
            style: {'--pc': `var(--p-${LETTERS[i].toLowerCase()})`}, onclick: () => this.tab(i),
            onkeydown: ({key}) => {
                const by = {ArrowLeft: -1, ArrowRight: 1}[key];
                if (!by) return;
                this.tab(used[(k + by + used.length) % used.length]);
                this.tabs.querySelector('.on').focus();
            }}, span({class: 'badge', data: {panel: LETTERS[i]}}, LETTERS[i]),
        names[i].split(/[.:]/).at(-1) || 'model')));
        return this.head = this.head || div('phead', this.handle, this.tabs);
    }

    tab(i) {
        this.current = i;
        if (this.stage.dataset.sheet === 'closed') this.sheet(1);
        this.show();
    }

    /** The next size up or down; round: the largest is followed by the smallest. */
    sheet(by, round) {
        const at = SHEETS.indexOf(this.stage.dataset.sheet) + by;
        this.stage.dataset.sheet = SHEETS[round ? (at + 3) % 3 : max(0, min(2, at))];
    }

    grip({clientY, pointerId}) {
        this.handle.setPointerCapture(pointerId);
        this.handle.onpointerup = (event) => {
            const by = clientY - event.clientY;
            this.sheet(by < -12 ? -1 : 1, abs(by) <= 12);
        };
    }

    /* ---- slots */

    /** Closes an empty slot; the following ones move up. */
    closeFree(slot) {
        this.hint = false;
        if (state.panels.length) go({panels: state.panels.filter((_, i) => i !== slot)});
        else this.show();
    }

    /** The key of a panel: focuses it, or opens the selected module in it. */
    letter(slot) {
        const {element} = this.panels[slot], name = slots()[slot], at = selectedName();
        const again = element.contains(document.activeElement) && at !== name;
        this.current = slot;
        if (at !== null && (name === FREE || again)) {
            openPanel(at, slot);
        } else if (name !== FREE) {
            this.show();
            element.focus();
            element.scrollIntoView({block: 'nearest', inline: 'nearest'});
        } else return false;
        return true;
    }

    /* ---- dragging */

    dragStart({target, dataTransfer}) {
        this.dragging = target.nodeType === 1 && files.has(state.file) &&
            [...dataTransfer.types].includes('text/plain');
        this.free = slots().indexOf(FREE);
        if (!this.dragging || this.free < 0 || this.free < this.count()) return;
        const letter = LETTERS[this.free]; // a column to drop on, over the view
        this.target.style.right = `${narrow.matches ? 0 : this.stage.offsetWidth}px`;
        put(this.target, el('b', null, `Drop to open in panel ${letter}`),
            span(null, `or press ${letter}`));
        setTimeout(() => this.dragging && this.stage.after(this.target));
    }

    dragEnd() {
        this.dragging = false;
        this.mark(null);
        this.target.remove();
    }

    async drag(event, drop) {
        const over = this.dragging && event.target.closest?.('.panel,.drop');
        this.mark(over);
        if (!over) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
        if (!drop) return;
        const name = event.dataTransfer.getData('text/plain');
        this.dragEnd();
        const model = await places(state.file);
        if (model.locate(name).place >= 0) openPanel(name, over === this.target ?
            this.free : this.panels.findIndex((one) => one.element === over));
    }

    mark(over) {
        for (const one of [...this.panels.map(({element}) => element), this.target])
            one.classList.toggle('over', one === over);
    }

    state(changed) {
        if (['panels', 'file', 'view'].some((key) => changed.has(key))) this.show();
        if (DATA.some((key) => changed.has(key))) this.open().forEach((one) => one.load());
        else if (changed.has('step')) this.open().forEach((one) => one.moved());
    }
}

/** Opens or closes the sheet of narrow windows. */
export function toggleSheet() {
    const {dataset} = document.querySelector('.panels');
    dataset.sheet = dataset.sheet === 'closed' ? 'half' : 'closed';
}

export const panels = {
    id: 'panels',
    mount(stage) {
        const made = new Panels(stage);
        made.show();
        return {
            state: (changed) => made.state(changed),
            news: (file) => made.open().forEach((one) => one.news(file)),
            close: made.close,
        };
    },
};
