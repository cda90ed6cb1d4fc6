/* details.js - all facts about the selected place. A tensor also has statistics, its
   distribution and values (tensor.js); a module has attributes, the source of its class
   and the kept result. */

import {copyable} from './actions.js';
import {ask} from './api.js';
import {attributesCard} from './attributes.js';
import {breadcrumb} from './breadcrumb.js';
import {button, div, el, failure, link, loading, put, span} from './dom.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {max, min} from './math.js';
import {places} from './model.js';
import {openPanel} from './slots.js';
import {go, state} from './state.js';
import {sheetCard, tensorCards} from './tensor.js';
import {shape} from './text.js';

const LINES = 400; // of source, shown at first
const NUMBERS = {all: 1, bins: 125, inner: 1, quantiles: '0.1,1,5,25,50,75,95,99,99.9'};
/* Facts that the attributes repeat. */
const ATTRIBUTES = ['arguments', 'training', 'hidden'];

/** The facts of the terminal, one per line. */
function factsCard(title, facts) {
    return el('section', 'dtcard', title && el('h2', null, title), facts.filter((fact) =>
        fact.text).map((fact) => el('p', `dtfact ${fact.role || ''}`, fact.label &&
        span('dim3', fact.label), span(null, fact.text))));
}

/** The title without the name, which the path above shows. */
function headOf(model, at, facts) {
    const text = facts.find(({id}) => id === 'title')?.text || '', name = model.full(at) ||
        model.name(at);
    return text.startsWith(name) ? text.slice(name.length).trim() : text;
}

function codeLine(source, marks, i) {
    const at = source.first + i, found = marks.filter((one) => one.line === at);
    return div(at === source.forward ? 'on' : null, span('dim3', at), el('code', null,
        source.lines[i]), found.length > 0 && span('dim', found.map((one) => one.text)
        .join(', ')));
}

/** The source of a module's class, its forward in view, shapes beside the lines. */
function codeCard({source}) {
    const {first, lines, marks = []} = source;
    const from = max(0, min((source.forward || first) - first, lines.length - LINES));
    const end = min(lines.length, from + LINES), left = lines.length - end + from;
    const list = div({class: 'dtcode mono', tabIndex: 0, role: 'region', aria: {label:
        `Source of ${source.name}`}}, lines.slice(from, end).map((_, i) =>
        codeLine(source, marks, from + i)));
    return el('section', 'dtcard', el('h2', null, source.name, ' ', span('dim', `${
        source.file}:${first}`)), list,
    left > 0 && el('p', 'dim3', `${left} further lines are in the file`));
}

/** A JSON value as text; `$object` is the name of a constructor. */
function valueText(value) {
    if (typeof value === 'string') return value;
    if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
    if (value === null || typeof value !== 'object') return String(value);
    const parts = Object.entries(value.attributes || value).map(([key, one]) =>
        `${key}: ${valueText(one)}`);
    return `${value.$object || ''}{${parts.join(', ')}}`;
}

/** The metadata of a GGUF or safetensors file. */
function metadataCard({metadata = {}}) {
    const rows = Object.entries(metadata);
    return rows.length > 0 && el('section', 'dtcard meta', el('h2', null, 'Metadata'), rows.map(
        ([key, value]) => div('atrow', span('atname', key), span(null, valueText(value)))));
}

/** The tensors of a module or group, as links that can be dragged into a panel. */
const tensorsCard = (tensors, full) => el('section', 'dtcard', el('h2', null, 'Tensors'),
    div(null, tensors.map(({name, shape: dims, dtype}) => div({class: 'atrow', draggable: true,
        ondragstart: ({dataTransfer}) => dataTransfer.setData('text/plain', name)}, span('atname',
        link(name.slice(full ? full.length + 1 : 0), () => go({at: name}))), span(null,
        `${shape(dims)} ${dtype}`)))));

/** Adds a card when its answer arrives, or the reason why there is none. */
async function later(box, promise, make) {
    const place = div();
    box.append(place);
    try {
        const card = make(await promise);
        if (!card) return place.remove();
        place.replaceWith(card);
        const line = card.querySelector('.on');
        if (line) line.parentNode.scrollTop = line.offsetTop - line.parentNode.offsetTop - 48;
    } catch (error) {
        place.replaceWith(el('p', 'dim dtnote', error.message));
    }
    return null;
}

export function details(stage) {
    let closed = false, turn = 0;

    const factsOf = (model, at, {details: facts = []}) => factsCard(headOf(model, at, facts),
        facts.filter(({id}) => id !== 'title' && (model.kind(at) === 'tensor' ||
            !ATTRIBUTES.includes(id))));
    function draw(model, at, doc, body, where) {
        const kind = model.kind(at), {kept} = doc;
        const asked = {file: where.file, place: at, call: where.call};
        put(body, factsOf(model, at, doc));
        if (kind === 'tensor') tensorCards(body, doc.tensor, where);
        else if (kind !== 'value') later(body, ask('attributes', {file: asked.file, place: at}),
            (answer) => attributesCard(answer, asked, model));
        if (doc.tensors?.length) body.append(tensorsCard(doc.tensors, model.full(at)));
        if (at === 0) later(body, ask('info', {file: asked.file}), metadataCard);
        if (kind === 'module') later(body, ask('code', asked), (answer) => answer.source &&
            codeCard(answer));
        if (!kept) return;
        body.append(factsCard(`Result of call ${kept.number + 1}, kept`, doc.kept_details));
        if (kept.shape?.length === 4) later(body, ask('show', {...asked, sheet: 1}),
            (answer) => sheetCard(answer.kept.sheet));
        tensorCards(body, kept, where);
    }
    /** For a training run, requests the facts of the cursor's step. */
    function question(model, at) {
        const {file, call} = state, kind = model.kind(at), {has, step} = files.get(file);
        return ask('show', {file, place: at, call, step: has.includes('history') ? state.step ??
            step : null, ...kind === 'tensor' || kind === 'module' ? NUMBERS : {}});
    }
    async function fill(model, at, mine) {
        const {file} = state, kind = model.kind(at), call = state.call ?? undefined;
        const body = div(`dtbody ${kind}`), promise = question(model, at);
        body.append(loading(promise, kind === 'tensor' ? 'Counting the values' : 'Reading'));
        put(stage, div('viewbar', breadcrumb(model, at, (name) => go({at: name})),
            kind !== 'value' && button({text: 'Open in a panel', icon: 'panels', class: 'ghost',
                onclick: () => openPanel(model.full(at))})), body);
        const doc = await promise, alive = () => !closed && mine === turn;
        if (alive()) draw(model, at, doc, body, {file, place: at, call, alive});
    }
    /** The cursor moved to another step: updates the facts. */
    async function follow() {
        const mine = turn, {step} = state, model = await places(state.file);
        const at = max(0, model.find(state.at)), doc = await question(model, at).catch(() => null);
        if (doc && !closed && mine === turn && step === state.step)
            stage.querySelector('.dtbody>.dtcard')?.replaceWith(factsOf(model, at, doc));
    }
    async function load() {
        const mine = ++turn;
        try {
            const model = await places(state.file);
            if (closed || mine !== turn) return;
            await fill(model, max(0, model.find(state.at)), mine);
        } catch (error) {
            if (!closed && mine === turn) put(stage, failure(error, load));
        }
    }
    const unbind = bind({keys: ['['], where: 'Details', what: 'type a slice', run: () => {
        const field = stage.querySelector('.dtcard .field');
        if (field) field.select();
        return field !== null;
    }});
    const forget = copyable(() => [{text: 'Python', value: () => `torchoscope.open(${
        JSON.stringify(files.get(state.file).path || state.file)})[${
        JSON.stringify(state.at || '')}]`}]);
    load();
    return {
        state(changed) {
            if (['at', 'file', 'call', 'slice'].some((key) => changed.has(key))) load();
            else if (changed.has('step')) follow();
        },
        news: () => {},
        close: () => { closed = true; forget(); unbind(); },
    };
}
