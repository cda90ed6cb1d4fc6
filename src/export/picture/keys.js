/* keys.js - keyboard input. */

import {middleX} from './dress.js';
import {clearCurrent, current, goIn, goUp, sameClass, selected, setCurrent, siblings,
    toggle, toggleAll, toggleMany, withBelow} from './fold.js';
import {NONE, box, data, idOf, inside, isGroup, isOpen} from './graph_data.js';
import {options} from './mount.js';
import {scene} from './scene.js';
import {hideTip, showTip, tip, tipLater} from './tips.js';
import {fit, paintLater, panBy, reveal, view, zoomMiddle} from './view.js';

/* --- Walking */

/** Shown boxes at the other ends of the current one's lines. */
function alongLines(forward) {
    const {from, to} = scene.lines, list = [];
    for (const i of scene.linesOf.get(current) ?? []) {
        const here = forward ? from[i] : to[i], there = forward ? to[i] : from[i];
        if (here === current && there !== current && there !== scene.root)
            list.push(there);
    }
    return list;
}

const middleY = (b) => box.y[b] + box.h[b] / 2;
/** Which boxes are side by side, across the direction of the lines. */
const across = (b) => (data.sideways ? middleY(b) : middleX(b));

/** The one nearest to straight ahead. */
function nearest(list) {
    const along = (b) => (data.sideways ? box.x[b] : box.y[b]);
    const away = (b) => Math.abs(across(b) - across(current)) +
        Math.abs(along(b) - along(current)) / 4;
    return list.reduce((best, b) =>
        (best === NONE || away(b) < away(best) ? b : best), NONE);
}

function walk(forward) {
    let next = NONE;
    if (current === NONE) next = scene.nodes[0] ?? NONE;
    else if (isOpen(current))
        next = forward ? inside(current)[0] : before(current);
    else {
        next = nearest(alongLines(forward));
        if (next === NONE) next = forward ? after(current) : before(current);
    }
    go(next);
}

/** The sibling after it in the order of running, or after its group. */
function after(b) {
    for (let at = b; at !== scene.root; at = box.parent[at])
        if (box.end[at] < box.end[box.parent[at]]) return box.end[at];
    return NONE;
}

/** The sibling before it, or the frame around it. */
function before(b) {
    const list = inside(box.parent[b]), at = list.indexOf(b);
    if (at > 0) return list[at - 1];
    return box.parent[b] === scene.root ? NONE : box.parent[b];
}

/** Siblings in another column. */
function apart(right) {
    const [from, size] = data.sideways ? [box.y, box.h] : [box.x, box.w];
    const near = from[current], far = near + size[current];
    return inside(box.parent[current]).filter((b) =>
        (right ? from[b] >= far : from[b] + size[b] <= near));
}

/** Boxes beside the current one; at the left end the frame around it. */
function beside(right) {
    if (current === NONE) {
        walk(true);
        return;
    }
    if (isOpen(current) && right) {
        go(inside(current)[0]);
        return;
    }
    const [from, size] = data.sideways ? [box.x, box.w] : [box.y, box.h];
    const overlap = (b) => from[b] < from[current] + size[current] &&
        from[b] + size[b] > from[current];
    const list = inside(box.parent[current]).filter((b) =>
        b !== current && overlap(b) &&
        (right ? across(b) > across(current) : across(b) < across(current)));
    let next = nearest(list.length ? list : apart(right));
    if (next === NONE && !right && box.parent[current] !== scene.root)
        next = box.parent[current];
    go(next);
}

/** Lines run down, or to the right in a graph that is drawn sideways. */
function arrow(upright, forward) {
    if (upright === !data.sideways) walk(forward);
    else beside(forward);
}

function go(b) {
    if (b === NONE) return;
    setCurrent(b, true);
    reveal(b);
    tipLater(b);
}

/* --- Keys */

function enter() {
    if (current === NONE) return;
    if (isOpen(current)) toggle(current);
    else if (isGroup(current)) goIn(current);
    else showTip(current);
}

/** false: nothing was open. */
export function escape() {
    if (!tip.hidden) hideTip();
    else if (current !== NONE || selected !== NONE) clearCurrent();
    else return false;
    paintLater();
    return true;
}

async function copyPath() {
    if (current === NONE) return;
    try {
        await navigator.clipboard.writeText(idOf(current));
        options.say(`copied ${idOf(current)}`);
    } catch {
        options.say(idOf(current)); // a page in a frame may not write to the clipboard
    }
}

const STEP = 60; // px

/** THE TABLE of keys: [names, what they do, function(name of the key)]. */
export const keyTable = [
    [['Up', 'Down', 'Left', 'Right'], 'along the lines; to boxes beside, to the frame',
        (key) => arrow(/Up|Down/.test(key), /Down|Right/.test(key))],
    [['Enter'], 'go into a folded box; fold an open one', enter],
    [['Backspace'], 'go up', goUp],
    [['z'], 'open or fold in place', () => current !== NONE &&
        toggle(isGroup(current) ? current : box.parent[current])],
    [['Z'], 'open or fold everything', toggleAll],
    [['s'], 'open or fold siblings', () => toggleMany(siblings())],
    [['S'], 'siblings and all below them', () => toggleMany(withBelow(siblings()))],
    [['o'], 'open or fold the same class', () => toggleMany(sameClass())],
    [['O'], 'the same class and all below', () => toggleMany(withBelow(sameClass()))],
    [['Space'], 'fit the whole graph', fit],
    [['+', '=', '-'], 'zoom in and out', (key) => zoomMiddle(key === '-' ? 0.8 : 1.25)],
    [['0'], '100%', () => zoomMiddle(1 / view.zoom)],
    [['h', 'j', 'k', 'l'], 'move the picture', (key) => panBy(
        {h: -STEP, l: STEP}[key] ?? 0, {k: -STEP, j: STEP}[key] ?? 0)],
    [['y'], 'copy the path of the box', copyPath],
    [['Esc'], 'close, clear', escape],
];

/** Runs a key; a message about a box disappears with the box. */
export function runKey(run, key) {
    if (key !== 'Esc' && key !== 'Enter') hideTip();
    return run(key);
}
