/* overview_table.js - the rows: names and the numbers of the cursor's step; the step axis,
   and where the columns are. `view` is the overview. */

import {div, el, icon, put, span} from './dom.js';
import {stepAxis} from './draw.js';
import {ceil, floor, max, min} from './math.js';
import {FLAGS} from './model.js';
import {KINDS} from './overview_data.js';
import {state} from './state.js';
import {DOTS, TIMES, stepCount} from './text.js';

export const LETTERS = 'ABCDE';
export const HEAD = 46; // px
export const AXIS = 20;
/* A unit is dead if it is 0 for all inputs; GELU never returns 0. */
const NO_UNITS = 'none to count: no result is 0 in parts, as after a ReLU';
const INDENT = 11, MORE = 4; // px; rows beside those on screen

export function rowName({model}, {place, many, last, flat}) {
    const name = model.name(place);
    if (flat) return model.full(place);
    if (place === 0) return model.klass(0) || name || 'model';
    return many > 1 ? `${name}${DOTS}${model.name(last)}` : name;
}

const mark = (kind, title) => span({class: kind, title}, icon('alarm'));

function marks({model, list}, place) {
    if (model.has(place, FLAGS.alarm))
        return mark('al', list.makers.has(place) ? 'made here' : 'made inside');
    return model.has(place, FLAGS.warning) ? mark('wl', 'warning') : null;
}

function number(view, kind, members, tied) {
    const {text, word, bad, none} = view.step.show(kind, members);
    return span({role: 'gridcell', class: `n-${kind.id}${bad ? ' bad' : ''}` +
        `${none ? ' na' : ''}`}, word ? el('em', null, `${word} `) : null,
    tied && !none && kind.of !== 'bad_share' ? `(${text})` : text);
}

function rowElement(view, i, high) {
    const row = view.rows[i], {model, list: {folds}} = view, {place, many, members} = row;
    const full = model.full(place), name = rowName(view, row);
    const can = !row.flat && (many > 1 || folds.hasChildren(place));
    const isOpen = can && many === 1 && folds.open[place] === 1;
    const selected = state.at === full && many === 1;
    const tied = view.modules.at.get(place)?.tied;
    const letter = many === 1 && LETTERS[state.panels.indexOf(full)];
    const klass = place === 0 ? '' : model.klass(place);
    return div({id: `ov${i}`, role: 'row', style: {top: `${i * high}px`},
        class: `row ovgrid${selected ? ' sel' : ''}${i === view.at ? ' cursor' : ''}` +
            `${row.carries ? ' prop' : ''}`,
        aria: {level: row.depth + 1, rowindex: i + 2, selected,
            expanded: can ? isOpen : null}},
    div({class: 'first', role: 'rowheader', title: full || name,
        style: {'padding-left': `${8 + INDENT * row.depth}px`}},
    span('ch', can ? icon(isOpen ? 'down' : 'right') : null), el('b', 'nm', name),
    span('cl', many > 1 ? `${many} ${TIMES} ${klass}` : klass,
        tied ? `, tied to ${tied.split('.').at(-1)}` : null),
    letter ? span({class: 'badge', data: {panel: letter}}, letter) : null,
    marks(view, place)),
    div({class: 'nums', role: 'presentation'}, KINDS.map((kind) =>
        number(view, kind, members, tied))));
}

/** Draws the visible rows. */
export function drawRows(view) {
    const high = view.high(), {scrollTop, clientHeight} = view.table, rows = [];
    const first = max(0, floor(scrollTop / high) - MORE);
    const last = min(view.rows.length, ceil((scrollTop + clientHeight) / high));
    for (let i = first; i < last; i++) rows.push(rowElement(view, i, high));
    put(view.space, ...rows);
    view.table.setAttribute('aria-rowcount', view.rows.length + 1);
    view.table.setAttribute('aria-activedescendant', `ov${view.at}`);
}

function axisOf(view, {id, width}) {
    const near = view.modules.document.close_up, box = div(`k-${id}`);
    if (!view.phase().steps || (id === 'bad' && !near)) return box;
    const axis = stepAxis(view.range, width), ends = near && [near.first[0], near.last.at(-1)];
    for (const step of id === 'bad' ? ends : axis.ticks) {
        const x = id === 'bad' ? step === ends[0] ? 0 : width : axis.x(step);
        box.append(span({class: x < 20 ? 'left' : x > width - 20 ? 'right' : '',
            style: {left: `${x}px`}}, step));
    }
    return box;
}

/** The text in a column without cells. */
function emptyText({modules, training: {logged}}, {id, missing}, {steps, phase}) {
    if (!steps) return '';
    if (id === 'bad') return modules.document.close_up ? '' : `none in ${stepCount(steps)}`;
    if (modules.logged(id)) return '';
    if (id === 'dead') return logged?.values ? NO_UNITS : missing;
    return phase === 'eval' ? 'none in evaluation' : id === 'ratio' && logged?.parameters === false ?
        "not logged: log=['params']" : missing;
}

/** Measures the columns; draws axes, legends and the texts of empty columns. */
export function measure(view) {
    const high = view.rows.length * view.high(), {head, pane, map, space} = view;
    space.style.height = `${high}px`;
    map.style.height = `${max(0, min(high,
        view.table.clientHeight - HEAD - AXIS))}px`;
    view.legends.forEach((one) => one.update());
    view.columns = KINDS.map((kind) => {
        const at = head.querySelector(`.k-${kind.id}`);
        return {...kind, left: at.offsetLeft, width: at.offsetWidth};
    }).filter((one) => one.width);
    put(view.axis, div('first', 'x: step'),
        ...view.columns.map((one) => axisOf(view, one)));
    const texts = view.columns.map((one) => div({class: 'none', style:
        {left: `${one.left}px`, width: `${one.width}px`}},
    one.says = emptyText(view, one, view.phase())));
    put(pane, map, ...texts.filter((one) => one.textContent), view.frame);
}
