/* heat.js - cells over steps: where columns of steps lie, and shades as pixels. */

import {el} from './dom.js';
import {onTheme, rampAt} from './draw.js';

/** Of columns that begin with the steps `first`: the one that holds a step, or the nearest
    before it. */
export function columnAt(first, step) {
    let low = 0, high = first.length;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (first[middle] <= step) low = middle;
        else high = middle;
    }
    return low;
}

/** The steps of an axis: {first, end}, without `end`. Of a live run it ends a little behind
    the newest step: new columns have room, and the others stay where they are. */
export function stepRange(first, newest, live) {
    const span = newest - first + 1, unit = live ? 2 ** (Math.floor(Math.log2(span)) - 4) : 1;
    return {first, end: first + (unit > 1 ? Math.ceil(span / unit) * unit : span)};
}

/** x of a step, in px; and the step at x. */
export const stepX = ({first, end}, step, width) => (step - first) / (end - first) * width;
export const stepAt = ({first, end}, x, width) => Math.max(first, Math.min(end - 1,
    Math.floor(first + x / width * (end - first))));

/** Where columns {first, last, steps} lie, as [left, width] in whole pixels of the screen: up
    to the next one, because not every step is logged. */
export function columnSpans({first, last, steps}, range, width) {
    const scale = devicePixelRatio || 1, n = first.length;
    const at = (step) => Math.round(stepX(range, step, width) * scale) / scale;
    return first.map((from, i) => {
        const each = i > 0 && i === n - 1 && !(steps && steps[i] > 1) ? from - first[i - 1] : 1;
        const to = i + 1 < n ? first[i + 1] :
            Math.max(last[i] + 1, Math.min(range.end, from + each));
        const left = at(from);
        return [left, Math.max(1 / scale, at(to) - left)];
    });
}

/** Bytes of base64. */
export const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

let shades = null; // colours of the codes
onTheme(() => { shades = null; });

function shadeTable() {
    if (shades) return shades;
    shades = new Uint32Array(256);
    const bytes = new Uint8Array(shades.buffer);
    for (let code = 1; code < 256; code++)
        bytes.set([...rampAt('density', 0.04 + 0.96 * (code / 255) ** 1.4), 255], 4 * code);
    return shades;
}

/** Columns of codes (255 x the root of share / largest; 0: nothing) as a picture of one
    pixel a cell, of which only new columns are made again. */
export class Shades {
    constructor() {
        this.picture = el('canvas', {width: 1, height: 1});
        this.made = [];
        this.colours = null;
    }

    update(cells) {
        const n = cells.length, rows = n ? cells[0].length : 0, {picture} = this;
        const colours = shadeTable(), pen = picture.getContext('2d');
        if (this.colours !== colours || picture.height !== rows || picture.width < n) {
            picture.width = n + 64;
            picture.height = rows || 1;
            this.made = [];
            this.colours = colours;
        }
        cells.forEach((codes, i) => {
            if (this.made[i] === codes) return;
            const image = new ImageData(1, rows), pixels = new Uint32Array(image.data.buffer);
            codes.forEach((code, k) => { pixels[k] = colours[code]; });
            pen.putImageData(image, i, 0);
            this.made[i] = codes;
        });
    }

    paint(pen, spans, height) {
        pen.imageSmoothingEnabled = false;
        spans.forEach(([left, width], i) => this.made[i] && pen.drawImage(this.picture, i, 0,
            1, this.picture.height, left, 0, width, height));
    }
}
