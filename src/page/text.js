/* text.js - number formats, equal to src/text/number.c. Drawn text uses the minus U+2212;
   plain() converts it to - for copies and CSV. */

import {abs, floor, min} from './math.js';

export const MINUS = '\u2212';
export const NONE = '\u2013';
export const DOTS = '\u2026';
export const TIMES = '\u00d7';

/** A JSON value as a number, also "NaN", "Infinity" and "-Infinity"; else null. */
export function number(value) {
    if (typeof value === 'number') return value;
    return value === 'NaN' || /^-?Infinity$/.test(value) ? Number(value) : null;
}

/** printf's %.{d}f of a value that is not negative: ties of its exact value go to even. */
function fixed(value, d) {
    const up = value.toFixed(d), exact = value.toFixed(min(100, d + 30));
    const point = exact.indexOf('.'), end = point + 1 + d;
    if (point < 0 || !/^50*$/.test(exact.slice(end))) return up;
    const down = d > 0 ? exact.slice(0, end) : exact.slice(0, point);
    return Number(down.at(-1)) % 2 ? up : down;
}

/** printf's %.{digits}g of a value above 0. */
function general(value, digits) {
    const exact = value.toExponential(digits + 30);
    let [figures, power] = value.toExponential(digits - 1).split('e');
    const all = exact.slice(0, exact.indexOf('e')).replace('.', '');
    if (/^50*$/.test(all.slice(digits)) && Number(all[digits - 1]) % 2 === 0) {
        figures = all.slice(0, digits);
        power = exact.slice(exact.indexOf('e') + 1);
    }
    figures = figures.replace('.', '').replace(/0+$/, '') || '0';
    power = Number(power);
    if (power < -4 || power >= digits) {
        const rest = figures.length > 1 ? `.${figures.slice(1)}` : '';
        const size = String(abs(power)).padStart(2, '0');
        return `${figures[0]}${rest}e${power < 0 ? '-' : '+'}${size}`;
    }
    if (power < 0) return `0.${'0'.repeat(-power - 1)}${figures}`;
    figures = figures.padEnd(power + 1, '0');
    const after = figures.slice(power + 1);
    return figures.slice(0, power + 1) + (after ? `.${after}` : '');
}

function real(value, digits) {
    const x = number(value);
    if (x === null) return NONE;
    if (Number.isNaN(x)) return 'NaN';
    const sign = x < 0 || Object.is(x, -0) ? MINUS : '', size = abs(x);
    if (size === Infinity) return `${sign}Inf`;
    return sign + (size === 0 ? '0' : general(size, digits));
}

/** %.4g: 0.003127, 2.114e-05, NaN, −Inf; no number: –. */
export const short = (value) => real(value, 4);
/** %.6g */
export const long = (value) => real(value, 6);
/** Short enough for the ends of an axis: 3 digits or fewer. */
export const brief = (value) => [3, 2].map((digits) => real(value, digits)).find((text) =>
    text.replace(/[.-]/g, '').length <= 5) || real(value, 1);
/** For copies, CSV and JSON. */
export const plain = (text) => text.replaceAll(MINUS, '-');

/** 999 1.0K 25.6M 1.0B */
export function count(n) {
    if (n === null || n === undefined) return NONE;
    if (n < 1000) return String(n);
    if (n < 1e6) return `${fixed(n / 1e3, 1)}K`;
    return n < 1e9 ? `${fixed(n / 1e6, 1)}M` : `${fixed(n / 1e9, 1)}B`;
}

/** 25,557,032 */
export const commas = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ',');

/** 1 tensor, 1,234 tensors */
export const plural = (n, one, many = `${one}s`) => `${commas(n)} ${n === 1 ? one : many}`;

/** Steps have no commas: 12480 steps */
export const stepCount = (n) => `${n} step${n === 1 ? '' : 's'}`;

/** 1023B 1.0KB 97.7MB */
export function bytes(n) {
    if (n === null || n === undefined) return NONE;
    const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];
    let unit = 0;
    while (unit < 6 && n >= 1024 ** (unit + 1)) unit++;
    if (unit === 0) return `${n}B`;
    let text = fixed(n / 1024 ** unit, 1);
    if (text === '1024.0' && unit < 6) {
        text = '1.0';
        unit++;
    }
    return text + units[unit];
}

/** 999 1.2K 231.2M 8.2G 1.0T */
export function flops(n) {
    if (n === null || n === undefined) return NONE;
    if (n < 1000) return String(n);
    let unit = 1000, letter = 0;
    for (; letter < 5 && n / unit >= 1000; letter++) unit *= 1000;
    const step = unit / 10, tenths = floor(n / step) + (n % step * 2 >= step ? 1 : 0);
    return `${floor(tenths / 10)}.${tenths % 10}${'KMGTPE'[letter]}`;
}

const RANGES = [[1e-6, 1e9, 1, 'ns'], [1e-3, 1e6, 2, '\u03bcs'], [1, 1e3, 2, 'ms'],
    [10, 1, 4, 's'], [60, 1, 2, 's'], [3600, 60, 1, 'min'], [Infinity, 3600, 1, 'h']];

/** Nanoseconds: 306.22μs 1.52ms 1.0000s */
export function time(ns) {
    if (ns === null || ns === undefined) return NONE;
    const s = ns / 1e9;
    const [, unit, d, name] = RANGES.find((range) => s < range[0]) || RANGES[6];
    return fixed(s < 1 ? s * unit : s / unit, d) + name;
}

/** Rounded: 9%, 100% */
export function share(part, whole) {
    const percent = whole > 0 ? part * 100 / whole : 0;
    return `${percent >= 100 ? 100 : percent > 0 ? floor(percent + 0.5) : 0}%`;
}

/** 3×224×224 */
export const shape = (dims) => dims.length ? dims.join(TIMES) : 'scalar';

/** Rows of cells as CSV. */
export const csv = (rows) => rows.map((row) => `${row.map((cell) => /[",\n]/.test(cell) ?
    `"${cell.replaceAll('"', '""')}"` : cell).join(',')}\n`).join('');

/** Quotes a word for a shell. */
export const word = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text :
    `'${text.replaceAll("'", "'\\''")}'`;
