/* overview_head.js - column heads: legends, sort order, ranks. `view` is the overview. */

import {div, el, icon, menu, put, span} from './dom.js';
import {canvas, textWidth} from './draw.js';
import {paintLegend} from './heat.js';
import {KINDS, ORDERS} from './overview_data.js';
import {go, state} from './state.js';

/** items: texts by value. */
function dropDown(label, items, now, choose) {
    return menu(el('button', {class: 'btn small', title: label},
        span(null, items.get(now)), icon('down')), () => [...items].map(([id, text]) =>
        ({text, current: id === now, run: () => choose(id)})));
}

/** The ticks that fit beside each other in a legend; numbers first, then words. */
function spaced(ticks, width) {
    const kept = [];
    const isWord = ([, text]) => /^[a-z]/.test(text);
    for (const tick of [...ticks].sort((a, b) => isWord(a) - isWord(b))) {
        const [at, text] = tick, wide = textWidth(text) + 3;
        const left = at < .06 ? 0 : at > .94 ? width - wide : at * width - wide / 2;
        if (width && kept.some((one) => one.left < left + wide && left < one.right)) continue;
        kept.push({left, right: left + wide, tick});
    }
    return kept.map((one) => one.tick);
}

function legend(view, {id}) {
    if (id === 'bad') return div('lg', el('i', 'hatch'), 'NaN, Inf', el('i', 'fine'),
        'finite');
    const box = div('lg'), strip = canvas('', (pen, width, height) =>
        view.scales && paintLegend(pen, width, height, view.scales[id]));
    strip.ariaHidden = 'true';
    box.update = () => {
        if (!view.scales) return;
        put(box, strip, ...spaced(view.scales[id].ticks, box.clientWidth).map(([at, text]) =>
            span({style: {left: `${at * 100}%`},
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
    view.heads = KINDS.map((kind) => span({role: 'columnheader',
        class: `n-${kind.id}`}, el('button', {tabIndex: -1,
        onclick: () => view.sortBy(kind.id)}, kind.head)));
    const names = new Map([[null, `${ranks.length} ranks, merged`], ...ranks.map((one) =>
        [one, `rank ${one} of ${ranks.length}`])]);
    put(view.head, div({class: 'first', role: 'columnheader'},
        div('cap', el('b', null, 'Modules'), view.count = span('words grow'),
            view.orderButton),
        div('cap2', view.stale = el('button', {class: 'link off',
            onclick: () => view.update(true)}, 'order changed, sort again'),
        n && n < view.all ? `${view.all - n} without parameters or units hidden` : null)),
    ...KINDS.map((kind) => div({class: `k-${kind.id}`, aria: {hidden: 'true'}},
        div('cap', el('b', null, kind.title), span('words grow',
            span(null, kind.note), span('ovedge', kind.edge))),
        legend(view, kind))),
    div({class: 'k-numbers', role: 'presentation'}, div('cap',
        ranks.length > 1 ? dropDown('Ranks', names, state.rank, (rank) => go({rank})) : null,
        span('grow'), span(null, 'at step'), view.atStep = el('b')),
    div('nums', view.heads)));
    put(view.tabs, ...KINDS.map((kind) => el('button', {onclick: () =>
        go({tab: kind.id}, 'replace')}, kind.title)));
}
