/* slots.js - which modules and tensors the panels A to E show: `panels` of the address. */

import {go, state} from './state.js';

/* A tensor that is selected in the graph, by its name for a panel; `at` of the address names
   its module. */
let tensor = null;
export const selectTensor = (name) => { tensor = name && {name, at: state.at}; };
/** The selected tensor or place. */
export const selectedName = () => tensor && tensor.at === state.at ? tensor.name : state.at;

export const LETTERS = 'ABCDE';
/* The name of an empty slot between others; no module has this name. */
export const FREE = '.';

/** The names in the slots A to E. */
export const slots = () => [...LETTERS].map((_, i) => state.panels[i] ?? FREE);

/** 'B', or undefined. */
export const letterOf = (name) => LETTERS[state.panels.indexOf(name)];

function set(list) {
    while (list.at(-1) === FREE) list.pop();
    go({panels: list});
}

/** Opens a module, by its full name, in a slot (0 to 4), or in the next free one. */
export function openPanel(name, slot = -1) {
    const list = slots(), old = list.indexOf(name);
    const free = old < 0 ? list.indexOf(FREE) : old;
    const at = slot >= 0 ? slot : free < 0 ? list.length - 1 : free;
    if (old >= 0) list[old] = list[at];
    list[at] = name;
    set(list);
}

export function closePanel(slot) {
    const list = slots();
    list[slot] = FREE;
    set(list);
}
