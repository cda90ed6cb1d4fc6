
/* --- graph_page.js: the bar, the theme, printing, the start. */

const THEME = 'torchoscope-theme';

let pathBar, zoomText, foldButton, toast, toastTimer = 0;

function icon(d) {
    const svgIcon = shape('svg', 'i', {viewBox: '0 0 14 14', 'aria-hidden': 'true'});
    shape('path', '', {d}, svgIcon);
    return svgIcon;
}

function button(label, content, onclick) {
    const element = make('button', 'btn');
    element.type = 'button';
    element.setAttribute('aria-label', label);
    element.title = label;
    element.append(content);
    element.onclick = onclick;
    return element;
}

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

function themeChanged() {
    readColours();
    drawMinimap();
    paintLater();
}

function switchTheme() {
    const other = isDark() ? 'light' : 'dark';
    storedTheme(other);
    document.documentElement.dataset.theme = other;
    themeChanged();
}

/* --- The path of the root */

/** Names from the model to the root; those above the file's own root lead nowhere. */
function drawPath() {
    const chain = [];
    for (let at = scene.root; at !== NONE; at = box.parent[at]) chain.unshift(at);
    const parts = (data.title ? [data.title] : data.path).map((name) => ({name}));
    parts[parts.length - 1].at = 0;
    for (const at of chain.slice(1)) parts.push({name: textOf(box.full, at), at});
    if (parts.length > 6) parts.splice(2, parts.length - 5, {name: '\u2026'});
    pathBar.replaceChildren();
    parts.forEach(({name, at}, i) => {
        if (i) pathBar.append(make('span', 'then', '\u203a'));
        const last = i === parts.length - 1;
        const part = make(last || at === undefined ? 'span' : 'button', 'part', name);
        if (last) part.setAttribute('aria-current', 'page');
        else if (at !== undefined) part.onclick = () => goTo(at);
        pathBar.append(part);
    });
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

/** The button says what it does next. */
function labelFoldButton() {
    const word = allOpen() ? 'Fold' : 'Open', label = `${word} everything (Z)`;
    foldButton.hidden = groupsIn(scene.root).length === 0;
    foldButton.textContent = `${word} all`;
    foldButton.title = label;
    foldButton.setAttribute('aria-label', label);
}

function makeCorner() {
    const corner = make('div', 'corner'), zoom = make('div', 'zoom');
    zoomText = make('span', 'dim');
    zoom.append(button('Zoom in (+)', icon('M7 2v10M2 7h10'), () => zoomMiddle(1.25)),
        button('Zoom out (-)', icon('M2 7h10'), () => zoomMiddle(0.8)),
        button('Fit (Space)', icon('M2 5V2h3M9 2h3v3M12 9v3H9M5 12H2V9'), fit),
        zoomText);
    corner.append(makeMinimap(), zoom);
    stage.append(corner);
}

/* --- Drawing */

function paint() {
    if (scene.painted) paintCanvas(rings());
    else {
        paintSvg();
        ringSvg(rings());
    }
    paintMinimap();
    zoomText.textContent = view.zoom < 0.01 ? '<1%' : `${Math.round(view.zoom * 100)}%`;
    if (tipBox !== NONE && !tip.hidden) placeTip(tipBox);
}

/** A canvas is printed as it is seen, in the colours of paper. */
function paintForPaper(begin) {
    const {dataset} = document.documentElement, kept = dataset.theme;
    if (begin) dataset.theme = 'light';
    readColours();
    if (begin) {
        if (kept) dataset.theme = kept;
        else delete dataset.theme;
    }
    paintCanvas([]);
    if (!begin) paintLater();
}

/** Paper gets the whole graph, in light colours, with all texts. */
function printGraph(begin) {
    if (scene.painted) {
        paintForPaper(begin);
        return;
    }
    if (!begin) {
        svg.removeAttribute('viewBox');
        paintLater();
        return;
    }
    const kept = {...view};
    Object.assign(view, {x: 0, y: 0, zoom: 1});
    lightSvg(null);
    svg.setAttribute('viewBox', `0 0 ${scene.width} ${scene.height}`);
    scene.frames.forEach((b) => dressTitle(b, drawn.get(b), 1));
    scene.nodes.forEach((b) => dressNode(b, drawn.get(b), 1));
    drawn.forEach((one) => (one.at = 1));
    paintSvg();
    ringSvg([]);
    Object.assign(view, kept);
}

/* --- Start */

function listen() {
    listenToPointers();
    addEventListener('keydown', press);
    stage.addEventListener('focus', relight);
    stage.addEventListener('blur', relight);
    addEventListener('resize', () => {
        holdView();
        paintLater();
    });
    matchMedia('(prefers-color-scheme:dark)').onchange = themeChanged;
    addEventListener('beforeprint', () => printGraph(true));
    addEventListener('afterprint', () => printGraph(false));
}

function start() {
    readData();
    stage = document.getElementById('stage');
    legend = document.getElementById('legend');
    toast = document.getElementById('toast');
    stage.setAttribute('aria-label', `Graph of ${data.path.join(' ')}. ` +
        'Arrow keys move, question mark lists all keys.');
    opened = Uint8Array.from(box.flags, (flags) => flags & FLAG_OPEN);
    colour = data.colour;
    makeCanvas();
    makeSvg();
    makeTip();
    makeBar();
    makeCorner();
    stage.append(makeHelp());
    readColours();
    const state = loadState();
    arrange(state.root);
    drawPath();
    Object.assign(view, state.view ?? startView());
    listen();
    paint();
    document.body.dataset.ready = 'yes';
}

const stored = document.documentElement.dataset.theme ? null : storedTheme();
if (stored) document.documentElement.dataset.theme = stored;
addEventListener('DOMContentLoaded', start);
