/* live.js - the served files and their changes, by server-sent events. They are read with
   fetch, because they need the token; behind a proxy that buffers them, the page polls. */

import {AskError, ask, get, isStatic, setVersion} from './api.js';
import {min} from './math.js';

const SILENT = 4000, POLL = 1000, FIRST_WAIT = 1000, MOST_WAIT = 15000; // ms

const news = new Set(), changes = new Set();

/** All files that are served, by id. */
export const files = new Map();

/** status: 'starting', 'open', 'lost' (tries again at `retry`), 'refused', 'static'. */
export const connection = {status: 'starting', retry: 0, polling: false};

/** Calls fn(files that changed). */
export function onNews(fn) {
    news.add(fn);
    return () => news.delete(fn);
}

export function onConnection(fn) {
    changes.add(fn);
    return () => changes.delete(fn);
}

function setStatus(status, retry = 0) {
    const before = connection.status;
    Object.assign(connection, {status, retry});
    if (before !== status || retry) changes.forEach((fn) => fn(connection));
}

const named = new Map(); // name -> ids of the files that have it

/** Adds the folder to the name if several files have the same name. */
function nameOf({file, name, path}) {
    if (!named.has(name)) named.set(name, new Set());
    const all = named.get(name).add(file);
    return all.size > 1 && path ? path.split(/[\\/]/).slice(-2).join('/') : name;
}

/** Takes a document `shelf` or `news`. */
function take(shelf) {
    const changed = [];
    if (isStatic) shelf.files.forEach((file) => Object.assign(file, {live: false, saved: true}));
    if (shelf.kind !== 'news' && shelf.complete !== false)
        for (const id of files.keys())
            if (!shelf.files.some((file) => String(file.id) === id)) files.delete(id);
    shelf.files.forEach(nameOf);
    for (const file of shelf.files) {
        file.name = nameOf(file);
        file.id = String(file.file);
        file.step = file.newest_step ?? null;
        file.has = file.has || [];
        const before = files.get(file.id);
        files.set(file.id, file);
        if (before && JSON.stringify(before) === JSON.stringify(file)) continue;
        setVersion(file.id, file.version, file.model);
        changed.push(file);
    }
    setStatus('open');
    if (changed.length) news.forEach((fn) => fn(changed));
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
let wake = () => {};

/** Waits until the page is visible. A hidden page closes its stream, because a browser
    allows six connections to a server. */
const seen = () => new Promise((done) => {
    const look = () => {
        if (document.hidden) return;
        document.removeEventListener('visibilitychange', look);
        done();
    };
    document.addEventListener('visibilitychange', look);
    look();
});

/** Reads one event stream until it ends or the page is hidden. Throws if nothing
    arrives. */
async function stream(since) {
    const stop = new AbortController(), leave = () => document.hidden && stop.abort();
    document.addEventListener('visibilitychange', leave);
    let timer = setTimeout(() => stop.abort(), SILENT);
    try {
        const answer = await get(`events?since=${since}`, {signal: stop.signal});
        const reader = answer.body.getReader(), decoder = new TextDecoder();
        let text = '';
        for (;;) {
            const {done, value} = await reader.read();
            if (done) return;
            clearTimeout(timer);
            timer = setTimeout(() => stop.abort(), 60000);
            text += decoder.decode(value, {stream: true});
            const events = text.split(/\r?\n\r?\n/);
            text = events.pop();
            for (const event of events) takeEvent(event);
        }
    } finally {
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', leave);
    }
}

function takeEvent(event) {
    const data = event.split(/\r?\n/).filter((line) => line.startsWith('data:'));
    if (data.length) take(JSON.parse(data.map((line) => line.slice(5)).join('\n')));
}

async function poll(since) {
    connection.polling = true;
    for (;;) {
        const answer = await (await get(`api/news?since=${since}`)).json();
        take(answer);
        since = answer.news;
        await sleep(document.hidden ? 5 * POLL : POLL);
    }
}

async function follow(since) {
    if (connection.polling) return poll(since);
    try {
        return await stream(since);
    } catch (error) {
        if (document.hidden && error.name === 'AbortError') return;
        if (error.name !== 'AbortError' && error.status !== 404) throw error;
        return poll(since); // a proxy buffers the events
    }
}

async function keepFollowing() {
    for (let wait = FIRST_WAIT; ;) {
        try {
            await seen();
            const shelf = await (await get('api/shelf')).json();
            take(shelf);
            wait = FIRST_WAIT;
            await follow(shelf.news);
            if (document.hidden) continue;
        } catch (error) {
            if (!(error instanceof AskError) && error.name !== 'TypeError' &&
                error.name !== 'SyntaxError') throw error;
            if (error.status === 401 || error.status === 403) {
                setStatus('refused');
                return;
            }
        }
        setStatus('lost', Date.now() + wait);
        await Promise.race([sleep(wait), new Promise((done) => { wake = done; })]);
        wait = min(MOST_WAIT, wait * 2);
    }
}

/** Reconnects immediately. */
export const retryNow = () => wake();

/** Starts following the server; call it again after a new token. */
export async function startLive() {
    if (!isStatic) return keepFollowing();
    take(await ask('shelf'));
    return setStatus('static');
}
