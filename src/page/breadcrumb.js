/* breadcrumb.js - the path to a place; the middle of a long path is folded. */

import {el, menu, span} from './dom.js';
import {DOTS} from './text.js';

const MOST = 5;

/** places: the model; at: index of a place; choose(full name): called on a click. */
export function breadcrumb(places, at, choose) {
    const path = [];
    for (let i = at; i >= 0; i = places.parent[i]) path.unshift(i);
    const name = (i) => i === 0 ? places.klass(0) || places.name(0) || 'model' : places.name(i);
    const step = (i) => el('button', {class: 'link', onclick: () =>
        choose(places.full(i))}, name(i));
    const folded = path.length > MOST ? path.splice(1, path.length - MOST + 1) : [];
    const parts = path.slice(0, -1).flatMap((i) => [step(i), el('i', null, '\u203a')]);
    if (folded.length) parts.splice(2, 0, menu(el('button', {class: 'link',
        ariaLabel: 'folded part'}, DOTS), folded.map((i) => ({text: name(i),
        run: () => choose(places.full(i))}))), el('i', null, '\u203a'));
    return el('nav', {class: 'crumbs', aria: {label: 'Path'}}, parts,
        el('b', {aria: {current: 'location'}}, name(at)), ' ',
        span('dim', at === 0 ? '' : places.klass(at)));
}
