/* timeline_table.js - where the time of a step goes, by module. */

import {div, el, put, span} from './dom.js';
import {min} from './math.js';
import {go} from './state.js';
import {NONE, commas} from './text.js';

const FEW = 12;
const COLUMNS = ['forward_text', 'backward_text', 'total_text', 'share_text', 'flops_text'];
const HEADS = ['forward', 'backward', 'total', '% of step', 'forward FLOPs'];

const text = (doc, key, i) => doc.texts[doc.modules[key][i]] || NONE;

export const swatch = (family) => {
    const box = el('i', 'tlsw');
    if (family) {
        box.style.background = `var(--t-${family})`;
        box.style.borderLeftColor = `var(--f-${family})`;
    }
    return box;
};

function bar(doc, i) {
    const {forward_ns: forward, backward_ns: backward} = doc.modules, part = (ns, kind) => {
        const box = el('u', kind);
        box.style.width = `${(ns || 0) / ((forward[0] || 0) + (backward[0] || 0) || 1) * 100}%`;
        return box;
    };
    return el('td', 'tlbar', part(forward[i], ''), part(backward[i], 'b'));
}

function line(doc, model, i) {
    const place = doc.modules.place[i], name = text(doc, 'name', i);
    const cell = (key) => el('td', 'num', text(doc, key, i));
    const {families, modules} = doc;
    return el('tr', null, el('td', null, swatch(families[modules.family[i]] || 'other'),
        place === null ? el('b', null, name) : el('button', {class: 'link plainlink',
            onclick: () => go({at: model.full(place)})}, name)),
    el('td', 'dim cut', doc.texts[modules.class[i]]), cell('forward_text'),
    cell('backward_text'), cell('total_text'), bar(doc, i), cell('share_text'),
    cell('flops_text'));
}

/** The table as CSV, with the numbers of the document. */
export function tableCsv({modules, texts}) {
    const quoted = (one) => `"${String(one ?? '').replaceAll('"', '""')}"`;
    const rows = modules.forward_ns.map((forward, i) => [quoted(texts[modules.name[i]]),
        quoted(texts[modules.class[i]]), forward, modules.backward_ns[i] ?? '',
        modules.flops[i] ?? ''].join(','));
    return ['module,class,forward_ns,backward_ns,forward_flops', ...rows, ''].join('\r\n');
}

/** The card below the chart. */
export function whereTimeGoes(doc, model) {
    const {modules} = doc, all = modules.n + modules.left_out, body = el('tbody');
    const note = span('dim cut grow');
    const more = el('button', {class: 'link', onclick: () => fill(modules.n)},
        `show all ${commas(modules.n)}`);
    const fill = (n) => {
        put(body, ...Array.from({length: min(n, modules.n)}, (_, i) =>
            line(doc, model, i)));
        more.classList.toggle('off', n >= modules.n);
        note.textContent = `exclusive time, sorted by total; ${commas(min(n, modules.n))}` +
            ` of ${commas(all)}${doc.flops_text ? `; FLOPs: ${doc.flops_text}` : ''}`;
        note.title = note.textContent;
    };
    const heads = HEADS.map((head) => el('th', 'num', head));
    heads.splice(3, 0, el('th', null, span('away', 'forward and backward')));
    fill(FEW);
    return el('section', 'tlcard', el('h2', null, el('b', null, 'Where the time goes'), note,
        span('tlkey', el('u'), 'forward', el('u', 'b'), 'backward')),
    div('wider', el('table', null, el('thead', null, el('tr', null,
        el('th', null, 'module'), el('th', null, span('away', 'class')), heads)), body)), more);
}
