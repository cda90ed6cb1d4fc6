/* overview_head.js - the heads of the columns: legends, orders, ranks. `view` is the
   overview. */

import {el, icon, menu} from './dom.js';
import {canvas} from './draw.js';
import {paintLegend} from './heat.js';
import {KINDS, ORDERS} from './overview_data.js';
import {go, state} from './state.js';

/** items: texts by value. */
function dropDown(label, items, now, choose) {
    return menu(el('button', {type: 'button', class: 'btn small', title: label},
        el('span', null, items.get(now)), icon('down')), () => [...items].map(([id, text]) =>
        ({text, current: id === now, run: () => choose(id)})));
}

function legend(view, {id}) {
    if (id === 'bad') return el('div', 'lg', el('i', 'hatch'), 'NaN, Inf', el('i', 'fine'),
        'finite');
    const box = el('div', 'lg'), strip = canvas('', (pen, width, height) =>
        view.scales && paintLegend(pen, width, height, view.scales[id]));
    strip.ariaHidden = 'true';
    box.update = () => {
        if (!view.scales) return;
        box.replaceChildren(strip, ...view.scales[id].ticks.map(([at, text]) =>
            el('span', {style: {left: `${at * 100}%`},
                class: at < .06 ? 'left' : at > .94 ? 'right' : ''}, text)),
        ...id === 'ratio' ? [el('i', 'healthy')] : []);
        strip.redraw();
    };
    view.legends.push(box);
    return box;
}

export function makeHead(view) {
    const {model, modules} = view, {ranks = []} = modules.document, n = modules.at.size;
    view.legends = [];
    view.all = 0;
    for (let i = 0; i < model.n; i++) view.all += model.isModule(i);
    view.orderButton = dropDown('Order', new Map(Object.entries(ORDERS)), view.sort(),
        (id) => view.sortBy(id));
    view.heads = KINDS.map((kind) => el('span', {role: 'columnheader',
        class: `n-${kind.id}`}, el('button', {type: 'button', tabIndex: -1,
        onclick: () => view.sortBy(kind.id)}, kind.head)));
    const names = new Map([[null, `${ranks.length} ranks, merged`], ...ranks.map((one) =>
        [one, `rank ${one} of ${ranks.length}`])]);
    view.head.replaceChildren(el('div', {class: 'first', role: 'columnheader'},
        el('div', 'cap', el('b', null, 'Modules'), view.count = el('span', 'words grow'),
            view.orderButton),
        el('div', 'cap2', view.stale = el('button', {type: 'button', class: 'link off',
            onclick: () => view.update(true)}, 'order changed, sort again'),
        n && n < view.all ? `${view.all - n} without parameters or units hidden` : null)),
    ...KINDS.map((kind) => el('div', {class: `k-${kind.id}`, aria: {hidden: 'true'}},
        el('div', 'cap', el('b', null, kind.title), el('span', 'words grow',
            el('span', null, kind.note), el('span', 'ovedge', kind.edge))),
        legend(view, kind))),
    el('div', {class: 'k-numbers', role: 'presentation'}, el('div', 'cap',
        ranks.length > 1 ? dropDown('Ranks', names, state.rank, (rank) => go({rank})) : null,
        el('span', 'grow'), el('span', null, 'at step'), view.atStep = el('b')),
    el('div', 'nums', view.heads)));
    view.tabs.replaceChildren(...KINDS.map((kind) => el('button', {type: 'button',
        onclick: () => go({tab: kind.id}, 'replace')}, kind.title)));
}
