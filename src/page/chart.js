/* chart.js - a line chart, drawn on a canvas or as SVG, in full or from an x position on. */

import {cursorLine, hatched, triangle} from './axis.js';
import {textWidth, token, write} from './draw.js';
import {pointAt} from './lines.js';
import {abs, ceil, max, min, round} from './math.js';

const DASHES = {A: [], B: [9, 4], C: [2, 3], D: [9, 3, 2, 3], E: [4, 3]};
export const colour = (letter) => token(`p-${letter.toLowerCase()}`);
export const dashes = (letter) => DASHES[letter];

/** The plot area of a chart; big charts reserve more room for labels. */
export function frame(width, height, big, {range: {ticks}}, top = 5) {
    const left = max(48, ...ticks.map(([, words]) => textWidth(words) + 14));
    const right = width - (big ? 40 : 30), bottom = height - (big ? 40 : 33);
    return {left, right, top, bottom, big, width: right - left, height: bottom - top};
}

/** Returns the functions x and y that map values to the frame. */
export function scales(box, {span, range}) {
    const {low, high, t} = range;
    return {x: (at) => box.left + (at - span.first) / (span.end - span.first || 1) * box.width,
        y: (one) => box.bottom - (t(one) - low) / (high - low) * box.height,
        at: (x) => span.first + (x - box.left) / box.width * (span.end - span.first)};
}

function rule(pen, x, y, width, height, name) {
    pen.fillStyle = token(name);
    pen.fillRect(round(x), round(y), width, height);
}

/** Draws one line; raw values also show the range of merged steps. */
function line(pen, points, values, {x, y}, raw) {
    pen.beginPath();
    values.forEach((value, i) => {
        const at = x(points.x[i]), {low, high} = points;
        pen[points.cut[i] ? 'moveTo' : 'lineTo'](at, y(value));
        if (raw && high[i] > low[i]) for (const edge of [low[i], high[i]])
            pen.lineTo(at, y(edge));
    });
    pen.stroke();
    values.forEach((value, i) => { // alone between two stops
        if (points.cut[i] && (points.cut[i + 1] ?? true))
            pen.fillRect(x(points.x[i]) - 2, y(value) - 2, 4, 4);
    });
}

function paintLines(pen, box, {lines, width}, scale) {
    const stroke = (one, style, wide, alpha, dash = []) => {
        pen.strokeStyle = pen.fillStyle = style;
        pen.globalAlpha = alpha;
        pen.lineWidth = wide;
        pen.setLineDash(dash);
        line(pen, one.points, one.smooth, scale);
    };
    pen.lineJoin = 'round';
    for (const {points} of width ? [...lines].reverse() : []) {
        pen.strokeStyle = pen.fillStyle = colour(points.run.letter);
        pen.lineWidth = 1;
        pen.globalAlpha = .5;
        line(pen, points, points.y, scale, true);
    }
    for (const one of [...lines].reverse()) {
        const {letter} = one.points.run, wide = box.big ? 2 : 1.8;
        if (width) stroke(one, token('surface'), wide + 1.4, .6);
        stroke(one, colour(letter), width ? wide : 1.3, 1, dashes(letter));
    }
    pen.globalAlpha = 1;
    pen.setLineDash([]);
}

/** Draws the letter of each run at the end of its line, without overlaps. */
function paintLetters(pen, box, {lines, span}, {x, y}) {
    const placed = [];
    for (const one of lines) {
        const {points: {run: {letter}, bad, x: xs}, smooth} = one, last = xs.length - 1;
        if (last < 0) continue;
        const end = bad.length && bad.at(-1)[0] >= xs[last] ? bad.at(-1)[1] : xs[last];
        const left = min(box.right, x(end)) + 6;
        const inside = (at) => max(box.top + 8, min(box.bottom - 8, at));
        let at = inside(y(smooth[last]));
        const others = lines.filter((other) => other !== one).flatMap((other) => {
            const i = pointAt(other.points, (left + 8 - box.left) / box.width *
                (span.end - span.first) + span.first);
            return i >= 0 ? [y(other.smooth[i])] : [];
        });
        for (const other of others)
            if (abs(at - other) < 13) at = inside(other + (at < other ? -14 : 14));
        const first = at, free = () => placed.every((was) => abs(was.left - left) >= 18 ||
            abs(was.at - at) >= 18);
        for (let k = 1; k < 12 && !free(); k++)
            at = inside(first + (k % 2 ? -18 : 18) * ceil(k / 2));
        placed.push({left, at});
        rule(pen, left - 1, at - 9, 18, 18, 'surface');
        pen.fillStyle = colour(letter);
        pen.fillRect(round(left), round(at - 8), 16, 16);
        write(pen, 'strong', 'on-accent', letter, round(left) + 8, round(at) + 4,
            'center');
    }
}

/** Draws alarms as triangles under the axis; big charts add words where there is room. */
function paintAlarms(pen, box, alarms, {x}) {
    const taken = alarms.map((one) => [x(one.x) - 7, x(one.x) + 7]);
    const free = (from, to) => from > 0 && to < box.right + 40 &&
        !taken.some(([a, b]) => a < to && b > from);
    [...alarms].reverse().forEach((one) =>
        triangle(pen, x(one.x), box.bottom + 3, one.bad));
    for (const {x: place, bad, words} of box.big ? alarms : []) {
        const at = x(place), wide = textWidth(words, 'strong');
        const right = free(at + 8, at + 10 + wide), from = right ? at + 9 : at - 9 - wide;
        if (!right && !free(from, at - 8)) continue;
        taken.push([from, from + wide]);
        write(pen, 'strong', bad ? 'alarm' : 'warn', words, from, box.bottom + 13);
    }
}

/** chart: {lines: [{points, smooth}], range, span: {first, end, ticks}, axis, alarms,
    width}. from: draws only what is right of it. */
export function paintChart(pen, box, chart, from = 0) {
    const scale = scales(box, chart), {x, y} = scale, {range, span} = chart;
    pen.save();
    if (from) {
        pen.beginPath();
        pen.rect(from, 0, box.right + 60 - from, box.bottom + 60);
        pen.clip();
        pen.clearRect(from, 0, box.right + 60 - from, box.bottom + 60);
    }
    for (const [at, words] of range.ticks) {
        const top = box.bottom - (at - range.low) / (range.high - range.low) * box.height;
        rule(pen, box.left, top, box.width, 1, 'line');
        write(pen, 'small', 'text2', words, box.left - 6, top + 4, 'right');
    }
    pen.save();
    pen.beginPath();
    pen.rect(box.left, box.top, box.width, box.height);
    pen.clip();
    for (const {points} of chart.lines)
        for (const [begin, end] of points.bad)
            hatched(pen, x(begin), box.top, max(2, x(min(end, span.end)) - x(begin)),
                box.height);
    paintLines(pen, box, chart, scale);
    pen.restore();
    rule(pen, box.left, box.bottom, box.width, 1, 'line2');
    const below = box.bottom + (box.big ? 31 : 26);
    for (const [at, words] of span.ticks(box.width)) {
        rule(pen, x(at), box.bottom, 1, 4, 'line2');
        write(pen, 'small', 'text2', words, x(at), below, 'center');
    }
    if (box.big) write(pen, 'small', 'text3', chart.axis, box.left - 10, below, 'right');
    paintAlarms(pen, box, chart.alarms, {x, y});
    paintLetters(pen, box, chart, scale);
    pen.restore();
}

/** Draws the shared cursor and the readout on a separate layer. */
export function paintOver(pen, box, chart, cursor, at) {
    const {x, y} = scales(box, chart), inside = (one) => one !== null &&
        one >= chart.span.first && one <= chart.span.end;
    if (inside(cursor)) cursorLine(pen, x(cursor), box.top - 3, box.bottom);
    if (!inside(at)) return;
    const left = round(x(at)) + .5;
    pen.strokeStyle = token('text');
    pen.lineWidth = 1;
    pen.setLineDash([2, 2]);
    pen.beginPath();
    pen.moveTo(left, box.top);
    pen.lineTo(left, box.bottom);
    pen.stroke();
    pen.setLineDash([]);
    for (const {points, smooth} of [...chart.lines].reverse()) {
        const i = pointAt(points, at), top = i >= 0 ? y(smooth[i]) : -1;
        if (!(top >= box.top && top <= box.bottom)) continue;
        pen.beginPath();
        const near = abs(x(points.x[i]) - left) < 2;
        pen.arc(near ? left : x(points.x[i]), top, box.big ? 4 : 3.5, 0, 7);
        pen.fillStyle = colour(points.run.letter);
        pen.strokeStyle = token('surface');
        pen.lineWidth = 1.5;
        pen.fill();
        pen.stroke();
    }
}

/** The title of an exported chart. */
export function paintTitle(pen, title, note, width) {
    write(pen, 'bold', 'text', title, 12, 20);
    write(pen, 'small', 'text2', note, width - 12, 20, 'right');
}
