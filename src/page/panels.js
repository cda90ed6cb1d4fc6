/* panels.js - the columns A to E at the right; in narrow windows a sheet with tabs. */

import {button, el} from './dom.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {places} from './model.js';
import {Panel} from './panel.js';
import {FREE, LETTERS, openPanel, slots} from './slots.js';
import {go, state} from './state.js';

const SHEETS = ['closed', 'half', 'full'];
const narrow = matchMedia('(max-width:719px)');
/* What changes the histograms. */
const DATA = ['axis', 'clip', 'log', 'from', 'to'];

class Panels {
    constructor(stage) {
        this.stage = stage;
        this.panels = [...LETTERS].map((_, i) => new Panel(i));
        this.tabs = el('div', {class: 'ptabs', role: 'tablist', aria: {label: 'Panels'}});
        this.target = el('div', 'drop off');
        this.hint = true; // an empty slot is shown if there is no panel
        this.current = 0; // of the sheet
        for (const panel of this.panels) panel.onclose = () => this.closeEmpty(panel);
        stage.dataset.sheet = 'half';
        this.handle = button({label: 'Height of the panels', class: 'ghost grip', icon: 'more'});
        this.handle.onpointerdown = (event) => this.grip(event);
        this.handle.onkeydown = (event) => /^(Enter| )$/.test(event.key) && this.sheet(1, true);
        this.ends = [
            bind({keys: [...LETTERS].map((letter) => letter), where: 'Panels', what:
                'go to it; empty, or again: the selected module', run: (event, key) =>
                this.letter(LETTERS.indexOf(key))}),
            bind({keys: ['x'], where: 'Panels', what: 'logarithmic axis', within: stage,
                run: () => go({log: !state.log})}),
        ];
        this.drags();
        narrow.addEventListener('change', this.again = () => this.show());
    }

    /** How many slots are columns now. */
    count() {
        const file = files.get(state.file);
        if (state.panels.length) return Math.min(5, state.panels.length);
        return this.hint && file && file.has.includes('history') && state.view === 'graph' &&
            innerWidth >= 1200 ? 1 : 0;
    }

    show() {
        const n = this.count(), names = slots();
        const shown = narrow.matches ? this.panels.slice(0, n).filter((one, i) =>
            i === this.sheetSlot()) : this.panels.slice(0, n);
        shown.forEach((panel) => panel.show(names[panel.slot]));
        const nodes = shown.map((panel) => panel.element);
        if (n && narrow.matches) nodes.unshift(this.showTabs(n, names));
        if (nodes.some((one, i) => one !== this.stage.children[i]) ||
            nodes.length !== this.stage.children.length) this.stage.replaceChildren(...nodes);
        document.body.classList.toggle('haspanels', n > 0);
    }

    sheetSlot() {
        const names = slots();
        return names[this.current] !== FREE ? this.current : names.findIndex((one) => one !== FREE);
    }

    showTabs(n, names) {
        const at = this.sheetSlot();
        this.tabs.replaceChildren(...names.slice(0, n).map((name, i) => name === FREE ? null :
            el('button', {type: 'button', role: 'tab', tabIndex: i === at ? 0 : -1,
                class: i === at ? 'on' : '', style: {'--pc': `var(--p-${LETTERS[i].toLowerCase()})`},
                aria: {selected: String(i === at)}, onclick: () => this.tab(i),
                onkeydown: (event) => this.tabKey(event, i)},
            el('span', {class: 'badge', data: {panel: LETTERS[i]}}, LETTERS[i]),
            name.slice(name.lastIndexOf('.') + 1) || 'model')).filter(Boolean));
        return el('div', 'phead', this.handle, this.tabs);
    }

    tab(i) {
        this.current = i;
        if (this.stage.dataset.sheet === 'closed') this.stage.dataset.sheet = 'half';
        this.show();
    }

    tabKey(event, i) {
        const by = {ArrowLeft: -1, ArrowRight: 1}[event.key];
        if (!by) return;
        event.preventDefault();
        const all = [...LETTERS].keys().filter((k) => slots()[k] !== FREE).toArray();
        this.tab(all[(all.indexOf(i) + by + all.length) % all.length]);
        this.tabs.querySelector('.on').focus();
    }

    /** One size up or down; round: from the largest to the smallest. */
    sheet(by, round) {
        const at = SHEETS.indexOf(this.stage.dataset.sheet) + by, n = SHEETS.length;
        this.stage.dataset.sheet = SHEETS[round ? (at + n) % n : Math.max(0, Math.min(n - 1, at))];
    }

    grip(event) {
        const from = event.clientY;
        this.handle.setPointerCapture(event.pointerId);
        this.handle.onpointerup = ({clientY}) => {
            const by = from - clientY;
            this.sheet(by < 0 && by < -12 ? -1 : 1, Math.abs(by) <= 12);
        };
    }

    closeEmpty(panel) {
        const list = [...state.panels];
        list.splice(panel.slot, 1); // those behind it move up
        this.hint = false;
        if (state.panels.length) go({panels: list});
        else this.show();
    }

    /** The key of a panel: goes to it, or opens the selected module in it. */
    letter(slot) {
        const panel = this.panels[slot], name = slots()[slot], {at} = state;
        const inside = panel.element.contains(document.activeElement);
        if (name !== FREE && (!inside || at === name || at === null)) {
            this.current = slot;
            this.show();
            panel.element.focus();
            panel.element.scrollIntoView({block: 'nearest', inline: 'nearest'});
            return true;
        }
        if (at === null || !files.has(state.file)) return false;
        this.current = slot;
        openPanel(at, slot);
        return true;
    }

    /* ---- dragging ---- */

    drags() {
        const over = (event) => {
            const slot = this.slotOf(event.target);
            this.mark(slot);
            if (slot === null) return;
            event.preventDefault();
            event.dataTransfer.dropEffect = 'copy';
        };
        const end = () => {
            this.dragging = false;
            this.mark(null);
            this.target.remove();
        };
        const drop = (event) => {
            const slot = this.slotOf(event.target);
            if (slot === null) return;
            event.preventDefault();
            const name = event.dataTransfer.getData('text/plain');
            end();
            this.dropped(name, slot);
        };
        const start = (event) => {
            this.dragging = [...event.dataTransfer.types].includes('text/plain') &&
                !(event.target.nodeType === 3) && files.has(state.file);
            if (this.dragging) setTimeout(() => this.offer());
        };
        for (const [name, run] of Object.entries({dragstart: start, dragover: over, drop,
            dragend: end})) {
            addEventListener(name, run);
            this.ends.push(() => removeEventListener(name, run));
        }
    }

    slotOf(target) {
        const element = this.dragging && target.closest?.('.panel,.drop');
        if (!element) return null;
        return element === this.target ? this.free : this.panels.findIndex((one) =>
            one.element === element);
    }

    /** A column to drop on, over the view, while something is dragged. */
    offer() {
        this.free = slots().indexOf(FREE);
        if (!this.dragging || this.free < 0 || this.free < this.count()) return;
        const letter = LETTERS[this.free];
        this.target.className = 'drop';
        this.target.replaceChildren(el('b', null, `Drop to open in panel ${letter}`),
            el('span', null, `or press ${letter}`));
        this.target.style.right = `${this.stage.offsetWidth}px`;
        this.stage.after(this.target);
    }

    mark(slot) {
        for (const panel of this.panels) panel.element.classList.toggle('over',
            panel.slot === slot);
        this.target.classList.toggle('over', slot !== null && slot === this.free);
    }

    async dropped(name, slot) {
        const model = await places(state.file);
        if (model.find(name) >= 0) openPanel(name, slot);
    }

    state(changed) {
        if (['panels', 'file', 'view'].some((key) => changed.has(key))) this.show();
        const open = this.panels.filter((one) => one.element.isConnected);
        if (DATA.some((key) => changed.has(key))) open.forEach((one) => one.load());
        else if (changed.has('step')) open.forEach((one) => one.moved());
    }

    news(file) {
        for (const panel of this.panels) if (panel.element.isConnected) panel.news(file);
    }
}

/** Opens or closes the sheet of narrow windows. */
export function toggleSheet() {
    const stage = document.querySelector('.panels');
    stage.dataset.sheet = stage.dataset.sheet === 'closed' ? 'half' : 'closed';
}

export const panels = {
    id: 'panels',
    mount(stage) {
        const made = new Panels(stage);
        made.show();
        return {
            state: (changed) => made.state(changed),
            news: (file) => made.news(file),
            close: () => made.ends.forEach((end) => end()),
        };
    },
};
