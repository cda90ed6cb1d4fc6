/* address.js - the state in a file's address: root, open groups, view. A
   page in a frame may have no address to write to. */

import {groupsIn} from './fold.js';
import {box, isGroup, opened} from './graph_data.js';
import {startsOpen} from './mount.js';
import {scene} from './scene.js';
import {holdZoom, view} from './view.js';

let saving = 0;

export function saveState() {
    clearTimeout(saving);
    saving = setTimeout(() => {
        const others = groupsIn(0).filter((i) => (opened[i] === 1) !== startsOpen(i));
        const parts = [];
        if (scene.root) parts.push(`at=${scene.root}`);
        if (others.length && others.length < 200)
            parts.push(`open=${others.join('.')}`);
        parts.push(`view=${[view.x, view.y].map(Math.round)},${view.zoom.toFixed(3)}`);
        try {
            history.replaceState(null, '', `#${parts.join('&')}`);
        } catch {
            return; // sandboxed
        }
    }, 300);
}

/** The root and the view of the address; wrong numbers are ignored. */
export function loadState() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const valid = (i) => Number.isInteger(i) && i >= 0 && i < box.n && isGroup(i);
    for (const i of (parts.get('open') ?? '').split('.').map(Number))
        if (parts.get('open') && valid(i)) opened[i] ^= 1;
    const root = Number(parts.get('at') ?? 0);
    const [x, y, zoom] = (parts.get('view') ?? '').split(',').map(Number);
    const good = [x, y, zoom].every(Number.isFinite) && zoom > 0;
    return {root: valid(root) ? root : 0,
        view: good ? {x, y, zoom: holdZoom(zoom)} : null};
}
