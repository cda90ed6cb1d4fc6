/* numbers.js - exports a series as a table, CSV or picture. */

import {save} from './api.js';
import {button, copyText, dialog, div, el} from './dom.js';
import {token} from './draw.js';
import {tableOf} from './series.js';
import {csv} from './text.js';

export function csvOf(trace, columns) {
    const {heads, rows} = tableOf(trace, columns, true);
    return csv([heads, ...rows]);
}

/** Shows all columns as table rows in a dialog. */
export function showTable(title, trace, columns) {
    const {heads, rows} = tableOf(trace, columns);
    dialog(title, 'figures', button({text: 'Copy as CSV', onclick: () =>
        copyText(csvOf(trace, columns), 'CSV copied')}),
    div({class: 'scroll', tabIndex: 0, role: 'region', aria: {label: 'Numbers'}},
        el('table', 'num', el('thead', null, el('tr', null, heads.map((head) =>
            el('th', {scope: 'col'}, head)))),
        el('tbody', null, rows.map((row) => el('tr', null, row.map((text, i) =>
            el(i ? 'td' : 'th', i ? null : {scope: 'row'}, text))))))));
}

const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** The plot as a self-contained SVG: text stays text, cells become one image. */
function svgOf(figure, title) {
    const {plot, canvas, lines} = figure, left = 56, top = 50;
    const width = plot.clientWidth, height = plot.clientHeight, {first, end} =
        figure.host.range();
    const text = (x, y, words, more = '') => `<text x="${x}" y="${y}" ${more}>${escaped(
        words)}</text>`;
    const dim = `fill="${token('text2')}"`, foot = top + height;
    const labels = [...figure.labels.children].map((one) => text(left - 5,
        top + 4 + parseFloat(one.style.top) * height / 100, one.textContent, `text-anchor="end" ${dim}`));
    return [`<svg xmlns="http://www.w3.org/2000/svg" width="${left + width + 16}" height="${
        foot + 52}" font-family="Arial,'Liberation Sans',Arimo,Helvetica,sans-serif" ` +
        `font-size="11" fill="${token('text')}"><title>${escaped(title)}</title>` +
        `<rect width="100%" height="100%" fill="${token('surface')}"/>`,
    text(16, 22, title, 'font-size="13" font-weight="bold"'),
    text(left, 42, figure.caption.textContent && figure.words),
    `<image x="${left}" y="${top}" width="${width}" height="${height}" ` +
        `preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`,
    `<g transform="translate(${left} ${top})">${[...lines.children].map((one) =>
        one.outerHTML).join('')}</g>`,
    `<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" ` +
        `stroke="${token('line')}"/>`,
    `<path d="M${left + parseFloat(figure.cursor.style.left)} ${top}v${height}" ` +
        `stroke="${token('accent')}" stroke-width="2"/>`, ...labels,
    text(left, foot + 15, String(first), dim), text(left + width, foot + 15, String(end - 1),
        `text-anchor="end" ${dim}`), text(left + width / 2, foot + 15, 'step',
        `text-anchor="middle" ${dim}`),
    text(left, foot + 33, [...figure.numbers.children].map((one) => one.textContent)
        .join('  ')), text(left + width, foot + 46, 'torchoscope',
        `text-anchor="end" ${dim}`), '</svg>\n'].join('\n');
}

/** form: 'svg' or 'png', twice as large. */
export async function savePicture(figure, title, form) {
    const text = svgOf(figure, title), blob = new Blob([text], {type: 'image/svg+xml'});
    const name = `${title} ${figure.words}`.replace(/[^\w.-]+/g, '_');
    if (form === 'svg') {
        save(blob, `${name}.svg`);
        return;
    }
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(text)}`;
    await image.decode();
    const made = el('canvas', {width: 2 * image.width, height: 2 * image.height});
    made.getContext('2d').drawImage(image, 0, 0, made.width, made.height);
    save(await new Promise((done) => made.toBlob(done)), `${name}.png`);
}
