/* overview_tip.js - what is under the pointer, its tooltip, and a drag on the axis. */

import {cell, columnOf} from './axis.js';
import {el} from './dom.js';
import {stepAxis} from './draw.js';
import {KINDS} from './overview_data.js';
import {stripes} from './overview_map.js';
import {HEAD, LETTERS, rowName} from './overview_table.js';
import {go, state} from './state.js';
import {short} from './text.js';

/** What is at this point: {row, column, i (of the steps), place, frame}. */
export function find(view, event) {
    const box = view.table.getBoundingClientRect(), high = view.high();
    const y = event.clientY - box.top - HEAD + view.table.scrollTop;
    const inside = event.clientY > box.top + HEAD && !event.target.closest('.ovaxis');
    const k = inside ? Math.floor(y / high) : -1, row = view.rows[k];
    const px = event.clientX - box.left;
    const column = view.columns?.find((one) => px >= one.left && px < one.left + one.width);
    if (!row || !column || !view.modules.n) return {row, k};
    const near = view.modules.document.close_up, list = stripes(row, high - 2);
    const stripe = Math.max(0, Math.min(list.length - 1,
        Math.floor((y - k * high - 1) * list.length / (high - 2))));
    const part = (high - 2) / list.length, found = {row, k, column, places: list[stripe]};
    let left = 0, right = column.width, step = null, i = 0;
    if (column.id === 'bad') {
        if (!near) return {row, k};
        const size = column.width / near.first.length;
        i = Math.floor((px - column.left) / size);
        [left, right] = [i * size, (i + 1) * size];
        step = near.first[i];
    } else {
        const axis = stepAxis(view.range, column.width);
        step = axis.step(px - column.left);
        i = columnOf(view.modules.columns, step);
        [left, right] = cell(view.modules.columns, i, axis.x);
        if (px - column.left > right + 2) return {row, k};
    }
    const top = k * high + 1 + Math.round(stripe * part) - view.table.scrollTop;
    return {...found, i, step, frame: [column.left + left - 2, top - 1,
        Math.max(8, right - left + 4), part + 2]};
}

export function hover(view, event) {
    const hit = find(view, event), key = hit.column && [hit.column.id, hit.k, hit.i,
        hit.places[0]].join();
    view.frame.classList.toggle('off', !key);
    if (key === view.hitKey) return;
    view.hitKey = key;
    view.hit = key ? hit : null;
    const tell = (name) => view.frame.dispatchEvent(new PointerEvent(name));
    tell(key ? 'pointerenter' : 'pointerleave');
    if (key) ['left', 'top', 'width', 'height'].forEach((side, i) => {
        view.frame.style[side] = `${hit.frame[i]}px`;
    });
}

export function tip(view, {column: {id}, i, places}) {
    const {modules, model} = view, place = places[0], kind = KINDS.find((one) =>
        one.id === id), {columns} = modules, one = modules.at.get(place);
    if (!one) return null;
    const near = modules.document.close_up, at = id === 'bad' ? near : columns;
    const range = at.first[i] === at.last[i] ? at.first[i] :
        `${at.first[i]} to ${at.last[i]}`;
    const value = id === 'bad' ? NaN : modules.worst(id, [place], i);
    const said = id === 'bad' ? {1: 'NaN or Inf', 0: 'finite', '-': 'not looked at'}[
        modules.close([place])[i]] : valueText(view, kind, place, value);
    const rank = one[`${id}_rank`]?.[i], least = one[`${id}_least`]?.[i];
    const full = model.full(place), lines = [[at === columns ? 'steps' : 'step', range +
        (id !== 'bad' && columns.steps[i] > 1 ? `, ${kind.most}` : '')],
    [kind.title, said]];
    if (rank !== undefined && rank !== null) lines.push(['ranks', `rank ${rank}` +
        (least !== undefined && least !== null ? `; least ${short(least)} on rank ` +
            one[`${id}_least_rank`][i] : '')]);
    const letter = LETTERS[state.panels.length];
    return [el('b', null, full || rowName(view, {place, many: 1})), ' ',
        el('span', 'dim', model.klass(place)), el('dl', null, lines.map(([word, text]) =>
            [el('dt', null, word), el('dd', null, text)])),
        letter && !state.panels.includes(full) ? el('button', {type: 'button',
            class: 'link act', onclick: () => view.open(full)},
        el('span', {class: 'badge', data: {panel: letter}}, letter),
        el('span', 'grow', `open in panel ${letter}`), el('kbd', null, 'Enter')) : null];
}

/** 4.63, 103 times its median */
function valueText(view, kind, place, value) {
    if (Number.isNaN(value)) return 'not logged';
    if (value === Infinity) return el('b', 'bad', 'NaN or Inf');
    const usual = view.modules.median(kind.id, place), times = value / usual;
    const text = kind.id === 'dead' ? percent(value) : short(value);
    return [el('b', null, text), usual > 0 ? `, ${kind.id === 'dead' ?
        `its median is ${percent(usual)}` : `${times >= 10 ? Math.round(times) :
            short(Number(times.toPrecision(2)))} times its median`}` : ''];
}

function percent(value) {
    return `${short(Number((value * 100).toPrecision(2)))}%`;
}

/** Drag on the step axis: these steps only. */
export function zoom(view, event) {
    const box = view.table.getBoundingClientRect(), from = event.clientX - box.left;
    const column = view.columns.find((one) => one.id !== 'bad' && from >= one.left &&
        from <= one.left + one.width);
    if (!column || !view.modules.n) return;
    const {axis} = view, mark = el('div', 'ovzoom');
    let span = [from, from];
    axis.append(mark);
    axis.setPointerCapture(event.pointerId);
    axis.onpointermove = (move) => {
        const to = Math.max(column.left, Math.min(column.left + column.width,
            move.clientX - box.left));
        span = [Math.min(from, to), Math.max(from, to)];
        mark.style.left = `${span[0]}px`;
        mark.style.width = `${span[1] - span[0]}px`;
    };
    axis.onpointerup = axis.onpointercancel = (last) => {
        axis.onpointermove = axis.onpointerup = axis.onpointercancel = null;
        mark.remove();
        if (last.type === 'pointercancel' || span[1] - span[0] < 4) return;
        const steps = stepAxis(view.range, column.width);
        go({from: steps.step(span[0] - column.left), to: steps.step(span[1] - column.left)});
    };
}
