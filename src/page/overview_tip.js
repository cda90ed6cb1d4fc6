/* overview_tip.js - the pointer in the overview (`view`): hit test, tooltip, dragging on
   the axis. */

import {isStatic} from './api.js';
import {cell, columnOf} from './axis.js';
import {div, el} from './dom.js';
import {stepAxis} from './draw.js';
import {floor, max, min, round} from './math.js';
import {stripes} from './overview_map.js';
import {HEAD, LETTERS, drawRows, rowName} from './overview_table.js';
import {go, state} from './state.js';
import {short} from './text.js';

const columnAt = ({columns}, x) =>
    columns.find(({left, width}) => x >= left && x < left + width);

/** {k, row}, and over a cell {column, i (its index), places, step, frame}. */
function find(view, event) {
    const {table, axis, rows, columns, modules, range} = view, high = view.high();
    const box = table.getBoundingClientRect();
    const y = event.clientY - box.top - HEAD + table.scrollTop, x = event.clientX - box.left;
    const inside = event.clientY > box.top + HEAD && !axis.contains(event.target);
    const k = floor(y / high), row = inside ? rows[k] : null;
    const column = row && columns && columnAt(view, x), near = modules?.document.close_up;
    if (!column || !modules.n || (column.id === 'bad' && !near)) return {row, k};
    const list = stripes(row, high - 2), part = (high - 2) / list.length;
    const stripe = max(0, min(list.length - 1, floor((y % high - 1) / part)));
    const scale = stepAxis(range, column.width), at = x - column.left;
    const size = column.width / (near ? near.first.length : 1), isNear = column.id === 'bad';
    const step = isNear ? near.first[floor(at / size)] : scale.step(at);
    const i = isNear ? floor(at / size) : columnOf(modules.columns, step);
    const [left, right] = isNear ? [i * size, (i + 1) * size] :
        cell(modules.columns, i, scale.x);
    if (at > right + 2) return {row, k};
    return {row, k, column, i, step, places: list[stripe], frame: {left: column.left + left - 2,
        top: k * high + round(stripe * part) - table.scrollTop,
        width: max(8, right - left + 4), height: part + 2}};
}

function hover(view, event) {
    const hit = event && find(view, event), {frame} = view;
    const key = hit?.column ? [hit.column.id, hit.k, hit.i, hit.places[0]].join() : '';
    frame.classList.toggle('off', !key);
    if (key === view.hitKey) return;
    view.hitKey = key;
    view.hit = key ? hit : null;
    frame.dispatchEvent(new PointerEvent(key ? 'pointerenter' : 'pointerleave'));
    if (key) for (const [side, at] of Object.entries(hit.frame)) frame.style[side] = `${at}px`;
}

/* --- The tooltip */

const percent = (value) => `${short(Number((value * 100).toPrecision(2)))}%`;

/** 4.63, 103 times its median */
function valueText({modules}, {id}, place, i) {
    const value = modules.worst(id, [place], i), usual = modules.median(id, place);
    if (Number.isNaN(value)) return 'not logged';
    if (value === Infinity) return el('b', 'bad', 'NaN or Inf');
    const times = value / usual, text = id === 'dead' ? percent(value) : short(value);
    return [el('b', null, text), !(usual > 0) ? '' : id === 'dead' ?
        `, its median is ${percent(usual)}` :
        `, ${short(times < 10 ? Number(times.toPrecision(2)) : round(times))} ` +
            'times its median'];
}

function lines(view, {column, i, places: [place]}) {
    const {modules} = view, {columns, document} = modules, {id} = column;
    const at = id === 'bad' ? document.close_up : columns, one = modules.at.get(place) || {};
    const range = at.first[i] === at.last[i] ? `${at.first[i]}` :
        `${at.first[i]} to ${at.last[i]}`;
    const made = [['steps', range + (columns === at && at.steps[i] > 1 ?
        `, ${column.most}` : '')], [column.title, id !== 'bad' ?
        valueText(view, column, place, i) : {1: 'NaN or Inf', 0: 'finite',
            '-': 'not looked at'}[modules.close([place])[i]]]];
    const rank = one[`${id}_rank`]?.[i], least = one[`${id}_least`]?.[i];
    if (rank !== undefined && rank !== null) made.push(['ranks', least === one[id][i] ?
        'all equal' : `rank ${rank}` + (least !== undefined && least !== null ?
            `; least ${short(least)} on rank ${one[`${id}_least_rank`][i]}` : '')]);
    return made;
}

export function tip(view, hit) {
    const row = {place: hit.places[0], many: 1}, {model} = view;
    const letter = LETTERS[state.panels.length], full = model.full(row.place);
    return [el('b', null, full || rowName(view, row)), ' ',
        el('span', 'dim', model.klass(row.place)),
        el('dl', null, lines(view, hit).map(([word, text]) =>
            [el('dt', null, word), el('dd', null, text)])),
        letter && !state.panels.includes(full) ? el('button', {class: 'link act',
            onclick: () => view.open(row)},
        el('span', {class: 'badge', data: {panel: letter}}, letter),
        el('span', 'grow', `open in panel ${letter}`), el('kbd', null, 'Enter')) : null];
}

/* --- Clicks and drags */

function click(view, event) {
    const {k, row, step} = find(view, event);
    if (!row || event.target.closest('button')) return;
    const at = row.many > 1 ? state.at : view.model.full(row.place), moved = k !== view.at;
    view.at = k;
    if (moved) drawRows(view); // else the second of two clicks would lose its target
    if (step !== undefined) go({step, at});
    else if (event.target.closest('.ch')) view.fold('Space', row);
    else go({at});
}

/** Zooms to the steps that were dragged over. */
function zoom(view, event) {
    if (isStatic) return; // it has the steps of all
    const {axis, range} = view, box = axis.getBoundingClientRect();
    const from = event.clientX - box.left, column = columnAt(view, from);
    if (!column || column.id === 'bad' || !view.modules.n) return;
    const {left, width} = column, mark = div('ovzoom');
    let span = [from, from];
    axis.append(mark);
    axis.setPointerCapture(event.pointerId);
    axis.onpointermove = (move) => {
        const to = max(left, min(left + width, move.clientX - box.left));
        span = [min(from, to), max(from, to)];
        mark.style.left = `${span[0]}px`;
        mark.style.width = `${span[1] - span[0]}px`;
    };
    axis.onpointerup = axis.onpointercancel = (last) => {
        axis.onpointermove = axis.onpointerup = axis.onpointercancel = null;
        mark.remove();
        const [first, end] = span.map((x) => stepAxis(range, width).step(x - left));
        if (last.type === 'pointerup' && span[1] - span[0] > 3) go({from: first, to: end});
    };
}

export function listen(view) {
    const {table, axis} = view, on = (name, run) => table.addEventListener(name, run);
    on('scroll', () => {
        if (!view.modules) return;
        drawRows(view);
        view.map.redraw();
    });
    on('pointermove', (event) => hover(view, event));
    on('pointerleave', () => hover(view));
    on('click', (event) => click(view, event));
    on('dblclick', (event) => {
        const {row} = find(view, event);
        if (row && !event.target.closest('.ch,button')) view.open(row);
    });
    axis.addEventListener('pointerdown', (event) => zoom(view, event));
}
