
/* --- draw_specks.js: far away, a box has a few pixels. A hundred thousand of them are
       set one by one in an image, which is quicker than filling rectangles. */

const SPECKS = 0.1; // zoom below which nodes are painted this way

let specks = null; // {canvas, pen, image, pixels}
let inks = new Map(); // colours by name as pixels

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

function paintSpecks(area, scale) {
    const {width, height} = canvas, clamp = (x, most) => Math.max(0, Math.min(most, x));
    makeSpecks(width, height);
    const {pixels} = specks;
    pixels.fill(0);
    eachInGrid(scene.nodeGrid, scene.nodes.length, area, (i) => {
        const b = scene.nodes[i];
        if (!inArea(b, area)) return;
        const ink = inkOf(solidOf(i), dimmed(b));
        const x = Math.floor((box.x[b] - view.x) * scale);
        const y = Math.floor((box.y[b] - view.y) * scale);
        const left = clamp(x, width), top = clamp(y, height);
        const right = clamp(x + Math.max(1, Math.round(box.w[b] * scale)), width);
        const bottom = clamp(y + Math.max(1, Math.round(box.h[b] * scale)), height);
        for (let row = top * width; row < bottom * width; row += width)
            for (let at = row + left; at < row + right; at++) pixels[at] = ink;
    });
    specks.pen.putImageData(specks.image, 0, 0);
    pen.save();
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(specks.canvas, 0, 0);
    pen.restore();
}
