/* api.js - requests to the server, cached for each version of a file. A page made by
   `torchoscope export` contains the answers as JSON in #answers: an object that maps
   `name place=3` to the document, or to the key of an equal one (src/web/page_file.c). */

import {max} from './math.js';

const stored = document.getElementById('answers');
const answers = stored ? JSON.parse(stored.textContent) : null;
export const isStatic = answers !== null;

const MOST = 80; // documents kept
const cache = new Map(); // address -> {version, promise}, the newest last
const versions = new Map(); // file -> {version, model}
/* Their answers change with the model and its alarms, not with each step. */
const LASTING = new Set(['rows', 'info', 'graph', 'code', 'check']);
const listeners = new Set();

/** An error with a sentence for the user. status: of HTTP; 0: no answer. */
export class AskError extends Error {
    constructor(message, status) {
        super(message);
        this.status = status;
        if (!status) this.title = 'Not connected';
    }
}

function keptToken() {
    const values = new URLSearchParams(location.search), given = values.get('token');
    if (given === null) return sessionStorage.getItem('torchoscope-token') || '';
    sessionStorage.setItem('torchoscope-token', given);
    values.delete('token');
    const rest = String(values);
    history.replaceState(null, '', location.pathname + (rest ? `?${rest}` : '') + location.hash);
    return given;
}

let secret = '';
try {
    secret = keptToken();
} catch { /* the browser stores nothing */ }

/** The token of an address as printed by the server, or the token alone. */
export function setToken(text) {
    const found = /[?&]token=([^&#\s]+)/.exec(text);
    secret = found ? decodeURIComponent(found[1]) : text.trim();
    try {
        sessionStorage.setItem('torchoscope-token', secret);
    } catch { /* kept until the page is reloaded */ }
}

/** Calls fn(status) after each request: 200, 403, 0 (no connection) ... */
export function onStatus(fn) {
    listeners.add(fn);
}

const tell = (status) => listeners.forEach((fn) => fn(status));

/** fetch with the token; throws AskError. */
export async function get(path, options = {}) {
    let answer;
    try {
        answer = await fetch(path, {cache: 'no-store', ...options,
            headers: secret ? {'X-Torchoscope-Token': secret} : {}});
    } catch (error) {
        if (error.name === 'AbortError') throw error;
        tell(0);
        throw new AskError('torchoscope does not answer.', 0);
    }
    tell(answer.status);
    if (answer.ok) return answer;
    let sentence = `The server answered ${answer.status}.`;
    try {
        sentence = (await answer.json()).error || sentence;
    } catch { /* not JSON: a proxy answered */ }
    throw new AskError(sentence, answer.status);
}

function query(params) {
    const values = new URLSearchParams();
    for (const key of Object.keys(params).sort()) {
        const value = params[key];
        if (value === null || value === undefined || value === '' || value === false) continue;
        values.set(key, Array.isArray(value) ? value.join(',') : value === true ? '1' : value);
    }
    return String(values);
}

/* For a saved page: the arguments, sorted, that select a stored answer. Other arguments
   select its size or a part; the file contains one answer for all of them. */
const DIFFER = {
    code: ['call', 'place'], diff: ['right'], graph: ['all', 'call', 'level', 'pass', 'root'],
    modules: ['from', 'rank', 'to'], series: ['clip', 'from', 'log', 'phase', 'place', 'to'],
    show: ['call', 'place', 'slice'], step: ['step'], timeline: ['pass'],
};
/** The lines that describe the content of a saved page. */
export const contents = () => answers.contents;

const hasStep = ({step}) => step !== null && step !== undefined;

function storedKey(name, params) {
    if (name === 'rows' && params.columns)
        return hasStep(params) && nearest('cells', params) || 'rows all';
    return [name, ...(DIFFER[name] || []).filter((key) => params[key] || params[key] === 0)
        .map((key) => `${key}=${params[key]}`)].join(' ');
}

/** The key of the newest stored step at or before the requested one, or ''. */
function nearest(name, {step}) {
    const begin = `${name} step=`;
    const list = Object.keys(answers).flatMap((key) => key.startsWith(begin) ?
        [Number(key.slice(begin.length))] : []).filter((one) => one <= step);
    return list.length ? begin + max(...list) : '';
}

function answered(name, params) {
    const key = storedKey(name, params);
    let found = answers[key] ?? (name === 'step' ? answers[nearest(name, params)] : null);
    if (typeof found === 'string') found = answers[found];
    if (found) return Promise.resolve(found);
    return Promise.reject(new AskError('This saved page does not contain that. ' +
        'torchoscope serve shows everything.', 404));
}

/** Requests a document. Returns the same promise until the file changes. */
export function ask(name, params = {}) {
    if (isStatic) return answered(name, params);
    const key = `${name}?${query(params)}`;
    const now = versions.get(params.file), kept = cache.get(key);
    const lasts = LASTING.has(name) && now?.model !== undefined;
    const version = lasts ? now.model : now?.version;
    cache.delete(key);
    if (kept && kept.version === version) {
        cache.set(key, kept);
        return kept.promise;
    }
    const promise = get(`api/${key}`).then((answer) => answer.json());
    if (params.since) return promise; // increments are requested once
    cache.set(key, {file: params.file, version, lasts, promise});
    promise.catch(() => cache.get(key)?.promise === promise && cache.delete(key));
    if (cache.size > MOST) cache.delete(cache.keys().next().value);
    return promise;
}

/** Called by live.js: sets the current versions of a file and drops older answers. */
export function setVersion(file, version, model) {
    const before = versions.get(file);
    versions.set(file, {version, model});
    for (const [key, kept] of cache)
        if (kept.file === file && !kept.lasts && kept.version === before?.version)
            cache.delete(key);
}

/** Downloads a blob under this name. */
export function save(blob, name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Downloads the answer of a route: download('export', {file, form: 'csv'}). */
export async function download(path, params) {
    const answer = await get(`${path}?${query(params)}`);
    const said = /filename="?([^";]+)/.exec(answer.headers.get('Content-Disposition') || '');
    save(await answer.blob(), said ? said[1] : `torchoscope.${params.form || 'txt'}`);
}
