/* view.js - pan and zoom. A point of the graph lies at (point - view) * zoom on the
   stage. Drawing waits for the next frame of the screen. */

import {barHeight} from './dress.js';
import {box, data} from './graph_data.js';
import {moveTo, stopMoving} from './motion.js';
import {paint} from './mount.js';
import {scene} from './scene.js';

const LEAST = 0.0005, MOST = 4; // zoom
const MARGIN = 24; // px of margin around the fitted part

export const view = {x: 0, y: 0, zoom: 1};
export let stage; // the element that shows the graph
let wanted = 0; // the frame that will draw

export const stageWidth = () => stage.clientWidth;
export const stageHeight = () => stage.clientHeight;

export function setStage(element) {
    stage = element;
}

export function paintLater() {
    if (!wanted)
        wanted = requestAnimationFrame(() => {
            wanted = 0;
            paint();
        });
}

export function stopPainting() {
    cancelAnimationFrame(wanted);
    wanted = 0;
}

/** The part of the graph that the stage shows. */
export function visibleArea() {
    return {left: view.x, top: view.y, right: view.x + stageWidth() / view.zoom,
        bottom: view.y + stageHeight() / view.zoom};
}

export const toGraph = (x, y) =>
    ({x: view.x + x / view.zoom, y: view.y + y / view.zoom});
export const toStage = (x, y) =>
    ({x: (x - view.x) * view.zoom, y: (y - view.y) * view.zoom});

/** Keep some of the graph on the stage. */
export function holdView() {
    const wide = stageWidth() / view.zoom, high = stageHeight() / view.zoom;
    const keepX = Math.min(scene.width, wide) / 4;
    const keepY = Math.min(scene.height, high) / 4;
    view.x = Math.max(keepX - wide, Math.min(scene.width - keepX, view.x));
    view.y = Math.max(keepY - high, Math.min(scene.height - keepY, view.y));
}

export function panBy(dx, dy) {
    stopMoving();
    view.x += dx / view.zoom;
    view.y += dy / view.zoom;
    holdView();
    paintLater();
}

export const holdZoom = (zoom) => Math.max(LEAST, Math.min(MOST, zoom));

/** Zoom about a point of the stage. */
export function zoomAt(factor, x, y) {
    stopMoving();
    const zoom = holdZoom(view.zoom * factor), about = toGraph(x, y);
    view.zoom = zoom;
    view.x = about.x - x / zoom;
    view.y = about.y - y / zoom;
    holdView();
    paintLater();
}

export const zoomMiddle = (factor) =>
    zoomAt(factor, stageWidth() / 2, stageHeight() / 2);

/* --- Choosing the view */

/** A view with a part of the graph in its middle. */
export function viewOf(left, top, width, height, zoom) {
    return {zoom, x: left + width / 2 - stageWidth() / 2 / zoom,
        y: top + height / 2 - stageHeight() / 2 / zoom};
}

function fitZoom() {
    return holdZoom(Math.min(1, (stageWidth() - 2 * MARGIN) / scene.width,
        (stageHeight() - 2 * MARGIN) / scene.height));
}

export function fit() {
    moveTo(viewOf(0, 0, scene.width, scene.height, fitZoom()));
}

/** At first: readable, from where the lines begin, unless everything fits. */
export function startView() {
    const whole = fitZoom(), {sideways} = data;
    if (whole >= 0.9) return viewOf(0, 0, scene.width, scene.height, whole);
    const room = sideways ? (stageHeight() - 2 * MARGIN) / scene.height
        : (stageWidth() - 2 * MARGIN) / scene.width;
    const zoom = Math.max(0.5, Math.min(1, room));
    const middle = viewOf(0, 0, scene.width, scene.height, zoom);
    const along = sideways ? 'x' : 'y', across = sideways ? 'y' : 'x';
    return {...middle, [along]: -MARGIN / zoom, [across]: startAcross(sideways, zoom) ??
        middle[across]};
}

/** Where a view of this zoom begins across the flow, with the first box in its middle, if
    the graph is wider than the stage; else undefined. */
function startAcross(sideways, zoom) {
    const seen = (sideways ? stageHeight() : stageWidth()) / zoom;
    const whole = sideways ? scene.height : scene.width;
    if (whole <= seen) return undefined;
    const [at, from, size] = sideways ? [box.x, box.y, box.h] : [box.y, box.x, box.w];
    const first = [...scene.nodes, ...scene.frames].reduce((a, b) => at[b] < at[a] ? b : a);
    return nearestView(from[first] + size[first] / 2 - seen / 2,
        sideways ? stageHeight() : stageWidth(), from[first], size[first], whole, zoom);
}

/** Bring a box into view: no further than needed, or to the middle. */
export function reveal(b, centre) {
    const w = box.w[b], h = barHeight(b);
    if (centre) {
        const zoom = Math.max(view.zoom, 0.9);
        const to = viewOf(box.x[b], box.y[b], w, h, zoom);
        if (w * zoom > stageWidth()) to.x = box.x[b] - MARGIN / zoom;
        moveTo(to);
        return;
    }
    const x = nearestView(view.x, stageWidth(), box.x[b], w, scene.width);
    const y = nearestView(view.y, stageHeight(), box.y[b], h, scene.height);
    if (x !== view.x || y !== view.y) moveTo({x, y, zoom: view.zoom});
}

const AROUND = 80; // px of the graph around a box that is revealed, if there is as much

/** On one axis: the view nearest to the current one that shows a box, `from` on for
    `size`, of a graph that is `whole` long; the beginning of a box that is too long. */
function nearestView(now, stagePixels, from, size, whole, zoom = view.zoom) {
    const seen = stagePixels / zoom, margin = MARGIN / zoom;
    const pad = Math.max(0, Math.min(AROUND / zoom, (seen - size) / 2));
    const most = Math.max(-margin, from - pad); // the view begins there or before
    const least = Math.min(whole + margin, from + size + pad) - seen;
    return Math.min(most, Math.max(least, now));
}
