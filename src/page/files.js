/* files.js - the list of served files, which a folder opens with. */

import {button, div, el, put, span} from './dom.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {go, state} from './state.js';
import {VERDICTS, filePill, verdictPill} from './topbar.js';
import {NONE, bytes, commas, count, plural, short} from './text.js';

const MOST = 1000; // rows
/** 'capsule, step 161' */
const kindOf = ({kind, capsule}) => capsule ? `capsule, ${capsule.split(/[,:]/)[0]}` :
    kind || '';
const some = (value, text) => value === null || value === undefined ? NONE : text(value);

/* Title, sort key, cell. Numeric columns are right-aligned and sort in descending order. */
const COLUMNS = [
    ['name', (file) => file.name, (file) => el('b', null, file.name)],
    ['kind', kindOf, (file) => span({title: file.capsule}, kindOf(file))],
    ['format', (file) => file.format || ''],
    ['verdict', (file) => (VERDICTS[file.verdict] || [])[2] || '', (file) =>
        verdictPill(file.verdict) || (file.why ? span({class: 'cut dim', title:
        file.why}, file.why.replace(`${file.path} `, '')) : file.pending ? '\u2026' : NONE)],
    ['parameters', (file) => file.params ?? -1, (file) => some(file.params, count)],
    ['size', (file) => file.bytes ?? -1, (file) => some(file.bytes, bytes)],
    ['steps', (file) => file.steps ?? -1, (file) => some(file.steps, commas)],
    ['loss', (file) => Number(file.loss ?? NaN), (file) => some(file.loss, short)],
    ['alarms', (file) => file.alarms ?? -1, (file) => some(file.alarms, (n) => n ?
        span('pill alarm', commas(n)) : '0')],
    ['state', (file) => file.live ? 2 : file.ended ? 1 : 0, (file) => file.live || file.ended ?
        filePill(file) : NONE],
];
const isNumber = (k) => k > 3 && k < 9;

function order(list) {
    const k = COLUMNS.findIndex(([title]) => title === state.sort);
    if (k < 0) return list;
    const value = COLUMNS[k][1], way = (k > 3 ? -1 : 1) * (state.reverse ? -1 : 1);
    return [...list].sort((a, b) => {
        const x = value(a), y = value(b);
        if (typeof x === 'string') return way * x.localeCompare(y);
        if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) - Number.isNaN(y);
        return way * (x - y);
    });
}

/** The element, with update() after news and changes of the state. */
export function fileList() {
    const marked = new Set(), body = el('tbody'), head = el('tr'), note = span('dim grow');
    const open = (file) => go({file: file.id, sort: '', reverse: false, filter: '', view: ''});
    const runs = () => [...marked].filter((id) => files.get(id)?.has.includes('history'));
    const both = (changes) => go({sort: '', reverse: false, filter: '', ...changes});
    const compare = button({text: 'Compare', onclick() {
        const [file, right] = marked;
        both({file, right, view: 'compare'});
    }});
    const curves = button({text: 'Curves', onclick() {
        const [file, ...rest] = runs();
        both({file, runs: rest, view: 'curves'});
    }});
    const field = el('input', {type: 'search', class: 'field', placeholder: 'Filter',
        value: state.filter, aria: {label: 'Filter files'}, oninput: () =>
            go({filter: field.value}, 'replace')});
    const box = div('tl list', div('tlhead', el('b', null, 'Models and runs'), note,
        field, compare, curves), el('section', 'tlcard', div('wider', el('table', {aria:
        {label: 'Files'}}, el('thead', null, head), body))));

    const mark = (id) => {
        if (!marked.delete(id)) marked.add(id);
        buttons();
    };
    const buttons = () => {
        compare.disabled = marked.size !== 2;
        curves.disabled = runs().length < 2 || runs().length !== marked.size;
    };
    const row = (file) => el('tr', {tabIndex: -1, data: {file: file.id}, onclick(event) {
        if (!event.target.closest('input')) open(file);
    }}, el('td', null, el('input', {type: 'checkbox', checked: marked.has(file.id),
        tabIndex: -1, aria: {label: `Mark ${file.name}`}, onchange: () => mark(file.id)})),
    COLUMNS.map(([, value, cell], k) => el('td', isNumber(k) ? 'num' : '',
        (cell || value)(file) || NONE)));
    const title = ([name], k) => el('th', {class: isNumber(k) ? 'num' : '', aria: {sort:
        state.sort !== name ? null : (k > 3) !== state.reverse ? 'descending' : 'ascending'}},
    el('button', {class: 'link plainlink', onclick: () => go({sort: name,
        reverse: state.sort === name && !state.reverse}, 'replace')}, name));

    box.update = () => {
        const at = document.activeElement?.closest('tr')?.dataset.file;
        const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
        const all = [...files.values()], list = order(all.filter((file) => {
            const text = [file.name, kindOf(file), file.format, file.verdict,
                file.live ? 'live' : ''].join(' ').toLowerCase();
            return words.every((word) => text.includes(word));
        }));
        for (const id of marked) if (!files.has(id)) marked.delete(id);
        note.textContent = list.length === all.length ? plural(all.length, 'file') :
            `${commas(list.length)} of ${plural(all.length, 'file')}`;
        if (list.length > MOST) note.textContent += `, the first ${commas(MOST)}`;
        put(head, el('th', null, span('away', 'marked')), ...COLUMNS.map(title));
        put(body, ...list.slice(0, MOST).map(row));
        const focus = [...body.children].find((one) => one.dataset.file === at) ||
            body.firstChild;
        if (focus) focus.tabIndex = 0;
        if (at !== undefined && focus) focus.focus();
        buttons();
    };
    const now = () => body.contains(document.activeElement) && document.activeElement
        .closest('tr');
    const step = (by) => {
        const from = now(), to = !from ? body.firstChild : by > 0 ? from.nextSibling :
            from.previousSibling;
        if (!to) return;
        if (from) from.tabIndex = -1;
        to.tabIndex = 0;
        to.focus();
    };
    const key = (keys, what, run) => bind({keys, what, where: 'Files', run: (event, name) =>
        box.isConnected && (name === 'Down' || name === 'Up' || now()) ? run(event, name) : false});
    box.ends = [key(['Down', 'Up'], 'the next file', (event, name) =>
        step(name === 'Down' ? 1 : -1)),
    key(['Enter'], 'open the file', () => open(files.get(now().dataset.file))),
    key(['Space', 'x'], 'mark the file', () => {
        const mine = now().querySelector('input');
        mine.checked = !mine.checked;
        mark(now().dataset.file);
    })];
    box.update();
    return box;
}
