/* axis.js - drawing over steps, shared by heat maps, curves and the scrubber. Columns have
   the form used in documents: {columns, first, last, ...}. */

import {hatch, token} from './draw.js';
import {ceil, floor, max, min, round} from './math.js';

/** Index of the column that holds a step: the last one that begins at or before it. */
export function columnOf({first}, step) {
    let low = 0, high = first.length;
    while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (first[middle] <= step) low = middle;
        else high = middle;
    }
    return low;
}

/** The range of an axis: {first, last, end}. For a live run, `end` leaves room for new
    columns so that existing ones do not move. */
export function stepRange(first, last, live) {
    const span = last - first + 1, unit = live ? 2 ** (floor(Math.log2(span)) - 4) : 1;
    return {first, last, end: first + (unit > 1 ? ceil(span / unit) * unit : span)};
}

/** Where column i begins and ends on an axis whose `end` is a step behind the last one:
    [left, right] in whole px, at least one. Steps that are missing stay empty. */
export function cell({first, last}, i, x) {
    const n = first.length, usual = 2 * (last[n - 1] - first[0] + 1) / n;
    const next = i + 1 < n ? min(first[i + 1], last[i] + max(1, usual)) : last[i] + 1;
    const left = round(x(first[i]));
    return [left, max(left + 1, round(x(next)))];
}

/** Hatches an area: its values are not finite. */
export function hatched(pen, left, top, width, height) {
    pen.fillStyle = hatch(pen);
    pen.fillRect(left, top, width, height);
}

/** The points of a line through values by column: [x, y], or null where the line breaks. A
    null value was not logged, and the line skips it. At a value that is not finite the line
    breaks, and the column is hatched from `top` to `bottom`. x: an axis up to `end`. */
export function linePlaces(pen, {first, last}, values, {x, y, end, top, bottom}) {
    const bad = (one) => one !== null && !Number.isFinite(one);
    values.forEach((one, i) => {
        const left = bad(one) ? x(first[i]) : 0, right = x(first[i + 1] ?? end);
        if (bad(one)) hatched(pen, left, top, max(2, right - left), bottom - top);
    });
    return values.flatMap((one, i) => one === null ? [] : bad(one) ? [null] :
        [[x((first[i] + last[i]) / 2), y(one)]]);
}

/** Draws a line through points. */
export function drawPlaces(pen, places, colour, width) {
    pen.strokeStyle = token(colour);
    pen.lineWidth = width;
    pen.lineJoin = 'round';
    pen.beginPath();
    places.forEach((at, i) => at && pen[places[i - 1] ? 'lineTo' : 'moveTo'](...at));
    pen.stroke();
    pen.fillStyle = token(colour);
    places.forEach((at, i) => { // alone between two stops
        if (at && !places[i - 1] && !places[i + 1]) pen.fillRect(at[0] - 2, at[1] - 2, 4, 4);
    });
}

/** Draws the cursor, which all views share. */
export function cursorLine(pen, x, top, bottom) {
    const at = round(max(1, x));
    pen.fillStyle = token('surface');
    pen.fillRect(at - 2, top, 4, bottom - top);
    pen.fillStyle = token('accent');
    pen.fillRect(at - 1, top, 2, bottom - top);
}

/** Draws the triangle of an alarm: filled for NaN and Inf, else outlined. */
export function triangle(pen, at, top, filled, size = 9) {
    const x = max(size / 2 + 1, at);
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x + size / 2 + .5, top + size);
    pen.lineTo(x - size / 2 - .5, top + size);
    pen.closePath();
    pen.lineWidth = 1.4;
    pen.lineJoin = 'round';
    pen.strokeStyle = token(filled ? 'alarm' : 'warn');
    pen.fillStyle = token(filled ? 'alarm' : 'surface');
    pen.fill();
    pen.stroke();
}
