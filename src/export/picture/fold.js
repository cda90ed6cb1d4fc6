/* fold.js - which groups are open, which box is the root, which box is current. */

import {drawScene, lightSvg} from './draw_svg.js';
import {barHeight, fullName, makeHeat} from './dress.js';
import {NONE, box, contains, data, idOf, inside, isGroup, isOpen, isTensor, nameAround, nameOf,
    opened, textOf} from './graph_data.js';
import {drawLegend} from './legend.js';
import {drawMinimap} from './minimap.js';
import {arriveAt, seenPlaces, slideFrom} from './motion.js';
import {now, options} from './mount.js';
import {makeScene, scene, shownFor} from './scene.js';
import {holdView, paintLater, reveal, stage, startView, toGraph, toStage,
    view} from './view.js';

export let current = NONE; // has the keys
export let selected = NONE, hovered = NONE;
export let lit = null; // {boxes, lines} that keep their colour; null: all do
export let byKey = false; // the current box was reached with the keyboard

/** Place and draw again, after opening, folding or a change of root. */
export function arrange(root = scene ? scene.root : 0) {
    makeScene(root);
    makeHeat();
    hovered = NONE;
    if (current !== NONE) current = shownFor(current);
    if (selected !== NONE) selected = shownFor(selected);
    stage.classList.toggle('painted', scene.painted);
    drawScene();
    drawMinimap();
    drawLegend();
    options.onScene?.();
    relight();
    paintLater();
}

/* --- Opening and folding */

/** Set some groups; the box `keep` stays under the pointer or where it was. Missing
    data is requested. */
function setOpen(list, open, keep, pointer) {
    const before = keep !== NONE && box.w[keep] ? toStage(box.x[keep], box.y[keep])
        : null;
    const places = seenPlaces(), missing = list.filter((i) => open && box.hidden[i]);
    for (const i of list) opened[i] = open ? 1 : 0;
    if (missing.length) options.onMore?.(missing.map(idOf));
    if (missing.length === list.length && missing.length) return;
    arrange();
    const anchor = keep === NONE ? NONE : shownFor(keep);
    if (!before || anchor === NONE) return;
    view.x = box.x[anchor] - before.x / view.zoom;
    view.y = box.y[anchor] - before.y / view.zoom;
    if (pointer) keepUnder(anchor, pointer);
    holdView();
    slideFrom(places);
    announce();
    changed();
}

/** If the pointer is no longer over the box, its middle goes there. */
function keepUnder(b, pointer) {
    const at = toGraph(pointer.x, pointer.y), w = box.w[b], h = barHeight(b);
    if (at.x < box.x[b] || at.x > box.x[b] + w) view.x += box.x[b] + w / 2 - at.x;
    if (at.y < box.y[b] || at.y > box.y[b] + h) view.y += box.y[b] + h / 2 - at.y;
}

export function toggle(b, pointer) {
    if (isGroup(b) && b !== scene.root) setOpen([b], !isOpen(b), b, pointer);
}

/** All groups inside, at any depth. */
export function groupsIn(root) {
    const list = [];
    for (let i = root + 1; i < box.end[root]; i++) if (isGroup(i)) list.push(i);
    return list;
}

export function toggleMany(list) {
    if (list.length)
        setOpen(list, !list.every(isOpen), current === NONE ? list[0] : current);
}

export const withBelow = (list) => list.flatMap((b) => [b, ...groupsIn(b)]);

export const allOpen = () => groupsIn(scene.root).every(isOpen);

export function toggleAll() {
    const list = groupsIn(scene.root);
    if (list.some((i) => box.hidden[i])) options.onMore?.(['*']);
    else toggleMany(list);
}

/** Groups beside the current one. */
export function siblings() {
    return current === NONE ? [] : inside(box.parent[current]).filter(isGroup);
}

/** Shown groups of the current one's class. */
export function sameClass() {
    if (current === NONE || !isGroup(current)) return [];
    const className = (b) => textOf(box.words, b).split('\n')[0];
    const wanted = className(current);
    return [...scene.frames, ...scene.nodes]
        .filter((b) => isGroup(b) && className(b) === wanted);
}

/* --- Going in and up, unless someone else does it */

export function goIn(b) {
    if (!isGroup(b) || options.onIn?.(about(b)) || box.hidden[b]) return;
    const from = current;
    opened[b] = 1;
    current = selected = NONE;
    arrange(b);
    arriveAt(startView());
    options.onRoot?.();
    if (from !== NONE) setCurrent(scene.nodes[0] ?? NONE, true);
    changed();
}

export function goTo(root) {
    const inner = scene.root;
    current = selected = NONE;
    arrange(root);
    options.onRoot?.();
    Object.assign(view, startView());
    const at = shownFor(inner);
    if (at !== NONE) {
        setCurrent(at, true);
        reveal(at, true);
    }
    changed();
}

export function goUp() {
    if (scene.root) goTo(box.parent[scene.root]);
    else options.onUp?.();
}

/** Open the groups around a box; false: nothing changed. */
function openAround(b) {
    let any = false;
    for (let at = box.parent[b]; at > scene.root; at = box.parent[at])
        if (!opened[at]) any = opened[at] = 1;
    if (any) arrange();
    return Boolean(any);
}

/** Show any box: open the groups around it and bring it into view. */
export function goToBox(b) {
    if (!contains(scene.root, b) || b === scene.root) {
        arrange(0);
        options.onRoot?.();
    }
    openAround(b);
    setCurrent(b, true);
    reveal(b, true);
    changed();
}

export const changed = () => options.onChange?.();

/** The name of a tensor for a panel: "conv@input:x"; empty: it is none. Inputs keep the name
    that forward gives them. */
export function tensorName(b) {
    const kind = data.kinds[box.kind[b]], renamed = options.inputs && kind === 'input';
    return isTensor(b) ? `${nameAround(b) || options.root?.() || ''}@${kind}:${renamed ?
        idOf(b).slice(3) : textOf(box.full, b)}` : '';
}

/** The description of a box that callbacks receive. */
export const about = (b) => (b === NONE ? null : {id: idOf(b), name: nameOf(b),
    tensor: tensorName(b), around: nameAround(b), group: isGroup(b), call: box.number[b]});

/* --- Current, selected, lit */

/** Calls no listeners: the caller calls relight(). */
export function chooseBoxes(keyed, chosen, withKeys) {
    [current, selected, byKey, lit] = [keyed, chosen, withKeys, null];
}

/** The box under the pointer. */
export function hoverOn(b) {
    hovered = b;
}

export function setCurrent(b, key) {
    const before = selected;
    current = b;
    byKey = Boolean(key) && b !== NONE;
    if (b !== NONE) selected = b;
    if (selected !== before) options.onSelect?.(about(selected), byKey);
    announce();
    relight();
    paintLater();
}

export function clearCurrent() {
    selected = NONE;
    setCurrent(NONE);
    options.onSelect?.(null);
}

/** Tell a screen reader which box is current. */
export function announce() {
    now.setAttribute('aria-label', current === NONE ? 'no box' : fullName(current));
    if (current === NONE) stage.removeAttribute('aria-activedescendant');
    else stage.setAttribute('aria-activedescendant',
        scene.painted ? 'now' : `b${current}`);
}

/** The box's lines, their other ends, and the frames around it. */
function litBy(b) {
    const lines = new Set(), boxes = new Set([b]), {from, to} = scene.lines;
    const add = (i) => {
        lines.add(i);
        boxes.add(from[i]).add(to[i]);
    };
    if (isOpen(b)) {
        for (let i = 0; i < scene.lines.n; i++)
            if (contains(b, from[i]) || contains(b, to[i])) add(i);
        for (let i = b; i < box.end[b]; i++) boxes.add(i);
    } else (scene.linesOf.get(b) ?? []).forEach(add);
    for (let at = box.parent[b]; at > scene.root; at = box.parent[at]) boxes.add(at);
    return {boxes, lines};
}

export const hasFocus = () => document.activeElement === stage;

export function relight() {
    const b = hovered !== NONE ? hovered : byKey && hasFocus() ? current : NONE;
    lit = b === NONE ? null : litBy(b);
    lightSvg(lit);
    paintLater();
}
