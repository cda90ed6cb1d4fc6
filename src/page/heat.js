/* heat.js - the colour scales of the overview's heat maps. A scale is
   {ramp, at(value) -> place on the ramp, ticks: [[place in the legend, text]], of(place in
   the legend) -> value, cut: 'low', 'high' ...}. */

import {ramp} from './draw.js';
import {abs, ceil, floor, log10, max, min, sign} from './math.js';
import {MINUS} from './text.js';

const DECADES = 5;
export const HEALTHY = [1e-4, 1e-2]; // of update / weight

/** 0.01, 1, 1e+06 */
const decade = (power) => power < -4 || power > 4 ?
    `1e${power < 0 ? MINUS : ''}${abs(power)}` : String(+(10 ** power).toFixed(4));

/** Logarithmic, from the smallest to the largest value in half decades; of more than five
    those around the median. values: finite; they are sorted. */
export function gradientScale(values) {
    const list = values.filter((one) => one > 0).sort((a, b) => a - b);
    const half = (value, round) => round(log10(value) * 2) / 2;
    let low = half(list[0] ?? .1, floor), high = half(list.at(-1) ?? 1, ceil);
    const least = low, most = max(high, low + .5);
    high = most;
    if (high - low > DECADES) {
        const middle = half(list[list.length >> 1], Math.round);
        high = min(high, max(low + DECADES, middle + DECADES / 2));
        low = high - DECADES;
    }
    const ticks = [], place = (power) => (power - low) / (high - low);
    for (let power = ceil(low + .2); power <= high - .2; power++)
        ticks.push([place(power), decade(power)]);
    if (low > least && ticks.length) ticks[0][1] = `\u2264 ${ticks[0][1]}`;
    if (high < most && ticks.length) ticks.at(-1)[1] = `\u2265 ${ticks.at(-1)[1]}`;
    return {ramp: 'heat', ticks, at: (value) => place(log10(value)),
        of: (at) => 10 ** (low + at * (high - low))};
}

/** A fixed scale: neutral in the healthy band, with a jump at its edges. */
export const ratioScale = {
    ramp: 'div',
    at(value) {
        const x = log10(value) + 3, far = abs(x);
        const side = far <= 1 ? x * .035 :
            sign(x) * (.2 + .8 * min(1, (far - 1) / 2));
        return .5 + side / 2;
    },
    of: (at) => 10 ** (6 * at - 6),
    ticks: [[0, `1e${MINUS}6`], [1 / 3, `1e${MINUS}4`], [.5, 'healthy'], [2 / 3, `1e${MINUS}2`],
        [1, '1']],
};

/** The scale of a share, up to 20%. */
export const deadScale = {
    ramp: 'density',
    at: (value) => .04 + .96 * min(1, value / .2) ** .7,
    of: (at) => at * .2,
    ticks: [[0, '0'], [.25, '5%'], [.5, '10%'], [1, '\u2265 20%']],
};

/** 'low' or 'high' outside the healthy band, else ''. */
export const ratioWord = (value) => value < HEALTHY[0] ? 'low' : value > HEALTHY[1] ? 'high' : '';

export const colour = (scale, value) => ramp(scale.ramp, scale.at(value));

/** Fills a strip with the scale. */
export function paintLegend(pen, width, height, scale) {
    for (let x = 0; x < width; x++) {
        pen.fillStyle = colour(scale, scale.of((x + .5) / width));
        pen.fillRect(x, 0, 1, height);
    }
}
