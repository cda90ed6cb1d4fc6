/* keys.js - THE TABLE of keys. Modules register theirs with bind(); the help lists all. */

import {dialog, div, el} from './dom.js';

const NAMES = {' ': 'Space', ArrowLeft: 'Left', ArrowRight: 'Right', ArrowUp: 'Up',
    ArrowDown: 'Down', Escape: 'Esc'};
const table = [];
let first = ''; // of two keys

/** keys: ['/', 'Ctrl+F', 'i g']; where: the heading in the help; what: a few words; run
    returns false to pass the key on; within: only while the focus is in this element;
    hidden: not in the help. Returns a function that removes it. */
export function bind(binding) {
    table.unshift(binding);
    return () => {
        const at = table.indexOf(binding);
        if (at >= 0) table.splice(at, 1);
    };
}

function nameOf(event) {
    const name = NAMES[event.key] || event.key;
    const control = event.ctrlKey || event.metaKey ? 'Ctrl+' : '';
    const shift = event.shiftKey && name.length > 1 ? 'Shift+' : '';
    return control + (event.altKey ? 'Alt+' : '') + shift +
        (control && name.length === 1 ? name.toUpperCase() : name);
}

const isTyping = (element) => element.isContentEditable ||
    (/^(input|textarea|select)$/i.test(element.tagName) &&
        !/^(checkbox|radio|range|button)$/.test(element.type));

function runKey(event) {
    if (event.defaultPrevented || document.querySelector('dialog[open]')) return;
    const key = nameOf(event), typing = isTyping(event.target);
    const both = first ? `${first} ${key}` : key;
    const onButton = /^(Enter|Space)$/.test(key) && event.target.closest('button,a,summary');
    if (/^(Shift|Control|Alt|Meta)$/.test(event.key) || onButton) return;
    first = '';
    const works = (one) => (!one.within || one.within.contains(event.target)) &&
        (!typing || one.inFields || (key.startsWith('Ctrl+') && key.length > 5));
    for (const one of [...table])
        if (works(one) && one.keys.includes(both) && one.run(event, both) !== false) {
            event.preventDefault();
            return;
        }
    if (table.some((one) => works(one) && one.keys.some((k) => k.startsWith(`${key} `)))) {
        first = key;
        event.preventDefault();
    }
}

addEventListener('keydown', runKey);

const SHOWN = {Left: '\u2190', Right: '\u2192', Up: '\u2191', Down: '\u2193'};

function line(one) {
    const keys = one.keys.flatMap((key) => [el('kbd', null, key.replace(/Left|Right|Up|Down/,
        (name) => SHOWN[name])), ' ']);
    return [el('dt', null, keys), el('dd', null, one.what)];
}

/** The help, as a dialog. */
export function showHelp() {
    const heads = new Map();
    for (const one of [...table].reverse())
        if (!one.hidden) heads.set(one.where, [...(heads.get(one.where) || []), one]);
    dialog('Keys', '', null, div('cols2', [...heads].map(([where, list]) => el('section', null,
        el('h3', null, where), el('dl', null, list.map(line))))));
}
