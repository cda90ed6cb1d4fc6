/* draw.js - theme colours, and canvases that redraw when the theme changes. */

import {el} from './dom.js';
import {ceil, floor, log10, max, min, round} from './math.js';

let colours = new Map(), ramps = new Map(), hatches = new WeakMap();
const canvases = new Set(), listeners = new Set(); // canvases that are on the page

/** The value of a CSS variable: token('accent'). */
export function token(name) {
    let value = colours.get(name);
    if (value === undefined) {
        value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
        colours.set(name, value);
    }
    return value;
}

export const SANS = 'Arial,"Liberation Sans",Arimo,Helvetica,sans-serif';
const FONTS = {small: `11px ${SANS}`, strong: `bold 11px ${SANS}`, bold: `bold 12px ${SANS}`};
const widths = new Map(), meter = document.createElement('canvas').getContext('2d');

/** The width of a text in a font (small, strong or bold); cached. */
export function textWidth(text, font = 'small') {
    const key = font + text;
    if (!widths.has(key)) {
        if (widths.size > 20000) widths.clear();
        meter.font = FONTS[font];
        widths.set(key, meter.measureText(text).width);
    }
    return widths.get(key);
}

/** Draws a text; x is its left, middle or right edge, depending on `align`. */
export function write(pen, font, colour, text, x, y, align = 'left') {
    pen.font = FONTS[font];
    pen.textAlign = align;
    pen.fillStyle = token(colour);
    pen.fillText(text, x, y);
}

const rgb = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

/** The stops of a ramp as [r, g, b]: heat, density or div. */
export function stops(name) {
    if (!ramps.has(name)) {
        const list = [];
        while (token(`${name}-${list.length}`)) list.push(rgb(token(`${name}-${list.length}`)));
        ramps.set(name, list);
    }
    return ramps.get(name);
}

/** [r, g, b] at t from 0 to 1, for pixels. */
export function rampAt(name, t) {
    const list = stops(name), at = max(0, min(1, t)) * (list.length - 1);
    const i = min(list.length - 2, floor(at)), part = at - i;
    return list[i].map((value, k) => round(value + (list[i + 1][k] - value) * part));
}

/** The same as a colour of CSS, in 256 steps. */
export function ramp(name, t) {
    const list = stops(name), i = round(max(0, min(1, t || 0)) * 255);
    list.css = list.css || [];
    return list.css[i] = list.css[i] || `rgb(${rampAt(name, i / 255).join(' ')})`;
}

/** The hatch pattern for values that are not finite. */
export function hatch(context) {
    let pattern = hatches.get(context);
    if (pattern) return pattern;
    const scale = devicePixelRatio || 1, size = round(5 * scale);
    const tile = el('canvas', {width: size, height: size}), pen = tile.getContext('2d');
    pen.fillStyle = token('alarm-soft');
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = token('alarm');
    pen.lineWidth = 1.2 * scale;
    for (const by of [-size, 0, size]) {
        pen.moveTo(by - 1, size + 1);
        pen.lineTo(by + size + 1, -1);
    }
    pen.stroke();
    pattern = context.createPattern(tile, 'repeat');
    pattern.setTransform(new DOMMatrix().scale(1 / scale));
    hatches.set(context, pattern);
    return pattern;
}

function redraw(canvas, paint) {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const scale = devicePixelRatio || 1;
    if (!width || !height) return;
    const w = round(width * scale), h = round(height * scale);
    if (canvas.width !== w || canvas.height !== h) {
        canvas.width = w;
        canvas.height = h;
    }
    const context = canvas.getContext('2d');
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    paint(context, width, height);
}

/* One for all: what an observer's own function refers to is never forgotten. */
const sizes = new ResizeObserver((list) => list.forEach(({target}) => target.paintNow()));

/** A canvas that calls paint(context, width, height) when its size or the theme changes,
    and from its method redraw(), at most once a frame. */
export function canvas(label, paint) {
    const element = el('canvas', label === null ? {aria: {hidden: true}} :
        {role: 'img', aria: {label}});
    let waiting = 0;
    const now = () => {
        waiting = 0;
        canvases[element.isConnected ? 'add' : 'delete'](element);
        redraw(element, paint);
    };
    element.paintNow = now;
    element.redraw = () => { waiting = waiting || requestAnimationFrame(now); };
    sizes.observe(element);
    return element;
}

/** Calls fn when colours changed. */
export function onTheme(fn) {
    listeners.add(fn);
    return () => listeners.delete(fn);
}

const system = matchMedia('(prefers-color-scheme: dark)');

function themeChanged() {
    colours = new Map();
    ramps = new Map();
    hatches = new WeakMap();
    canvases.forEach((one) => one.redraw());
    listeners.forEach((fn) => fn());
}

system.addEventListener('change', themeChanged);

/* Prints with the light theme; canvases are redrawn. */
let onScreen;
function print(begins) {
    const {dataset} = document.documentElement;
    if (begins) onScreen = dataset.theme;
    setTheme(begins ? 'light' : onScreen);
    canvases.forEach((one) => one.paintNow());
}
addEventListener('beforeprint', () => print(true));
addEventListener('afterprint', () => print(false));

export const isDark = () => (document.documentElement.dataset.theme ||
    (system.matches ? 'dark' : 'light')) === 'dark';

/** 'light', 'dark', or '' to follow the system. */
export function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    themeChanged();
}

/** Round steps for an axis of `width` px, up to the step `end`: {x(step), step(x), ticks}. */
export function stepAxis({first, last, end = last}, width) {
    const span = max(1, end - first), most = max(1, floor(width / 72));
    let by = 10 ** floor(log10(span / most || 1));
    by = [1, 2, 5, 10].map((k) => k * by).find((k) => span / k <= most) || by * 10;
    by = max(1, by);
    const x = (step) => (step - first) / span * width;
    const ticks = [first];
    for (let at = ceil((first + 1) / by) * by; at < last; at += by)
        if (x(at) > 36 && x(last) - x(at) > 44) ticks.push(at);
    if (last > first) ticks.push(last);
    return {x, ticks, step: (at) => round(max(first, min(last,
        first + at / width * span)))};
}
