/* shades.js - histograms over steps as pixels: codes of the document `series`. */

import {el} from './dom.js';
import {onTheme, rampAt} from './draw.js';

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

    paint(pen, spans, height, cells) {
        this.update(cells);
        pen.imageSmoothingEnabled = false;
        spans.forEach(([left, right], i) => cells[i] && pen.drawImage(this.picture, i, 0,
            1, this.picture.height, left, 0, right - left, height));
    }
}
