/* app.js - starts the page and mounts its parts. */

import {isStatic, onStatus} from './api.js';
import {closeMenu, div, el, failure, icon, put} from './dom.js';
import {onTheme, setTheme} from './draw.js';
import {fileList} from './files.js';
import {graphView} from './graph_view.js';
import {bind} from './keys.js';
import {later} from './later.js';
import {connection, files, onConnection, onNews, startLive} from './live.js';
import {connectionBanner, nothingOpen, tokenMissing, waiting} from './notices.js';
import {overview} from './overview.js';
import {panels, toggleSheet} from './panels.js';
import {scrubber} from './scrubber.js';
import {search} from './search.js';
import {table} from './table.js';
import {go, onState, state} from './state.js';
import {keptTheme, topbar} from './topbar.js';
import {tree} from './tree.js';

/* THE TABLE of views, in the order of the bar. A file opens in the first one that fits.
   wide: hides the tree; hidden: not listed in the bar. */
const views = [
    overview,
    graphView,
    table,
    later({id: 'curves', title: 'Curves', icon: 'curves', wide: true,
        fits: (file) => file.has.includes('history')}),
    later({id: 'timeline', title: 'Timeline', icon: 'timeline', wide: true,
        fits: (file) => file.has.includes('calls')}),
    later({id: 'compare', title: 'Compare', icon: 'compare', wide: true, fits: () => true}),
    later({id: 'details', title: 'Details', icon: 'details', fits: () => true}),
    later({id: 'safety', title: 'Safety', icon: 'safety', hidden: true,
        fits: (file) => Boolean(file.verdict)}),
];

/* Parts around the views, mounted once. `where` names the element that a part fills. They
   receive state changes and news like views. */
const parts = [
    {...search, where: 'search'},
    {...tree, where: 'tree'},
    {...panels, where: 'panels'},
    {...scrubber, where: 'scrubber'},
];

const top = topbar(views);
const places = {
    search: top.search,
    tree: el('aside', {class: 'tree', aria: {label: 'Modules'}}),
    panels: el('aside', {class: 'panels', aria: {label: 'Panels'}}),
    scrubber: div('bottom'),
};
const stage = el('main', {class: 'stage', tabIndex: -1, aria: {label: 'View'}});
const notice = div('notice');
const bottomBar = el('nav', {class: 'bottomnav', aria: {label: 'Views'}});
let mounted = null; // {view, file, part}
let around = null; // parts that are mounted
let shown = ''; // notice on the stage
let list = null; // of the files, while it is shown

const fileNow = () => files.get(state.file);

/** The view that the address names if it fits the file, else the first that fits. */
function viewNow(file) {
    const asked = views.find((one) => one.id === state.view);
    if (file.pending) return asked || null; // the file is not read yet
    const fits = views.filter((one) => one.fits(file));
    return fits.find((one) => one.id === state.view) || fits[0] || null;
}

function unmount() {
    if (mounted) mounted.part.close();
    if (list) list.ends.forEach((end) => end());
    mounted = list = null;
    put(stage);
}

/** Shows an element instead of a view. */
function say(kind, element) {
    if (shown === kind) return;
    unmount();
    shown = kind;
    put(stage, element);
    document.body.classList.add('bare');
    document.body.dataset.ready = kind;
}

function mountAround() {
    if (around) return;
    around = parts.map((one) => ({...one.mount(places[one.where]), id: one.id}));
}

/** Shows the list of files: several are served and none is selected. */
function showFiles() {
    if (list) list.update();
    else {
        const made = fileList();
        say('files', made);
        list = made;
    }
    return null;
}

function show() {
    const file = fileNow();
    top.update();
    updateBottom(file);
    if (connection.status === 'refused') return say('token', tokenMissing());
    if (!state.file && files.size > 1) return showFiles();
    if (!file) return connection.status === 'starting' ? null :
        say(`none ${state.file}`, nothingOpen(state.file));
    const view = viewNow(file);
    if (!view) return file.pending ? null : say(`waiting ${file.id}`, waiting(file));
    document.body.classList.remove('bare');
    document.body.classList.toggle('wide', Boolean(view.wide));
    mountAround();
    if (mounted && mounted.view === view && mounted.file === file.id) return null;
    unmount();
    shown = '';
    stage.ariaLabel = view.title;
    try {
        mounted = {view, file: file.id, part: view.mount(stage)};
    } catch (error) {
        put(stage, failure(error));
        throw error;
    }
    const {part} = mounted, ready = () => {
        if (mounted?.part === part) document.body.dataset.ready = view.id;
    };
    if (part.loaded) part.loaded.then(ready);
    else ready();
    return null;
}

/** Completes the address with file and view; adds no history entry. */
function complete() {
    const first = files.keys().next().value;
    if (!state.file && files.size === 1) go({file: first}, 'replace');
    const file = fileNow(), view = file && !file.pending && viewNow(file);
    if (view && state.view !== view.id) go({view: view.id}, 'replace');
}

function updateBottom(file) {
    const fits = file ? views.filter((one) => one.fits(file) && !one.hidden) : [];
    const one = (name, image, on, onclick) => el('button', {class: on ? 'on' : '',
        aria: {current: on ? 'page' : null}, onclick}, icon(image), name);
    bottomBar.hidden = !file;
    put(bottomBar, fits.slice(0, 3).map((view) => one(view.title, view.icon,
        view.id === state.view, () => go({view: view.id}))),
    one('Modules', 'table', false, () => document.body.classList.toggle('treeopen')),
    state.panels.length > 0 && one('Panels', 'panels', false, toggleSheet));
}

onState((changed) => {
    closeMenu();
    if (changed.has('theme')) setTheme(state.theme || keptTheme());
    if (changed.has('at') || changed.has('view')) document.body.classList.remove('treeopen');
    const before = mounted;
    if (!state.file || !state.view) complete();
    show();
    if (fileNow()) for (const part of around || []) part.state(changed);
    if (mounted && mounted === before) mounted.part.state(changed);
});

onNews((changed) => {
    const before = mounted;
    complete();
    show();
    const file = changed.find((one) => one.id === state.file);
    if (!file || !before) return;
    for (const part of around || []) part.news(file);
    if (mounted && mounted === before) mounted.part.news(file);
});

onConnection(() => {
    put(notice, connectionBanner());
    show();
});

onStatus((status) => {
    if ((status === 401 || status === 403) && connection.status !== 'refused') {
        connection.status = 'refused';
        show();
    }
});

onTheme(() => top.update());

function bindPage() {
    const key = (keys, what, run) => bind({keys, what, run, where: 'Page'});
    key(['\\'], 'tree', () => {
        document.body.classList.toggle(innerWidth < 1200 ? 'treeopen' : 'notree');
    });
    bind({keys: ['Esc'], where: 'Page', what: 'close what lies above', inFields: true, run() {
        closeMenu();
        document.body.classList.remove('treeopen');
        return false;
    }});
    views.slice(0, 9).forEach((view, i) => bind({keys: [String(i + 1)], where: 'Views',
        what: view.title, run: () => fileNow() && view.fits(fileNow()) ?
            go({view: view.id}) : false}));
}

function begin() {
    const theme = state.theme || keptTheme();
    if (theme) setTheme(theme);
    if (isStatic) document.body.classList.add('static');
    bindPage();
    top.bar.prepend(el('a', {class: 'skip', href: '#', onclick(event) {
        event.preventDefault();
        stage.focus();
    }}, 'To the view'));
    document.body.append(top.bar, notice, div('middle', places.tree, stage,
        places.panels), places.scrubber, bottomBar);
    top.update();
    startLive();
}

begin();
