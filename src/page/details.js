/* details.js - the selected place in full: what is known of it; of a tensor its numbers,
   distribution and values (tensor.js); of a module the source of its class. */

import {copyable} from './actions.js';
import {ask} from './api.js';
import {breadcrumb} from './breadcrumb.js';
import {el, failure, loading} from './dom.js';
import {bind} from './keys.js';
import {places} from './model.js';
import {go, state} from './state.js';
import {tensorCards} from './tensor.js';

const LINES = 400; // of source, shown at first

/** Facts as the terminal has them: a heading, then a line each. */
function factsCard(doc) {
    const rows = (doc.details || []).filter((fact) => fact.text);
    return el('section', 'dtcard', rows.map((fact) => fact.id === 'title' ?
        el('h2', null, fact.text) : el('p', `dtfact ${fact.role || ''}`,
            fact.label ? el('span', 'dim3', fact.label) : null,
            el('span', null, fact.text))));
}

function codeLine(source, marks, i) {
    const at = source.first + i, found = marks.filter((one) => one.line === at);
    return el('div', at === source.forward ? 'on' : null, el('span', 'dim3', String(at)),
        el('code', null, source.lines[i]), found.length ? el('span', 'dim',
            found.map((one) => one.text).join(', ')) : null);
}

/** The source of a module's class, its forward in view, shapes beside the lines. */
function codeCard(doc) {
    const {source} = doc, {marks = []} = source;
    const list = el('div', {class: 'dtcode mono', tabIndex: 0, role: 'region',
        aria: {label: `Source of ${source.name}`}});
    const from = Math.max(0, Math.min((source.forward || source.first) - source.first,
        source.lines.length - LINES));
    const end = Math.min(source.lines.length, from + LINES);
    for (let i = from; i < end; i++) list.append(codeLine(source, marks, i));
    const left = source.lines.length - (end - from);
    return el('section', 'dtcard', el('h2', null, source.name, ' ',
        el('span', 'dim', `${source.file}:${source.first}`)), list,
    left > 0 ? el('p', 'dim3', `${left} further lines are in the file`) : null);
}

/** Adds the card when its answer is there; a question that cannot be answered says why. */
async function later(box, promise, make) {
    const place = el('div');
    box.append(place);
    try {
        const doc = await promise, card = make(doc);
        place.replaceWith(card);
        const line = card.querySelector('.on');
        if (line) line.parentNode.scrollTop = line.offsetTop - line.parentNode.offsetTop - 48;
    } catch (error) {
        place.replaceWith(el('p', 'dim dtnote', error.message));
    }
}

export const details = {
    id: 'details', title: 'Details', icon: 'details',
    fits: () => true,
    mount(stage) {
        let closed = false, turn = 0;
        async function fill(model, at, mine) {
            const file = state.file, kind = model.kind(at), tensor = kind === 'tensor';
            const body = el('div', `dtbody ${kind}`), call = state.call ?? undefined;
            const promise = ask('show', {file, place: at, call, ...(tensor ? {bins: 125,
                inner: 1, quantiles: '0.1,1,5,25,50,75,95,99,99.9'} : {})});
            body.append(loading(promise, tensor ? 'Counting the values' : 'Reading'));
            stage.replaceChildren(el('div', 'viewbar', breadcrumb(model, at, (name) =>
                go({at: name}))), body);
            const doc = await promise;
            if (closed || mine !== turn) return;
            body.replaceChildren(factsCard(doc));
            if (tensor) tensorCards(body, doc, {file, place: at, alive: () => !closed &&
                mine === turn});
            else if (kind === 'module')
                later(body, ask('code', {file, place: at, call}), codeCard);
        }
        async function draw() {
            const mine = ++turn;
            try {
                const model = await places(state.file);
                if (closed || mine !== turn) return;
                await fill(model, Math.max(0, model.find(state.at)), mine);
            } catch (error) {
                if (!closed && mine === turn) stage.replaceChildren(failure(error, draw));
            }
        }
        const unbind = bind({keys: ['['], where: 'Details', what: 'type a slice', run: () => {
            const field = stage.querySelector('.dtcard .field');
            if (field) field.select();
            return field !== null;
        }});
        const forget = copyable(() => [{text: 'Python', value: () =>
            `torchoscope.open(${JSON.stringify(state.file)})[${JSON.stringify(state.at || '')}]`}]);
        draw();
        return {
            state: (changed) => ['at', 'file', 'call', 'slice'].some((key) =>
                changed.has(key)) && draw(),
            news: () => {},
            close: () => { closed = true; forget(); unbind(); },
        };
    },
};
