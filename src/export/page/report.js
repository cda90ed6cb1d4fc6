'use strict';
/* The report's script, three files joined into one: this one (keys, clicks, tools),
   report_table.js (rows) and report_details.js (the details of a row). Only open rows are in the document. All texts and numbers come formatted from the program; this only
   shows, searches, sorts and folds them, with textContent, never as HTML. */

const RUN = 1, ALARM = 2, WARN = 4, SPOILT = 8, DIM = 16; // as in report_rows.c
const CELLS = 5; // where the cells of columns begin in a row
const AT_ONCE = 1000; // rows
const FEW = 40; // rows that are open at the start
const THEME = 'torchoscope-theme';
const SVG = 'http://www.w3.org/2000/svg';

let data, table, body, field, found;
let rows, above, ends; // above: each row's parent; ends: one past its last descendant
let open, treeOpen; // by row; during a search, open belongs to the search
let keep = null, hits = null; // by row, of a search
let shown = [], limit = AT_ONCE, current = 0;
let sorted = null, orders = new Map();
const details = new Set();

/* --- Light and dark */

function storedTheme(value) {
    try {
        if (value) localStorage.setItem(THEME, value);
        return localStorage.getItem(THEME);
    } catch {
        return null; // no storage for file: pages
    }
}

function isDark() {
    const asked = document.documentElement.dataset.theme;
    return asked ? asked === 'dark' : matchMedia('(prefers-color-scheme:dark)').matches;
}

function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
}

const fromHash = /^#(dark|light)$/.exec(location.hash);
if (fromHash) setTheme(fromHash[1]);
else if (storedTheme()) setTheme(storedTheme());
document.documentElement.classList.add('live');

/* --- Small parts */

function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
}

function icon(className, ...paths) {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('class', className);
    svg.setAttribute('viewBox', '0 0 14 14');
    svg.setAttribute('aria-hidden', 'true');
    for (const d of paths) {
        const path = document.createElementNS(SVG, 'path');
        path.setAttribute('d', d);
        svg.append(path);
    }
    return svg;
}

function button(text, onclick) {
    const element = make('button', 'btn', text);
    element.type = 'button';
    element.onclick = onclick;
    return element;
}

const text = (row, at) => data.texts[rows[row][at]];
const flag = (row, bit) => (rows[row][1] & bit) !== 0;
const hasBelow = (row) => ends[row] > row + 1;

/** The full name; rows of folded runs are not part of it. */
function path(row) {
    const names = [];
    for (; row > 0; row = above[row]) if (!flag(row, RUN)) names.unshift(text(row, 3));
    return names.join('.');
}

/* --- Keys and clicks */

function go(row) {
    current = row;
    for (const line of body.querySelectorAll('tr[tabindex="0"]')) line.tabIndex = -1;
    const line = body.querySelector(`tr[data-row="${row}"]`);
    if (!line) return;
    line.tabIndex = 0;
    line.focus();
}

function fold(row) {
    open[row] ^= 1;
    render();
    go(row);
}

function toggleDetails(row) {
    if (rows[row].length <= CELLS + 2 * data.columns.length) return; // a run has none
    if (!details.delete(row)) details.add(row);
    render();
    go(row);
}

function press(event) {
    const line = event.target.closest('tr[data-row]');
    if (!line || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = Number(line.dataset.row), at = shown.indexOf(row);
    const last = Math.min(shown.length, limit) - 1;
    const keys = {
        ArrowDown: () => go(shown[Math.min(at + 1, last)]),
        ArrowUp: () => go(shown[Math.max(at - 1, 0)]),
        Home: () => go(shown[0]),
        End: () => go(shown[last]),
        ArrowRight: () => hasBelow(row) && (open[row] ? go(shown[at + 1]) : fold(row)),
        ArrowLeft: () => (open[row] ? fold(row) : above[row] >= 0 && go(above[row])),
        Enter: () => (hasBelow(row) ? fold(row) : toggleDetails(row)),
        ' ': () => (hasBelow(row) ? fold(row) : toggleDetails(row)),
        i: () => toggleDetails(row),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
}

function click(event) {
    const line = event.target.closest('tr[data-row]');
    if (!line || String(getSelection())) return;
    const row = Number(line.dataset.row);
    if (hasBelow(row) && event.target.closest('.name')) fold(row);
    else toggleDetails(row);
}

/** Follow a link to a place: go to its row, or to the nearest row above it. */
function follow(event) {
    const link = event.target.closest('a[data-name]');
    if (!link) return;
    event.preventDefault();
    field.value = '';
    search();
    const rowOf = new Map(rows.map((_, i) => [flag(i, RUN) ? null : path(i), i]));
    let name = link.dataset.name;
    while (name && !rowOf.has(name))
        name = name.slice(0, Math.max(0, name.lastIndexOf('.')));
    const row = rowOf.get(name) ?? 0;
    for (let at = above[row]; at >= 0; at = above[at]) open[at] = 1;
    render();
    go(row);
}

function openAll() {
    const all = treeOpen.every((one) => one === 1);
    if (all) {
        treeOpen.fill(0);
        openFirst();
    } else {
        treeOpen.fill(1);
    }
    search();
}

/** Print with all rows open, then restore what was open. */
function printAll() {
    const before = treeOpen.slice();
    treeOpen.fill(1);
    open = treeOpen;
    keep = null;
    limit = Infinity;
    render();
    addEventListener('afterprint', () => {
        treeOpen.set(before);
        search();
    }, {once: true});
    print();
}

/* --- Putting it together */

function makeTools() {
    const theme = button(isDark() ? 'Light' : 'Dark', () => {
        const other = isDark() ? 'light' : 'dark';
        storedTheme(other);
        setTheme(other);
        theme.textContent = isDark() ? 'Light' : 'Dark';
        render();
    });
    theme.id = 'theme';
    const top = make('div', 'tools');
    top.append(button('Print with all rows', printAll), theme);
    document.querySelector('.brand').append(top);
    const box = make('label', 'search'), tools = document.getElementById('tools');
    field = make('input');
    field.type = 'search';
    field.placeholder = 'Search modules';
    field.ariaLabel = 'Search modules';
    field.oninput = search;
    field.onkeydown = (event) => {
        if (event.key === 'Escape') {
            field.value = '';
            search();
        }
        if (event.key === 'ArrowDown' || event.key === 'Enter') go(shown[0]);
    };
    box.append(icon('i', 'M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9', 'M9.5 9.5l3 3'),
        field, make('kbd', '', '/'));
    found = make('span', 'dim');
    found.setAttribute('role', 'status');
    tools.className = 'tools';
    const all = button('Open all', openAll);
    all.id = 'open';
    tools.append(found, box, all);
}

function makeHead() {
    for (const head of table.tHead.querySelectorAll('th')) {
        head.tabIndex = 0;
        head.onclick = () => sortBy(head);
        head.onkeydown = (event) => {
            if (event.key === 'Enter' || event.key === ' ') {
                event.preventDefault();
                sortBy(head);
            }
        };
    }
}

/** A graph that is wider than the page begins with its middle. */
function centreGraph() {
    const graph = document.querySelector('.graph');
    if (graph) graph.scrollLeft = (graph.scrollWidth - graph.clientWidth) / 2;
}

function start() {
    data = JSON.parse(document.getElementById('data').textContent);
    table = document.getElementById('table');
    body = table.tBodies[0];
    table.setAttribute('role', 'treegrid');
    makeTools();
    makeHead();
    centreGraph();
    makeTree();
    openFirst();
    body.onclick = click;
    body.onkeydown = press;
    addEventListener('click', follow);
    addEventListener('keydown', (event) => {
        if (event.key !== '/' || event.target === field) return;
        event.preventDefault();
        field.focus();
    });
    addEventListener('copy', (event) => { // numbers have U+2212
        event.clipboardData.setData('text/plain',
            String(getSelection()).replaceAll('\u2212', '-'));
        event.preventDefault();
    });
    matchMedia('(prefers-color-scheme:dark)').onchange = render;
    matchMedia('(max-width:719px)').onchange = render;
    addEventListener('beforeprint', () => lightPictures(true));
    addEventListener('afterprint', () => lightPictures(false));
    if (data.left_out)
        table.after(make('p', 'dim',
            `${data.left_out} more kept values have no picture: a page holds 8MB.`));
    render();
}

addEventListener('DOMContentLoaded', start);
