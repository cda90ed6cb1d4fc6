/* draw_specks.js - far away, boxes and lines are a few pixels each, which are set in
   an image: a hundred thousand of them are quicker than as rectangles. */

import {DIM, canvas, dimmed, lineColour, linesIn, nodesIn, paints, pen,
    solidOf} from './draw_canvas.js';
import {lit} from './fold.js';
import {box} from './graph_data.js';
import {scene} from './scene.js';
import {view} from './view.js';

export const SPECKS = 0.1; // zoom below which the graph is painted this way

let specks = null; // {canvas, pen, image, pixels}
export let inks = new Map(); // colours by name as pixels

export function forgetSpecks() {
    specks = null;
}

/** An image of the size of the canvas. */
function makeSpecks(width, height) {
    if (specks?.image.width === width && specks.image.height === height) return;
    const sheet = document.createElement('canvas');
    sheet.width = width;
    sheet.height = height;
    const sheetPen = sheet.getContext('2d');
    const image = sheetPen.createImageData(width, height);
    specks = {canvas: sheet, pen: sheetPen, image,
        pixels: new Uint32Array(image.data.buffer)};
}

/** "#RRGGBB" as a pixel of an image: bytes red, green, blue, alpha. */
function inkOf(colourName, alpha) {
    const key = alpha < 1 ? `${colourName} dim` : colourName;
    let ink = inks.get(key);
    if (ink === undefined) {
        const hex = parseInt(paints[colourName].trim().slice(1), 16);
        const bytes = [hex >> 16, hex >> 8 & 255, hex & 255, Math.round(255 * alpha)];
        ink = new Uint32Array(Uint8Array.from(bytes).buffer)[0];
        inks.set(key, ink);
    }
    return ink;
}

/** A rectangle of the graph as pixels, at least one. */
function setPixels(x, y, w, h, scale, ink) {
    const {pixels, image: {width, height}} = specks;
    const left = Math.floor((x - view.x) * scale);
    const top = Math.floor((y - view.y) * scale);
    const right = Math.min(width, left + Math.max(1, Math.round(w * scale)));
    const bottom = Math.min(height, top + Math.max(1, Math.round(h * scale)));
    const from = Math.max(0, left);
    for (let row = Math.max(0, top); row < bottom; row++)
        for (let at = row * width + from; at < row * width + right; at++)
            pixels[at] = ink;
}

function setLine(i, scale) {
    const {own, ownStart} = scene.lines;
    const ink = inkOf(lineColour(i), lit && !lit.lines.has(i) ? DIM : 1);
    for (let p = ownStart[i]; p + 3 < ownStart[i + 1]; p += 2)
        setPixels(Math.min(own[p], own[p + 2]), Math.min(own[p + 1], own[p + 3]),
            Math.abs(own[p + 2] - own[p]), Math.abs(own[p + 3] - own[p + 1]), scale,
            ink);
}

/** Lines, and nodes over them. */
export function paintSpecks(area, zoom, scale) {
    makeSpecks(canvas.width, canvas.height);
    specks.pixels.fill(0);
    linesIn(area, 0, zoom).forEach((i) => setLine(i, scale));
    for (const b of nodesIn(area))
        setPixels(box.x[b], box.y[b], box.w[b], box.h[b], scale,
            inkOf(solidOf(b), dimmed(b)));
    specks.pen.putImageData(specks.image, 0, 0);
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(specks.canvas, 0, 0);
    pen.restore();
}
