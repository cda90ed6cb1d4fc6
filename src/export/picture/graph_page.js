/* graph_page.js - the file of a graph: its bar, theme, help; the start. */

import {loadState, saveState} from './address.js';
import {button, icon, make} from './elements.js';
import {allOpen, goTo, groupsIn, toggleAll} from './fold.js';
import {data} from './graph_data.js';
import {escape, keyTable, runKey} from './keys.js';
import {hits, setColour} from './marks.js';
import {mountGraph, path} from './mount.js';
import {scene} from './scene.js';
import {clearSearch, field, makeSearch, nextHit} from './search.js';
import {tip} from './tips.js';
import {stage} from './view.js';

const THEME = 'torchoscope-theme';

let pathBar, foldButton, toast, help, colourMenu, toastTimer = 0;

/** One line at the bottom, for four seconds. */
function say(text) {
    clearTimeout(toastTimer);
    toast.textContent = text;
    toast.hidden = false;
    toastTimer = setTimeout(() => (toast.hidden = true), 4000);
}

/* --- Light and dark */

function storedTheme(value) {
    try {
        if (value) localStorage.setItem(THEME, value);
        return localStorage.getItem(THEME);
    } catch {
        return null; // no storage for file: pages and sandboxed frames
    }
}

function isDark() {
    const asked = document.documentElement.dataset.theme;
    return asked ? asked === 'dark' : matchMedia('(prefers-color-scheme:dark)').matches;
}

function switchTheme() {
    const other = isDark() ? 'light' : 'dark';
    storedTheme(other);
    document.documentElement.dataset.theme = other;
}

/* --- The bar */

/** Names from the model to the root; those above the file's root are not links. */
function drawPath() {
    const parts = (data.title ? [data.title] : data.path).map((text) => ({text}));
    parts[parts.length - 1].open = () => goTo(0);
    parts.push(...path());
    if (parts.length > 6) parts.splice(2, parts.length - 5, {text: '\u2026'});
    pathBar.replaceChildren();
    parts.forEach(({text, open}, i) => {
        if (i) pathBar.append(make('span', 'then', '\u203a'));
        const last = i === parts.length - 1;
        const part = make(last || !open ? 'span' : 'button', 'part', text);
        if (last) part.setAttribute('aria-current', 'page');
        else if (open) part.onclick = open;
        pathBar.append(part);
    });
}

function makeColourMenu() {
    const label = make('label', 'menu', 'Colour');
    colourMenu = make('select');
    for (const [value, title] of [['family', 'op family'],
        ...data.metrics.filter((one) => one.colour !== false)
            .map((one) => [one.name, one.title])]) {
        const option = make('option', '', title);
        option.value = value;
        colourMenu.append(option);
    }
    colourMenu.value = data.colour;
    colourMenu.onchange = () => setColour(colourMenu.value);
    label.append(colourMenu);
    return label;
}

function makeBar() {
    const bar = document.getElementById('bar'), tools = make('div', 'tools');
    pathBar = make('nav', 'path');
    pathBar.setAttribute('aria-label', 'Path');
    tools.append(makeSearch(), makeColourMenu(),
        foldButton = button('Open everything (Z)', 'Open all', toggleAll),
        button('Light or dark', icon('M11.5 8.5a5 5 0 1 1-6-6a4 4 0 0 0 6 6z'),
            switchTheme),
        button('Keys (?)', '?', toggleHelp));
    bar.append(pathBar, tools);
    const facts = document.getElementById('facts');
    facts.textContent = data.facts;
    if (data.note) facts.append(make('span', 'note', data.note));
}

/** The button names its next effect. */
function labelFoldButton() {
    const word = allOpen() ? 'Fold' : 'Open', label = `${word} everything (Z)`;
    foldButton.hidden = groupsIn(scene.root).length === 0;
    foldButton.textContent = `${word} all`;
    foldButton.title = label;
    foldButton.setAttribute('aria-label', label);
}

/* --- Keys */

const KEY_NAMES = {' ': 'Space', Escape: 'Esc', ArrowUp: 'Up', ArrowDown: 'Down',
    ArrowLeft: 'Left', ArrowRight: 'Right'};
const KEY_SIGNS = {Up: '\u2191', Down: '\u2193', Left: '\u2190', Right: '\u2192',
    '-': '\u2212'};

function closeOne() {
    if (!help.hidden) toggleHelp();
    else if (hits.length && tip.hidden) clearSearch();
    else escape();
}

const pageKeys = [
    [['/'], 'search', () => field.select()],
    [['n'], 'next match', () => nextHit(1)],
    [['N'], 'match before', () => nextHit(-1)],
    [['?'], 'this help', () => toggleHelp()],
    ...keyTable.map((one) => (one[0][0] === 'Esc' ? [one[0], one[1], closeOne] : one)),
];

function press(event) {
    const own = event.target.closest('button,select,input,a');
    const key = KEY_NAMES[event.key] ?? event.key;
    const found = pageKeys.find(([names]) => names.includes(key));
    if (event.ctrlKey || event.metaKey || event.altKey || !found) return;
    if (own && (own.tagName !== 'BUTTON' || key === 'Enter' || key === 'Space')) return;
    event.preventDefault();
    if (!help.hidden && key !== 'Esc' && key !== '?') toggleHelp();
    if (key !== '/' && key !== '?') stage.focus({preventScroll: true});
    runKey(found[2], key);
}

function makeHelp() {
    help = make('div', 'help');
    help.setAttribute('role', 'dialog');
    help.setAttribute('aria-label', 'Keys');
    help.tabIndex = -1;
    help.hidden = true;
    const list = make('dl');
    for (const [names, what] of pageKeys) {
        const term = make('dt');
        names.forEach((one) => term.append(make('kbd', '', KEY_SIGNS[one] ?? one)));
        list.append(term, make('dd', '', what));
    }
    help.append(make('b', '', 'Keys'), list, make('p', 'dim',
        'Mouse: click a title or a chevron to fold and open, double-click a folded ' +
        'box to go in, drag to move, wheel to zoom.'));
    return help;
}

/** The focus goes to the list, so that a screen reader reads it, and back. */
function toggleHelp() {
    help.hidden = !help.hidden;
    (help.hidden ? stage : help).focus({preventScroll: true});
}

/* --- Start */

function start() {
    toast = document.getElementById('toast');
    mountGraph(document.getElementById('stage'),
        JSON.parse(document.getElementById('data').textContent), {
            legend: document.getElementById('legend'), say,
            onRoot: drawPath, onScene: labelFoldButton, onChange: saveState,
            onPress: () => help.hidden || toggleHelp(),
            begin() {
                makeBar();
                stage.append(makeHelp());
                return loadState();
            },
        });
    addEventListener('keydown', press);
    document.body.dataset.ready = 'yes';
}

const stored = document.documentElement.dataset.theme ? null : storedTheme();
if (stored) document.documentElement.dataset.theme = stored;
addEventListener('DOMContentLoaded', start);
