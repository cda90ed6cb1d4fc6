/* draw_marks.js - what is drawn over boxes, at the size of the screen: the pill of an
   alarm, letters of panels, the disc of a change. */

import {layers} from './draw_svg.js';
import {CHANGES, textWidth} from './dress.js';
import {shape} from './elements.js';
import {PILL, box, isOpen} from './graph_data.js';
import {alarmWord, isWarning, lettersOf} from './marks.js';

export function drawMarks(b) {
    const word = alarmWord(b), list = word ? [drawPill(b, word)] : [];
    if (box.change[b]) list.push(drawChange(b));
    return list.concat((lettersOf.get(b) ?? []).map((one, i) => drawLetter(b, one, i)));
}

const held = (kind, x, y) => shape('g', `held ${kind}`, {'data-x': x, 'data-y': y},
    layers.marks);

/** The letter of a panel on the top right corner; several lie side by side. */
function drawLetter(b, letter, i) {
    const mark = held('letter', box.x[b] + box.w[b], box.y[b]);
    mark.style.setProperty('--fill', `var(--p-${letter.toLowerCase()})`);
    shape('rect', '', {x: -14 - 17 * i, y: -8, width: 16, height: 16, rx: 3}, mark);
    shape('text', '', {x: -6 - 17 * i, y: 4}, mark).textContent = letter;
    return mark;
}

/** A triangle and a word on the top left corner, held at the size of the screen. */
function drawPill(b, word) {
    const pill = held(isWarning(b) ? 'alarm warning' : 'alarm', box.x[b], box.y[b]);
    shape('rect', '', {x: -6, y: -13, width: 20 + textWidth(word, 11, true) * 1.15,
        height: 17, rx: 8.5}, pill);
    shape('path', '', {d: ALARM_SIGN}, pill);
    shape('text', '', {x: 12, y: -0.5}, pill).textContent = word;
    return pill;
}

const ALARM_SIGN = 'M5 -9.5l4.6 8h-9.2z';
export const CHANGE_SIGNS = ['', 'M-3.5 0h7M0 -3.5v7', 'M-3.5 0h7',
    'M-3.5 0Q-1.75 -3.4 0 0Q1.75 3.4 3.5 0'];

/** The top right corner, where the disc of a change is; a narrow pill has text
    there. */
function changeCorner(b) {
    const pill = box.shape[b] === PILL && !isOpen(b);
    return {x: box.x[b] + box.w[b] - (pill ? -1 : 2), y: box.y[b] - (pill ? 3 : 0)};
}

/** +, - or ~ on a disc. */
function drawChange(b) {
    const {x, y} = changeCorner(b);
    const mark = held('change', x, y);
    mark.style.setProperty('--fill', `var(--${CHANGES[box.change[b]]})`);
    shape('circle', '', {r: 7.5}, mark);
    shape('path', '', {d: CHANGE_SIGNS[box.change[b]]}, mark);
    return mark;
}
