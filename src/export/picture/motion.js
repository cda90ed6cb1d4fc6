/* motion.js - 120 ms for zooming to a place, opening, folding and going in; nothing
   else moves, and nothing at all if the reader prefers that. */

import {inArea} from './draw_canvas.js';
import {drawn, layers} from './draw_svg.js';
import {box} from './graph_data.js';
import {paint} from './mount.js';
import {scene} from './scene.js';
import {paintLater, stageHeight, stageWidth, toStage, view, viewOf,
    visibleArea} from './view.js';

const MOVE_MS = 120;

let moving = 0; // the frame of a motion

const still = () => matchMedia('(prefers-reduced-motion:reduce)').matches;

export function stopMoving() {
    cancelAnimationFrame(moving);
    moving = 0;
}

/** Move to a view, the zoom evenly by its logarithm. */
export function moveTo(to) {
    stopMoving();
    if (still()) {
        Object.assign(view, to);
        paintLater();
        return;
    }
    const from = {...view}, begin = performance.now();
    const middle = (one) => ({x: one.x + stageWidth() / 2 / one.zoom,
        y: one.y + stageHeight() / 2 / one.zoom});
    const a = middle(from), b = middle(to);
    const step = (now) => {
        const t = Math.max(0, Math.min(1, (now - begin) / MOVE_MS));
        const part = 1 - (1 - t) ** 3;
        view.zoom = from.zoom * (to.zoom / from.zoom) ** part;
        view.x = a.x + (b.x - a.x) * part - stageWidth() / 2 / view.zoom;
        view.y = a.y + (b.y - a.y) * part - stageHeight() / 2 / view.zoom;
        if (t === 1) Object.assign(view, to);
        moving = t < 1 ? requestAnimationFrame(step) : 0;
        paint();
    };
    moving = requestAnimationFrame(step);
}

/** Zoom into a view, from a little further away. */
export function arriveAt(to) {
    if (still()) Object.assign(view, to);
    else {
        const x = to.x + stageWidth() / 2 / to.zoom;
        const y = to.y + stageHeight() / 2 / to.zoom;
        Object.assign(view, viewOf(x, y, 0, 0, to.zoom * 0.8));
        moveTo(to);
    }
    paintLater();
}

/* --- Opening and folding: boxes slide from their old positions, others appear */

/** Positions of the visible boxes on the stage. */
export function seenPlaces() {
    const area = visibleArea(), places = new Map();
    if (!still() && !scene.painted)
        for (const b of [...scene.frames, ...scene.nodes])
            if (inArea(b, area)) places.set(b, toStage(box.x[b], box.y[b]));
    return places;
}

export function slideFrom(places) {
    if (still() || scene.painted || !places.size) return;
    const area = visibleArea(), how = {duration: MOVE_MS, easing: 'ease-out'};
    const appear = [{opacity: 0}, {opacity: 1}];
    for (const b of [...scene.frames, ...scene.nodes]) {
        if (!inArea(b, area)) continue;
        const before = places.get(b), now = toStage(box.x[b], box.y[b]);
        const {group: drawing, frame} = drawn.get(b);
        const dx = before && (before.x - now.x) / view.zoom;
        const dy = before && (before.y - now.y) / view.zoom;
        const way = before ? [{transform: `translate(${dx}px,${dy}px)`},
            {transform: 'none'}] : appear;
        drawing.animate(way, how);
        frame?.animate(way, how);
    }
    for (const name of ['edges', 'labels', 'marks']) layers[name].animate(appear, how);
}
