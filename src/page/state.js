/* state.js - the state of the page. All of it is in the address, after the #, so that links,
   back and forward work everywhere, also in a saved page. */

/* Names equal those of src/explorer/settings.c where the setting is the same.
   name: null or '' if absent; text: '' if absent; list: repeated. */
const KEYS = {
    file: 'text', view: 'text', at: 'name', step: 'number', panels: 'list', level: 'text',
    root: 'text', depth: 'number', colour: 'text', open: 'list', filter: 'text',
    sort: 'text', reverse: 'flag', log: 'flag', smooth: 'number', x: 'text', slice: 'text',
    flat: 'text',
    call: 'number', pass: 'text', hist: 'number', columns: 'text', from: 'number',
    to: 'number', rank: 'number', runs: 'list', logs: 'list', right: 'text', query: 'text',
    expand: 'flag', chart: 'text', tab: 'text', theme: 'text', axis: 'text', clip: 'number',
    span: 'text',
};
/* Kept when another file is opened; all others are reset. */
const KEPT = ['view', 'theme', 'colour', 'log', 'axis', 'clip', 'smooth', 'x', 'sort', 'reverse',
    'level'];

const NOTHING = {text: '', name: null, number: null, list: [], flag: false};
const listeners = new Set();

/** Read-only; go() changes it. */
export const state = {};

function read(values, key) {
    const kind = KEYS[key], all = values.getAll(key);
    if (!all.length) return kind === 'list' ? [] : NOTHING[kind];
    if (kind === 'list') return all;
    if (kind === 'flag') return all[0] !== '0';
    if (kind !== 'number') return all[0];
    return all[0] !== '' && Number.isFinite(Number(all[0])) ? Number(all[0]) : null;
}

function parse(hash) {
    const values = new URLSearchParams(hash.replace(/^#/, '')), made = {};
    for (const key of Object.keys(KEYS)) made[key] = read(values, key);
    return made;
}

const same = (a, b) => a === b || (Array.isArray(a) && Array.isArray(b) &&
    a.length === b.length && a.every((one, i) => one === b[i]));

/** The address of the state with these changes, for links. */
export function address(changes = {}) {
    const next = {...state, ...changes}, values = new URLSearchParams();
    for (const [key, kind] of Object.entries(KEYS)) {
        const value = next[key];
        if (kind === 'list') value.forEach((one) => values.append(key, one));
        else if (kind === 'flag') value && values.set(key, '1');
        else if (value !== NOTHING[kind] && value !== null) values.set(key, value);
    }
    return `#${values}`;
}

function take(next) {
    const changed = new Set(Object.keys(KEYS).filter((key) => !same(state[key], next[key])));
    Object.assign(state, next);
    if (changed.size) for (const fn of [...listeners]) fn(changed);
    return changed;
}

/** Changes the state: go({at: 'layer1.0', step: null}). how: 'push' makes an entry of the
    history, 'replace' does not. */
export function go(changes, how = 'push') {
    const next = {...state, ...changes};
    if ('file' in changes && changes.file !== state.file && state.file)
        for (const [key, kind] of Object.entries(KEYS))
            if (key !== 'file' && !(key in changes) && !KEPT.includes(key))
                next[key] = kind === 'list' ? [] : NOTHING[kind];
    if (Object.keys(next).every((key) => same(next[key], state[key]))) return;
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', address(next));
    take(next);
}

/** Calls fn(changed: Set of keys) after each change; returns a function that stops it. */
export function onState(fn) {
    listeners.add(fn);
    return () => listeners.delete(fn);
}

Object.assign(state, parse(location.hash));
addEventListener('popstate', () => take(parse(location.hash)));
addEventListener('hashchange', () => take(parse(location.hash)));
