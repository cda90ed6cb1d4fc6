/* mount.js - creates, updates and removes a graph. One at a time: its parts share
   their variables.

   const graph = mountGraph(element, data, {
       legend,               an element for the legend
       say(text),            shows one line for a moment
       colour, root, select, zoom: initial state; all optional
       inputs: 'Input',      inputs are "Input 0" and "Input 1", not forward's names
       notes(name),          further lines of a tooltip
       onSelect(box, byKey), onHover(box): {id, name, tensor, around, group, call} or
                             null; name: the full name of its module; tensor: the
                             name of a tensor, "conv@input:x"; around: that of its
                             module or of the one around it
       onDrag(name),         boxes can be dragged elsewhere, as text
       root(),               the full name of what is drawn, for its inputs and outputs
       onIn(box), onUp(),    true: the caller shows the content
       onMore(ids),          the data lacks the content of these groups ('*': all):
                             fetch it, then update(data, ids)
       onRoot(), onScene(), onPress(), onChange(): the shown state changed
   }); */

import {makeCanvas, paintCanvas, paints, readColours} from './draw_canvas.js';
import {forgetSpecks} from './draw_specks.js';
import {drawScene, drawn, dressNode, dressTitle, forgetDrawn, lightSvg, makeSvg,
    paintSvg, restTimer, ringSvg, showParts, svg} from './draw_svg.js';
import {colour, levelOf, textWidth} from './dress.js';
import {SVG, button, icon, make, shape} from './elements.js';
import {announce, arrange, byKey, chooseBoxes, current, goTo, groupsIn, hovered,
    relight, selected} from './fold.js';
import {FLAG_OPEN, KIND_INPUT, NONE, box, boxesOf, data, forgetData, idOf, nameAround,
    opened, readData, textOf} from './graph_data.js';
import {keyTable, runKey} from './keys.js';
import {makeLegend} from './legend.js';
import {boxNamed, clearMarks, numbers, rings, setColour, setHits,
    setMarks} from './marks.js';
import {drawMinimap, makeMinimap, paintMinimap} from './minimap.js';
import {seenPlaces, slideFrom, stopMoving} from './motion.js';
import {handle, listenToPointers, makeHandle, placeHandle} from './mouse.js';
import {forgetScene, scene, shownFor} from './scene.js';
import {hideTip, makeTip, placeTip, tip, tipBox, tipTimer} from './tips.js';
import {fit, holdView, paintLater, reveal, setStage, stage, startView, stopPainting,
    view, visibleArea, zoomMiddle} from './view.js';

export let options, now;
let zoomText, themes, ending; // `ending` removes listeners

export const listen = (target, type, run, more) =>
    target.addEventListener(type, run, {signal: ending.signal, ...more});

export const startsOpen = (i) => (box.flags[i] & FLAG_OPEN) !== 0;

/* --- Drawing */

export function paint() {
    if (scene.painted) {
        const {left, right, top, bottom} = visibleArea(), pad = 40 / view.zoom;
        showParts({left: left - pad, right: right + pad, top: top - pad,
            bottom: bottom + pad}, levelOf(view.zoom) < 2);
        paintCanvas();
    }
    paintSvg();
    ringSvg(rings());
    paintMinimap();
    zoomText.textContent = view.zoom < 0.01 ? '<1%' : `${Math.round(view.zoom * 100)}%`;
    if (tipBox !== NONE && !tip.hidden) placeTip(tipBox);
    handle.hidden = handle.hidden || hovered === NONE;
    if (!handle.hidden) placeHandle(hovered);
}

/** A canvas is printed as it is seen, in the colours of paper. */
function paintForPaper(begin) {
    const {dataset} = document.documentElement, kept = dataset.theme;
    if (begin) dataset.theme = 'light';
    readColours();
    if (begin) {
        if (kept) dataset.theme = kept;
        else delete dataset.theme;
        themes.takeRecords();
    }
    paintCanvas();
    if (!begin) paintLater();
}

/** The whole graph, with all texts, in the units of the graph. */
function drawWhole() {
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

/** Paper gets the whole graph, in light colours. */
function printGraph(begin) {
    if (scene.painted) paintForPaper(begin);
    else if (begin) drawWhole();
    else {
        svg.removeAttribute('viewBox');
        paintLater();
    }
}

/* --- The parts */

function makeCorner() {
    const corner = make('div', 'corner'), zoom = make('div', 'zoom');
    zoomText = make('span', 'dim');
    zoom.append(button('Zoom in (+)', icon('M7 2v10M2 7h10'), () => zoomMiddle(1.25)),
        button('Zoom out (-)', icon('M2 7h10'), () => zoomMiddle(0.8)),
        button('Fit (Space)', icon('M2 5V2h3M9 2h3v3M12 9v3H9M5 12H2V9'), fit),
        zoomText);
    corner.append(makeMinimap(), zoom);
    return corner;
}

function makeParts() {
    now = make('span', 'now');
    now.id = 'now';
    now.setAttribute('role', 'img');
    stage.classList.add('gr');
    stage.tabIndex = 0;
    stage.setAttribute('role', 'application');
    stage.setAttribute('aria-label', `Graph of ${data.path.join(' ')}. ` +
        'Arrow keys move, question mark lists all keys.');
    stage.replaceChildren(now);
    makeCanvas();
    makeSvg();
    stage.append(makeHandle(), makeTip(), makeCorner());
}

/** Inputs by number, for users of another tool. */
function renameInputs() {
    let number = 0;
    for (let i = 1; i < box.n; i++)
        if (box.kind[i] === KIND_INPUT && options.inputs) {
            const text = `${options.inputs} ${number++}`, old = textOf(box.name, i);
            const wider = 1.15 * (textWidth(text, 12, true) - textWidth(old, 12, true));
            box.name[i] = box.full[i] = data.texts.push(text) - 1;
            box.width[i] += 4 * Math.max(0, Math.ceil(wider / 4));
        }
}

function take(given) {
    readData(given);
    renameInputs();
    forgetScene();
    setHits([]);
}

function themeChanged() {
    readColours();
    drawMinimap();
    paintLater();
}

function listenToAll() {
    listenToPointers();
    listen(stage, 'focus', relight);
    listen(stage, 'blur', relight);
    const sizes = new ResizeObserver(() => {
        holdView();
        paintLater();
    });
    sizes.observe(stage);
    themes = new MutationObserver(themeChanged);
    themes.observe(document.documentElement, {attributeFilter: ['data-theme']});
    listen(matchMedia('(prefers-color-scheme:dark)'), 'change', themeChanged);
    listen(window, 'beforeprint', () => printGraph(true));
    listen(window, 'afterprint', () => printGraph(false));
    ending.signal.addEventListener('abort', () => {
        sizes.disconnect();
        themes.disconnect();
    });
}

/* --- Functions for the caller */

/** Other data; what the reader opened stays open, `more` too. */
function update(given, more = []) {
    const before = new Map(groupsIn(0).map((i) => [idOf(i), opened[i]]));
    const ids = [current, selected, scene.root]
        .map((b) => (b === NONE ? null : idOf(b)));
    const same = given.path.join() === data.path.join(), places = seenPlaces();
    const kept = {...view}, colours = numbers ?? colour;
    take(given);
    more.forEach((id) => before.set(id, 1));
    const byId = new Map(data.ids.map((id, i) => [id, i]));
    const find = (id) => byId.get(id) ?? NONE;
    for (const [id, open] of before) if (same && find(id) > 0) opened[find(id)] = open;
    if (more.includes('*')) opened.fill(1);
    chooseBoxes(...ids.slice(0, 2).map((id) => (same && id ? find(id) : NONE)), byKey);
    arrange(same ? Math.max(0, find(ids[2])) : 0);
    setColour(colours);
    Object.assign(view, same ? kept : startView());
    holdView();
    if (same) slideFrom(places);
    options.onRoot?.();
    paint();
}

/** Selects a module by its full name and brings it into view; null: nothing. */
function select(name) {
    if (selected !== NONE && (nameAround(selected) || options.root?.() || '') === (name || ''))
        return;
    const b = name === null ? NONE : boxNamed(name), at = b === NONE ? b : shownFor(b);
    chooseBoxes(at, at, false);
    hideTip();
    announce();
    if (at !== NONE) reveal(at);
    relight();
}

const COPIED = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-linecap',
    'stroke-linejoin', 'paint-order', 'opacity', 'font-family', 'font-size',
    'font-weight'];

/** The shown graph as a file, with the current colours and without style sheets. */
function exportSvg() {
    const {painted} = scene, pad = 24;
    scene.painted = false;
    stage.classList.remove('painted');
    if (painted) drawScene();
    drawWhole();
    const copy = svg.cloneNode(true), from = [...svg.querySelectorAll('*')];
    [...copy.querySelectorAll('*')].forEach((element, i) => {
        const style = getComputedStyle(from[i]);
        element.removeAttribute('style');
        if (style.display === 'none') element.setAttribute('display', 'none');
        if (!/^(g|svg)$/.test(element.tagName))
            for (const name of COPIED)
                element.setAttribute(name, style.getPropertyValue(name));
    });
    copy.querySelectorAll('[display=none]').forEach((element) => element.remove());
    const wide = scene.width + 2 * pad, high = scene.height + 2 * pad;
    for (const [name, value] of [['xmlns', SVG], ['width', wide], ['height', high],
        ['viewBox', `${-pad} ${-pad} ${wide} ${high}`]]) copy.setAttribute(name, value);
    copy.prepend(shape('rect', '', {x: -pad, y: -pad, width: wide, height: high,
        fill: paints.surface.trim()}));
    svg.removeAttribute('viewBox');
    scene.painted = painted;
    stage.classList.toggle('painted', painted);
    if (painted) drawScene();
    paint();
    return new XMLSerializer().serializeToString(copy);
}

function close() {
    ending.abort();
    stopMoving();
    stopPainting();
    [tipTimer, restTimer].forEach(clearTimeout);
    stage.replaceChildren();
    [forgetData, forgetScene, forgetDrawn, forgetSpecks].forEach((forget) => forget());
}

/** The way from the data's root to the shown one: [{text, id}]. */
export function path() {
    const list = [];
    for (let at = scene.root; at > 0; at = box.parent[at])
        list.unshift({text: textOf(box.full, at), id: idOf(at), open: () => goTo(at)});
    return list;
}

export function mountGraph(host, given, asked = {}) {
    ending = new AbortController();
    options = {say() {}, ...asked};
    setStage(host);
    makeLegend(options.legend);
    chooseBoxes(NONE, NONE, false);
    clearMarks(given.colour);
    take(given);
    makeParts();
    readColours();
    const start = options.begin?.() ?? {};
    arrange(start.root ?? 0);
    Object.assign(view, start.view ?? startView());
    options.onRoot?.();
    listenToAll();
    paint();
    return {update, select, exportSvg, close, path, keys: keyTable, runKey, fit,
        colour: setColour, shows: (name) => boxesOf(name).length > 0,
        marks: setMarks, search: (list) => setHits(list.flatMap(boxesOf))};
}
