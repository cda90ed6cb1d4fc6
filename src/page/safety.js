/* safety.js - what loading a file would do, and the evidence. */

import {ask} from './api.js';
import {div, el, failure, icon, loading, put, span} from './dom.js';
import {files} from './live.js';
import {go, state} from './state.js';
import {verdictPill} from './topbar.js';
import {NONE, commas, plural} from './text.js';

/* Verdict -> what it means, what to do. */
const WORDS = {
    safe: ['A plain load builds only tensors, dicts and plain values.',
        'Nothing: it can be loaded, also with weights_only=False.'],
    'needs code': ['The file names classes or functions that are not on the allow-list. ' +
        'Loading it calls them, from packages that are installed.', 'Load it only if you know ' +
        'who made it; else read the tensors with torchoscope.open(), which runs nothing.'],
    unsafe: ['A plain load of this file would run code.', 'Do not load it. torchoscope ' +
        'reads its tensors without running anything.'],
    inconclusive: ['The file could not be decoded completely, so its content is unknown.',
        'Do not load it until the cause is known.'],
};
/* Mark of a check or severity of a finding -> role and sign. */
const MARKS = {good: ['good', 'check'], note: ['dim', 'question'], warning: ['warn', 'bang'],
    alarm: ['bad', 'cross'], 'not looked at': ['dim', '']};
const TRUST = {danger: ['alarm', 'dangerous'], unknown: ['line', 'unknown'],
    known: ['good', 'known']};
const USES = [['names', 'named'], ['calls', 'called'], ['makes', 'made by __new__'],
    ['builds', 'given a state'], ['overrides', 'replaced'], ['fills', 'filled'],
    ['extension', 'by extension code'], ['persistent', 'as a persistent id'],
    ['reads', 'reads the file']];

function line(role, first, ...rest) {
    const [kind, image] = MARKS[role] || MARKS.note;
    return el('li', null, span(`sfmark ${kind}`, image ? icon(image) : NONE), el('b',
        'sftopic', first), span('grow', rest));
}

const place = (use) => `${use.opcode} at byte ${commas(use.offset)} of ${use.pickle}`;

function use(global, at) {
    const written = at.args === undefined || at.args === null ? '' : JSON.stringify(at.args);
    const args = Array.isArray(at.args) ? `(${written.slice(1, -1)})` : ` ${written}`;
    return div('sfuse', span('mono', `${at.act} ${global.name}`, args.length > 300 ?
        `${args.slice(0, 300)}\u2026` : args), span('dim3', place(at)));
}

function one(global) {
    const [kind, word] = TRUST[global.trust] || TRUST.unknown;
    const often = USES.filter(([key]) => global[key]).map(([key, text]) => typeof global[key] ===
        'number' ? `${text} ${commas(global[key])}\u00d7` : text);
    return el('section', 'sfglobal', div('row2', span(`pill ${kind}`,
        global.allowed ? 'allowed' : word), el('b', 'mono', global.name || 'persistent id'),
    span('dim', [global.about, ...often].filter(Boolean).join(', '))),
    (global.at || []).map((at) => use(global, at)));
}

function finding(one) {
    const link = one.name === undefined ? null : el('button', {class: 'link',
        onclick: () => go({view: 'details', at: one.name})}, one.name || 'the file');
    return line(one.severity, one.code, one.text, ' ', link);
}

const card = (title, note, ...list) => el('section', 'tlcard', el('h2', null, el('b', null, title),
    span('dim', note)), list);

function drawn(file, checked) {
    const [meaning, advice] = WORDS[checked.verdict] || WORDS.inconclusive;
    const {checks = [], globals = [], findings = []} = checked;
    return [el('header', 'sfhead', verdictPill(checked.verdict),
        el('b', 'cut', file.name), span('dim grow', checked.error || meaning)),
    card('What to do', '', el('p', 'sftext', advice, span('dim', ' torchoscope itself ' +
        'has run nothing of this file.'))),
    globals.length ? card('Names outside the allow-list', plural(globals.length, 'name'),
        globals.map(one)) : null,
    card('What was checked', '', el('ul', 'sflist', checks.map((check) => line(check.mark,
        check.topic, check.text)))),
    findings.length ? card('Findings', commas(findings.length), el('ul', 'sflist',
        findings.map(finding))) : null];
}

export function safety(stage) {
    const box = div('tl');
    let last = null;
    async function draw() {
        const promise = ask('check', {file: state.file});
        if (promise === last) return;
        last = promise;
        if (!box.firstChild) box.append(loading(promise, 'Checking what loading would do'));
        try {
            const {checked} = await promise;
            if (promise === last) put(box, ...drawn(files.get(state.file),
                checked[0]).filter(Boolean));
        } catch (error) {
            if (promise === last) put(box, failure(error, () => {
                last = null;
                draw();
            }));
        }
    }
    stage.append(box);
    draw();
    return {state() {}, news: draw, close: () => { last = null; }};
}
