/* overview_keys.js - the keys of the overview. */

import {columnOf} from './axis.js';
import {copyText, toast} from './dom.js';
import {bind} from './keys.js';
import {KINDS} from './overview_data.js';
import {goTo, worstAlarms} from './overview_strip.js';
import {LETTERS, rowName} from './overview_table.js';
import {go, state} from './state.js';
import {plain} from './text.js';

function copy(view) {
    const row = view.rows[view.at], {text} = view.step.document || {};
    const numbers = KINDS.map((kind) =>
        `${kind.head} ${plain(view.step.show(kind, row.members).text)}`);
    copyText([view.model.full(row.place) || rowName(view, row), text, ...numbers].join('\t'));
}

function nextAlarm(view) {
    const list = worstAlarms(view.training).sort((a, b) => a.step - b.step);
    const at = list.findIndex((one) => one.step === state.step && one.name === state.at);
    if (list.length) goTo(list[(at + 1) % list.length]);
    else toast('No alarm');
}

function cellBy(view, by) {
    const {columns, n} = view.modules, i = columnOf(columns, view.now()) + by;
    if (n) go({step: columns.last[Math.max(0, Math.min(n - 1, i))]}, 'replace');
}

export function bindKeys(view) {
    const page = () => Math.max(1, Math.floor(view.table.clientHeight / view.high()) - 3);
    const row = () => view.rows[view.at], move = (by) => view.moveTo(view.at + by);
    const rows = [
        [['Up', 'k'], 'row above', () => move(-1)], [['Down', 'j'], 'row below', () => move(1)],
        [['PageUp'], 'a page up', () => move(-page())],
        [['PageDown'], 'a page down', () => move(page())],
        [['Home'], 'first row', () => move(-Infinity)],
        [['End'], 'last row', () => move(Infinity)],
        [['Left'], 'one cell back', () => cellBy(view, -1)],
        [['Right'], 'one cell forward', () => cellBy(view, 1)],
        [['Enter'], 'open in the next panel', () => view.enter(row())],
        [['Space'], 'fold or unfold', () => view.toggle(row())],
        [['y'], 'copy the row', () => copy(view)],
        [[...'zZsSoO'], 'fold: subtree, all, siblings, class', (event, key) =>
            view.fold(key, row().place)],
        [[...LETTERS], 'open in this panel', (event, key) => row().many === 1 &&
            view.open(view.model.full(row().place), LETTERS.indexOf(key))],
    ].map((one) => [...one, view.table]);
    const sorts = [...KINDS.map((one) => [`i ${one.key}`, one.id, one.sort]),
        ['i n', 'name', 'name'], ['i x', '', 'model order']].map(([key, id, text]) =>
        [[key], `order: ${text}`, () => view.sortBy(id)]);
    const all = [[['0'], 'all steps', () => go({from: null, to: null})],
        [['!'], 'next alarm', () => nextAlarm(view)], ...sorts, ...rows];
    return all.map(([keys, what, run, within]) => bind({keys, what, within,
        where: 'Overview', run: (...to) => view.modules ? run(...to) : false}));
}
