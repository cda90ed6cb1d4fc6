/* tree_width.js - room for the names in the tree: how far rows are indented, how wide they
   are, and the grip at the tree's edge, which resizes it. */

import {div} from './dom.js';
import {textWidth} from './draw.js';
import {bind} from './keys.js';
import {kept, keep} from './kept.js';
import {max, min, round} from './math.js';

const LEAST = 180, STEP = 16; // px
const BROAD = 14, SLIM = 6; // px of a level
const LEVELS = 4, DEEPEST = 12; // broad levels; levels that are indented
const AROUND = 84; // px of a row beside its name: chevron, gaps and a value with its bar
const MARK = 20, BAR = 46, GAP = 6, WORD = 24; // px
const LETTER = 9; // px; few letters are wider

/** The indentation in px: less for each level below the fourth, so that names have room. */
export const indent = (depth) => 10 + BROAD * min(depth, LEVELS) +
    SLIM * max(0, min(depth, DEEPEST) - LEVELS);

/** The px that a row needs to show its whole name. */
export const rowNeeds = (name, depth, marks) =>
    round(indent(depth) + textWidth(name, 'bold') + AROUND + MARK * marks);

/** Sets the width of a row of which `seen` px are in view. The class of the module gives
    way to its name, then the bar of the value; then the name goes on out of view. */
export function setRowWidth(element, needs, seen) {
    const value = element.querySelector('.value');
    const wide = min(BAR, textWidth(value ? value.textContent : '') * 12 / 11);
    element.style.width = `${max(seen, needs)}px`;
    if (needs + WORD > seen) element.classList.add('short');
    if (needs > seen) element.classList.add('tight');
    if (needs - (BAR - wide) - GAP > seen) element.classList.add('over');
}

/** The px that the widest row needs; names are only measured if they may be the widest. */
export function widest(rows, nameOf) {
    let most = 0;
    for (const row of rows) {
        const name = nameOf(row);
        if (indent(row.depth) + name.length * LETTER + AROUND + MARK > most)
            most = max(most, rowNeeds(name, row.depth, 1));
    }
    return most;
}

/** The grip of a tree. needs() is the width that shows every name. Returns the element
    and what unbinds its keys. */
export function treeGrip(aside, needs) {
    const grip = div({class: 'treegrip', role: 'separator', tabIndex: 0,
        title: 'Drag to resize, double-click to fit the names',
        aria: {label: 'Width of the modules', orientation: 'vertical'}});
    const most = () => max(LEAST, round(innerWidth * .6));
    const width = () => aside.getBoundingClientRect().width;
    const set = (wanted) => {
        const now = max(LEAST, min(most(), round(wanted)));
        aside.style.setProperty('--tree', `${now}px`);
        const values = {valuemin: LEAST, valuemax: most(), valuenow: now};
        for (const [key, value] of Object.entries(values))
            grip.setAttribute(`aria-${key}`, value);
        keep('tree', now);
    };
    const by = (step) => () => set(width() + step), fit = () => set(needs());
    grip.onpointerdown = (event) => {
        grip.setPointerCapture(event.pointerId);
        event.preventDefault();
        grip.focus();
    };
    grip.onpointermove = (event) => grip.hasPointerCapture(event.pointerId) &&
        set(event.clientX - aside.getBoundingClientRect().left);
    grip.ondblclick = fit;
    set(Number(kept('tree')) || width());
    const key = (keys, what, run, within, hidden) =>
        bind({keys, what, run, within, hidden, where: 'Tree'});
    const ends = [
        key(['<'], 'narrower', by(-STEP), aside), key(['>'], 'wider', by(STEP), aside),
        key(['='], 'as wide as the names', fit, aside),
        key(['Left'], '', by(-STEP), grip, true), key(['Right'], '', by(STEP), grip, true),
        key(['Home'], '', () => set(LEAST), grip, true),
        key(['End'], '', () => set(most()), grip, true),
        key(['Enter'], '', fit, grip, true),
    ];
    return {grip, close: () => ends.forEach((end) => end())};
}
