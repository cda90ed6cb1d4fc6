/* find.js - finds places by a short text, as the terminal does: rows/search.h. */

import {TIMES} from './text.js';

/** The position of an error in a regular expression: after its longest valid prefix. */
function where(text, flags) {
    for (let n = text.length; n > 0; n--) {
        try {
            RegExp(text.slice(0, n - 1), flags);
            return n;
        } catch { /* shorter */ }
    }
    return 1;
}

/** One alternative: (name, full, start of the name in full, type) -> does it match? */
function choice(text) {
    const regex = /^\/(.+)\/$/.exec(text)?.[1], inner = regex ?? text;
    const exact = /[A-Z]/.test(inner), flags = exact ? '' : 'i';
    const types = exact || inner.includes(TIMES) || (!regex && /[(=]/.test(inner));
    const paths = inner.includes('.'), glob = !regex && /[*?]/.test(inner);
    const source = regex ?? inner.replace(/[.*+?^${}()|[\]\\]/g, (c) => !glob ? `\\${c}` :
        c === '*' ? '.*' : c === '?' ? '.' : `\\${c}`);
    let made;
    try {
        made = RegExp(glob ? `^(?:${source})$` : source, regex ? flags : `${flags}s`);
    } catch {
        throw new Error(`/${inner}/ is no regular expression: see character ` +
            `${where(source, flags)}`);
    }
    const whole = !regex && !glob && !types && !paths;
    const inName = (full, start) => {
        const all = RegExp(made.source, `${made.flags}g`);
        for (let hit; (hit = all.exec(full));) { // behind the names above it
            if (hit.index + hit[0].length > start) return true;
            all.lastIndex = hit.index + 1;
        }
        return false;
    };
    return {whole, names: (name, full) => paths ? inName(full(), full().length - name.length) :
        made.test(name),
    types: (type, about) => types ? made.test(about()) : whole &&
        type.toLowerCase() === text.toLowerCase(), type: (type) => made.test(type)};
}

const kept = new WeakMap(); // places -> Map of results

/** The places that match a text: {list, has: Uint8Array}. For `!text`, `has` marks places
    that neither match nor lie below a match. Throws a sentence for an invalid regex. */
export function find(model, text) {
    if (!kept.has(model)) kept.set(model, new Map());
    const results = kept.get(model);
    if (!results.has(text)) {
        if (results.size > 8) results.clear();
        results.set(text, look(model, text));
    }
    return results.get(text);
}

function look(model, text) {
    const inverse = text.startsWith('!'), inner = inverse ? text.slice(1) : text;
    const has = new Uint8Array(model.n);
    const all = (/^\/.+\/$/.test(inner) ? [inner] : inner.split('|')).map((one) => one.trim())
        .filter(Boolean).map(choice);
    const about = (i) => `${model.klass(i)}(${model.text(model.rows.args?.[i])})`;
    const mark = (test) => {
        let n = 0;
        for (let i = 1; i < model.n; i++) if (!has[i] && test(i)) n += has[i] = 1;
        return n;
    };
    const known = new Map(); // few names and classes are different
    const once = (i) => {
        const key = `${model.rows.name[i]} ${model.rows.class[i]} ${model.rows.args?.[i]}`;
        if (!known.has(key)) known.set(key, all.some((one) => one.names(model.name(i), null) ||
            one.types(model.klass(i), () => about(i))));
        return known.get(key);
    };
    const n = inner.includes('.') ? mark((i) => all.some((one) =>
        one.names(model.name(i), () => model.full(i)) ||
        one.types(model.klass(i), () => about(i)))) : mark(once);
    if (!n && all.length) mark((i) => model.kind(i) !== 'tensor' && all.some((one) =>
        one.whole && one.type(model.klass(i))));
    if (inverse) {
        for (let i = 1; i < model.n; i++) has[i] = has[i] || (model.parent[i] > 0 &&
            has[model.parent[i]]) ? 1 : 0;
        for (let i = 1; i < model.n; i++) has[i] = 1 - has[i];
    }
    const list = [];
    has.forEach((one, i) => one && list.push(i));
    return {list, has, inverse};
}

/** The rows that a filtered view keeps: matches, and places below and above them. */
export function keepOf(model, text) {
    const {has, inverse} = find(model, text), keep = has.slice();
    for (let i = 1; i < model.n && !inverse; i++) if (keep[model.parent[i]]) keep[i] = 1;
    for (let i = model.n - 1; i > 0; i--) if (keep[i]) keep[model.parent[i]] |= 2;
    keep[0] = keep[0] || 2;
    return keep;
}

/** The matches of a text, or null while it is not a valid regular expression. */
export function hitsOf(model, text) {
    try {
        return find(model, text);
    } catch {
        return null;
    }
}
