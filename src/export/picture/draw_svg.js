/* draw_svg.js - visible parts as SVG elements, with the classes of docs/svg.md. Shapes
   and lines are made once; texts again for another zoom. Of more than
   2,000 nodes the boxes and lines far away are painted (draw_canvas.js). */

import {LABEL_WIDEST, inArea, linesIn, nodesIn} from './draw_canvas.js';
import {drawDot, drawLabel, drawLine} from './draw_lines.js';
import {drawMarks} from './draw_marks.js';
import {CHANGES, CHANGE_NAMES, GONE, HELD, REMOVED, bandHeight, barHeight, chevronOf,
    coloursOf, depthOf, fullName, hasChevron, hasSheets, heightOf, levelOf, shapeOf,
    signPath, signText, textsOf, titleTexts} from './dress.js';
import {shape} from './elements.js';
import {lit} from './fold.js';
import {box, data, idOf, isOpen, textOf} from './graph_data.js';
import {MANY, scene} from './scene.js';
import {paintLater, stage, view, visibleArea} from './view.js';

export let svg;
export let layers; // groups, edges, titles, nodes, labels, marks
export let drawn; // elements by box: {group, texts, at: zoom they were dressed for}
let world;

export function makeSvg() {
    svg = shape('svg', 'graph', {'aria-hidden': 'false'});
    world = shape('g', 'world', {}, svg);
    stage.prepend(svg);
}

/** A graph that is closed takes no memory. */
export function forgetDrawn() {
    drawn = null;
}

export function drawScene() {
    clearSvg(false);
    if (!scene.painted) showParts(EVERYWHERE, false);
}

/* --- Which parts have elements: all of a small scene; of a large one those that are
       seen, far away only titles and marks */

const EVERYWHERE = {left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity};

let kept; // by kind: what has elements -> a list of them; and whether it is far away

function clearSvg(far) {
    world.replaceChildren();
    layers = {};
    for (const name of ['groups', 'edges', 'dots', 'titles', 'nodes', 'labels',
        'marks'])
        layers[name] = shape('g', name, {}, world);
    kept = {far};
    drawn = new Map();
    scene.ringKey = '';
    svg.classList.remove('dim');
}

/** Creates missing elements of the wanted items and removes others. In `layer`
    they stay in the order of the list. */
function keep(kind, wanted, make, layer) {
    const had = kept[kind] ?? new Map(), now = kept[kind] = new Map();
    let fresh = false;
    for (const one of wanted) {
        fresh ||= !had.has(one);
        now.set(one, had.get(one) ?? make(one));
        had.delete(one);
    }
    for (const [one, list] of had) {
        list.forEach((element) => element.remove());
        if (kind === 'boxes') drawn.delete(one);
    }
    if (fresh && layer) layers[layer].append(...[...now.values()].flat());
    return fresh;
}

export function showParts(area, far) {
    const {labels, splits, marked} = scene, within = ({x, y}, wide, high) =>
        x <= area.right && x + wide >= area.left && y <= area.bottom &&
        y + high >= area.top;
    if (kept.far !== far) clearSvg(far);
    const frames = scene.frames.filter((b) => inArea(b, area) &&
        (!far || bandHeight(view.zoom) * view.zoom >= HELD));
    let fresh = keep('boxes', far ? frames : [...frames, ...nodesIn(area)], (b) =>
        (isOpen(b) ? drawFrame(b, far) : drawNode(b)));
    const lines = far ? [] : linesIn(area, 4, 1).sort((a, b) => a - b);
    fresh = keep('lines', lines, drawLine, 'edges') || fresh;
    keep('dots', far ? [] : splits.filter((one) => within(one, 0, 0)), drawDot);
    keep('labels', far ? [] : labels.filter((one) => within(one, LABEL_WIDEST, 30)),
        drawLabel);
    keep('marks', marked.filter((b) => inArea(b, area)).slice(0, MANY), drawMarks);
    if (fresh && lit) lightSvg(lit);
}

/* --- Frames */

/** A rectangle whose upper corners are round. */
function bandPath(x, y, w, h) {
    const r = 8;
    return `M${x} ${y + h}v${r - h}a${r} ${r} 0 0 1 ${r} ${-r}h${w - 2 * r}` +
        `a${r} ${r} 0 0 1 ${r} ${r}v${h - r}z`;
}

const changeOf = (b) => (box.change[b]
    ? {'data-change': CHANGE_NAMES[box.change[b]]} : {});

function drawFrame(b, far) {
    const depth = Math.min(3, depthOf(b));
    const frame = shape('g', 'group', {'data-id': idOf(b), ...changeOf(b)},
        far ? null : layers.groups);
    frame.style.setProperty('--fill', `var(--g${depth})`);
    shape('rect', 'frame', {x: box.x[b], y: box.y[b], width: box.w[b],
        height: box.h[b], rx: 8}, frame);
    const title = shape('g', 'title', {id: `b${b}`, 'data-id': idOf(b), 'data-box': b,
        role: 'img', 'aria-label': fullName(b)}, layers.titles);
    title.style.setProperty('--fill', `var(--g${depth + 1})`);
    for (const one of box.change[b] ? [frame, title] : []) {
        one.style.setProperty('--stroke', `var(--${CHANGES[box.change[b]]})`);
        if (box.change[b] === REMOVED) one.style.setProperty('--dash', GONE);
    }
    drawn.set(b, {frame, group: title, title: true, at: 0});
    return [frame, title];
}

export function dressTitle(b, one, zoom) {
    const x = box.x[b], y = box.y[b], band = bandHeight(zoom);
    const size = levelOf(zoom) > 2 ? 1 : HELD / 12 / zoom;
    one.group.replaceChildren();
    shape('path', 'band', {d: bandPath(x, y, box.w[b], band)}, one.group);
    const texts = titleTexts(b, zoom);
    if (!texts.length) return;
    shape('path', 'chevron', {'stroke-width': 1.75 * size,
        d: `M${x + 10} ${y + band / 2 - 2 * size}` +
        `l${4.5 * size} ${4.5 * size}l${4.5 * size} ${-4.5 * size}`}, one.group);
    texts.forEach((text) => drawText(text, one.group));
}

/* --- Nodes */

const ROLES = {text: 'name', text2: 'detail', text3: 'value'};

/** A new element, or an existing one. */
function drawText(text, parent, element = shape('text', '', {}, parent)) {
    const className = ROLES[text.role] + (text.bold ? ' bold' : '');
    const wanted = {class: className, x: text.x, y: text.y, 'font-size': text.size,
        'text-anchor': text.anchor ?? 'start'};
    for (const name in wanted) element.setAttribute(name, wanted[name]);
    if (element.textContent !== text.text) element.textContent = text.text;
}

const barPath = (x, y, h) =>
    `M${x + 4} ${y}h1v${h}h-1a4 4 0 0 1 -4 -4v${8 - h}a4 4 0 0 1 4 -4z`;

function drawNode(b) {
    const x = box.x[b], y = box.y[b], w = box.w[b], h = heightOf(b), form = shapeOf(b);
    const kind = data.kinds[box.kind[b]];
    const node = shape('g', `node ${kind}`, {id: `b${b}`, 'data-id': idOf(b),
        'data-kind': kind, 'data-name': textOf(box.full, b), 'data-box': b, role: 'img',
        'aria-label': fullName(b), ...changeOf(b)}, layers.nodes);
    const round = form === 'box' ? 4 : h / 2;
    for (const by of hasSheets(b) ? [6, 3, 0] : [0])
        shape('rect', by ? 'shape sheet' : 'shape box', {x: x + by, y: y + by, width: w,
            height: h, rx: round}, node);
    if (form === 'box') shape('path', 'bar', {d: barPath(x, y, h)}, node);
    if (form === 'circle') drawSign(b, node);
    const chevron = hasChevron(b) ? shape('path', 'chevron', {}, node) : null;
    const texts = shape('g', 'texts', {}, node);
    drawn.set(b, {group: node, texts, chevron, at: 0});
    colourNode(b, node);
    return [node];
}

/** Texts and chevron for a zoom. */
export function dressNode(b, one, zoom) {
    const list = textsOf(b, zoom), {texts, chevron} = one;
    while (texts.childElementCount > list.length) texts.lastChild.remove();
    list.forEach((text, i) => drawText(text, texts, texts.children[i]));
    if (!chevron) return;
    const {x, y, size} = chevronOf(b, zoom), by = 4.5 * size;
    chevron.setAttribute('d', `M${x} ${y - by}l${by} ${by}l${-by} ${by}`);
    chevron.setAttribute('stroke-width', 1.75 * size);
}

function colourNode(b, node) {
    const {fill, solid, bar, stroke, width, dash} = coloursOf(b);
    node.style.setProperty('--fill', `var(--${fill})`);
    node.style.setProperty('--solid', `var(--${solid})`);
    node.style.setProperty('--bar', bar ? `var(--${bar})` : 'none');
    node.style.setProperty('--stroke', `var(--${stroke})`);
    node.style.setProperty('--width', width);
    node.style.setProperty('--dash', dash || 'none');
}

function drawSign(b, node) {
    const d = signPath(b);
    if (d) shape('path', 'sign', {d}, node);
    else drawText(signText(b), node);
}

/* --- Each frame of the screen */

const REST_MS = 80, LOOSE = 1.2;

export let restTimer = 0;
let dressedZoom = 0;

/** The zoom to dress for. While it changes, held texts may be a little too large or too
    small: setting hundreds of them for each frame is slow. At rest they are exact. */
function dressZoom() {
    const {zoom} = view, ratio = zoom / dressedZoom;
    const near = levelOf(zoom) === levelOf(dressedZoom) && ratio < LOOSE &&
        ratio > 1 / LOOSE;
    clearTimeout(restTimer);
    if (near && ratio !== 1)
        restTimer = setTimeout(() => {
            dressedZoom = view.zoom;
            paintLater();
        }, REST_MS);
    else dressedZoom = zoom;
    return dressedZoom;
}

/** Texts of what is seen, if they were made for another zoom. */
function dressVisible() {
    const zoom = dressZoom(), level = levelOf(zoom), area = visibleArea();
    const key = level > 2 ? 1 : level === 0 ? 0.1 : zoom;
    for (const [b, one] of drawn) {
        if (one.at === key || (level < 2 && !one.title) || !inArea(b, area)) continue;
        if (one.title) dressTitle(b, one, key);
        else dressNode(b, one, zoom);
        one.at = key;
    }
}

export function paintSvg() {
    const {x, y, zoom} = view, level = levelOf(zoom);
    world.setAttribute('transform',
        `translate(${-x * zoom} ${-y * zoom}) scale(${zoom})`);
    for (let i = 0; i < 5; i++) svg.classList.toggle(`l${i}`, i === level);
    dressVisible();
    for (const mark of layers.marks.querySelectorAll('.held'))
        mark.setAttribute('transform',
            `translate(${mark.dataset.x} ${mark.dataset.y})` +
            `scale(${Math.max(1, 1 / zoom)})`);
}

/** Forget all texts: the colour changed, and with it values and fills. */
export function redressSvg() {
    for (const [b, one] of drawn) {
        one.at = 0;
        if (!one.title) colourNode(b, one.group);
    }
}

/* --- Highlight: lines and neighbours of a box keep their colour */

export function lightSvg(lit) {
    svg.querySelectorAll('.lit').forEach((one) => one.classList.remove('lit'));
    for (const i of lit ? lit.lines : [])
        kept.lines?.get(i)?.forEach((one) => one.classList.add('lit'));
    for (const b of lit ? lit.boxes : []) drawn.get(b)?.group.classList.add('lit');
    svg.classList.toggle('dim', Boolean(lit));
}

/** Rings of the selected and the focused box, and the matches of the search. */
export function ringSvg(rings) {
    const key = [view.zoom, ...rings.map(({b, className}) => className + b)].join();
    if (key === scene.ringKey) return;
    scene.ringKey = key;
    layers.marks.querySelectorAll('.ring').forEach((one) => one.remove());
    for (const {b, className, out} of rings) {
        const by = out / view.zoom, round = shapeOf(b) === 'box' ? 4 : box.h[b] / 2;
        shape('rect', `ring ${className}`, {x: box.x[b] - by, y: box.y[b] - by,
            width: box.w[b] + 2 * by, rx: (isOpen(b) ? 8 : round) + by,
            height: barHeight(b) + 2 * by},
        layers.marks);
    }
}
