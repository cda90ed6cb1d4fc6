/* overview_keys.js - the keys of the overview (`view`). */

import {columnOf} from './axis.js';
import {copyText, toast} from './dom.js';
import {bind} from './keys.js';
import {floor, max, min} from './math.js';
import {KINDS} from './overview_data.js';
import {goTo, worstAlarms} from './overview_strip.js';
import {LETTERS, rowName} from './overview_table.js';
import {go, state} from './state.js';
import {plain} from './text.js';

function copy({step, rows, at, model}, view) {
    const row = rows[at], numbers = KINDS.map((kind) =>
        `${kind.head} ${plain(step.show(kind, row.members).text)}`);
    copyText([model.full(row.place) || rowName(view, row), step.document.text, ...numbers]
        .join('\t'));
}

function nextAlarm({training}) {
    const list = worstAlarms(training).sort((a, b) => a.step - b.step);
    const at = list.findIndex((one) => one.step === state.step && one.name === state.at);
    if (list.length) goTo(list[(at + 1) % list.length]);
    else toast('No alarm');
}

function cellBy(view, by) {
    const {columns, n} = view.modules, i = columnOf(columns, view.now()) + by;
    if (n) go({step: columns.last[max(0, min(n - 1, i))]}, 'replace');
}

/** Returns functions that remove them. */
export function bindKeys(view) {
    const page = () => max(1, floor(view.table.clientHeight / view.high()) - 3);
    const row = () => view.rows[view.at], move = (by) => view.moveTo(view.at + by);
    const ends = [
        [['0'], 'all steps', () => go({from: null, to: null})],
        [['!'], 'next alarm', () => nextAlarm(view)],
        ...[...KINDS, {key: 'n', id: 'name', sort: 'name'}, {key: 'x', id: '',
            sort: 'model order'}].map(({key, id, sort}) => [[`i ${key}`], `order: ${sort}`,
            () => view.sortBy(id)]),
    ];
    const inside = [
        [['Up', 'k'], 'row above', () => move(-1)], [['Down', 'j'], 'row below', () => move(1)],
        [['PageUp'], 'a page up', () => move(-page())],
        [['PageDown'], 'a page down', () => move(page())],
        [['Home'], 'first row', () => move(-Infinity)],
        [['End'], 'last row', () => move(Infinity)],
        [['Left'], 'one cell back', () => cellBy(view, -1)],
        [['Right'], 'one cell forward', () => cellBy(view, 1)],
        [['Enter'], 'open in the next panel', () => view.open(row())],
        [['y'], 'copy the row', () => copy(view, view)],
        [['Space', ...'zZsSoO'], 'fold as in the tree', (_, key) => view.fold(key, row())],
        [[...LETTERS], 'open in this panel', (_, key) =>
            view.open(row(), LETTERS.indexOf(key))],
    ].map((one) => [...one, view.table]);
    return [...ends, ...inside].map(([keys, what, run, within]) => bind({keys, what, within,
        where: 'Overview', run: (...to) => view.modules ? run(...to) : false}));
}
