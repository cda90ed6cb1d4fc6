/* overview_head.js - the heads of the columns: legends, orders, ranks. */

import {button, el, icon, menu} from './dom.js';
import {canvas} from './draw.js';
import {paintLegend} from './heat.js';
import {KINDS, ORDERS} from './overview_data.js';
import {go, state} from './state.js';

function dropDown(text, label, items) {
    return menu(el('button', {type: 'button', class: 'btn small', title: label},
        el('span', null, text), icon('down')), items);
}

export function makeHead(view) {
    const {model, modules} = view, {ranks = []} = modules.document;
    view.legends = [];
    let all = 0;
    for (let i = 0; i < model.n; i++) all += model.isModule(i);
    view.all = all;
    view.count = el('span');
    view.stale = el('button', {type: 'button', class: 'link off', onclick: () =>
        view.update(true)}, 'order changed, sort again');
    view.orderButton = dropDown('', 'Order', () => Object.entries(ORDERS).map(([id, text]) =>
        ({text, current: id === view.sort(), run: () => view.sortBy(id)})));
    const rank = (id) => id === null ? `${ranks.length} ranks, merged` :
        `rank ${id} of ${ranks.length}`;
    const hidden = modules.at.size ? all - modules.at.size : 0;
    const legends = KINDS.map((kind) => el('div', {class: `k-${kind.id}`,
        aria: {hidden: 'true'}}, el('div', 'cap', el('b', null, kind.title), kind.note,
        kind.id === 'gradient' ? el('span', 'edge', '; lower edge: dead units') : null),
    legend(view, kind)));
    const numbers = el('div', 'nums');
    view.heads = KINDS.map((kind) => el('button', {type: 'button', tabIndex: -1,
        onclick: () => view.sortBy(kind.id)}, kind.head));
    numbers.append(...view.heads.map((one, i) => el('span', {role: 'columnheader',
        class: `n-${KINDS[i].id}`}, one)));
    view.atStep = el('b');
    view.head.replaceChildren(el('div', {class: 'first', role: 'columnheader'},
        el('div', 'cap', el('b', null, 'Modules'), view.count, el('span', 'grow'),
            view.orderButton),
        el('div', 'cap2', view.stale, hidden ? el('span', null,
            `${hidden} without parameters or units hidden`) : null)), ...legends,
    el('div', {class: 'k-numbers', role: 'presentation'}, el('div', 'cap',
        ranks.length > 1 ? dropDown(rank(state.rank), 'Ranks', () => [null, ...ranks].map((id) => ({text: rank(id),
            current: id === state.rank, run: () => go({rank: id})}))) : null,
        el('span', 'grow'), el('span', null, 'at step'), view.atStep), numbers));
    view.tabs.replaceChildren(...KINDS.map((kind) => el('button', {type: 'button',
        onclick: () => go({tab: kind.id}, 'replace')}, kind.title)));
}

function legend(view, kind) {
    if (kind.id === 'bad') return el('div', 'lg', el('i', 'hatch'), 'NaN, Inf',
        el('i', 'fine'), 'finite');
    const box = el('div', 'lg'), strip = canvas('', (pen, width, height) => {
        if (view.scales) paintLegend(pen, width, height, view.scales[kind.id]);
    });
    strip.ariaHidden = 'true';
    box.update = () => {
        const ticks = view.scales[kind.id].ticks.map(([at, text]) => el('span', {style:
            {left: `${at * 100}%`}, class: at < .06 ? 'left' : at > .94 ? 'right' : ''}, text));
        box.replaceChildren(strip, ...ticks, kind.id === 'ratio' ? el('i', 'healthy') : '');
        strip.redraw();
    };
    view.legends.push(box);
    return box;
}
