/* overview_table.js - the rows: names and the numbers of the cursor's step. */

import {el, icon} from './dom.js';
import {stepAxis} from './draw.js';
import {FLAGS} from './model.js';
import {KINDS} from './overview_data.js';
import {state} from './state.js';
import {DOTS, TIMES} from './text.js';

export const LETTERS = 'ABCDE';
export const HEAD = 46; // px
const INDENT = 11; // px

function mark(view, place) {
    const {model} = view, is = model.has(place, FLAGS.alarm);
    if (is) return el('span', {class: 'al', title: view.list.makers.has(place) ?
        'made here' : 'made inside'}, icon('alarm'));
    return model.has(place, FLAGS.warning) ?
        el('span', {class: 'wl', title: 'warning'}, icon('alarm')) : null;
}

export function rowName(view, row) {
    const {model} = view, {place} = row;
    if (row.flat) return model.full(place);
    if (place === 0) return model.klass(0) || model.name(0) || 'model';
    return row.many > 1 ? `${model.name(place)}${DOTS}${model.name(row.last)}` :
        model.name(place);
}

export function rowElement(view, i, high) {
    const row = view.rows[i], {model} = view, {place} = row, full = model.full(place);
    const can = !row.flat && (row.many > 1 || view.list.folds.hasChildren(place));
    const isOpen = can && row.many === 1 && view.list.folds.open[place] === 1;
    const selected = state.at === full && row.many === 1, name = rowName(view, row);
    const letter = row.many === 1 ? LETTERS[state.panels.indexOf(full)] : null;
    const tied = model.has(place, FLAGS.tied), klass = place === 0 ? '' : model.klass(place);
    const element = el('div', {id: `ov${i}`, role: 'row', data: {row: i},
        class: ['row', 'ovgrid', selected && 'sel', i === view.at && 'cursor',
            row.carries && 'prop'].filter(Boolean).join(' '),
        aria: {level: row.depth + 1, rowindex: i + 2, selected,
            expanded: can ? isOpen : null}},
    el('div', {class: 'first', role: 'rowheader', title: full || name,
        style: {'padding-left': `${8 + INDENT * row.depth}px`}},
    el('span', 'ch', can ? icon(isOpen ? 'down' : 'right') : null),
    el('b', 'nm', name), el('span', 'cl', row.many > 1 ? `${row.many} ${TIMES} ${klass}` :
        klass, tied ? ', tied' : null),
    letter ? el('span', {class: 'badge', data: {panel: letter}}, letter) : null,
    mark(view, place)),
    el('div', {class: 'nums', role: 'presentation'}, KINDS.map((kind) => {
        const {text, word, bad, none} = view.step.show(kind, row.members);
        return el('span', {role: 'gridcell', class: `n-${kind.id} ${bad ? 'bad' : ''}` +
            `${none ? 'na' : ''}`}, word ? el('em', null, `${word} `) : null,
        tied && !none && kind.id !== 'bad' ? `(${text})` : text);
    })));
    element.style.top = `${i * high}px`;
    return element;
}

export function axisOf(view, {id, width}) {
    const near = view.modules.document.close_up, box = el('div', `k-${id}`);
    if (!view.modules.n || (id === 'bad' && !near)) return box;
    const axis = id === 'bad' ? {ticks: [near.first[0], near.last.at(-1)], x: (step) =>
        step === near.first[0] ? 0 : width} : stepAxis(view.range, width);
    for (const step of axis.ticks) {
        const x = axis.x(step);
        box.append(el('span', {class: x < 20 ? 'left' : x > width - 20 ? 'right' : '',
            style: {left: `${x}px`}}, step));
    }
    return box;
}

export function emptyText(view, id) {
    const {modules} = view;
    if (!modules.n) return '';
    if (id === 'bad') return modules.document.close_up ? '' : `none in ${view.steps()} steps`;
    return modules.logged(id) ? '' : KINDS.find((one) => one.id === id).missing;
}
