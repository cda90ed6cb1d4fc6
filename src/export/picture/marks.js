/* marks.js - data of callers about boxes: panels, alarms of a training, numbers by
   place, matches of a search. All of them name modules, panels also
   tensors. */

import {inArea} from './draw_canvas.js';
import {drawScene, redressSvg} from './draw_svg.js';
import {colourBy, makeHeat} from './dress.js';
import {byKey, current, hasFocus, relight, selected, tensorName} from './fold.js';
import {CARRIES, MADE, NONE, RAISED, box, boxesOf, has, isOpen, listAt,
    textOf} from './graph_data.js';
import {drawLegend} from './legend.js';
import {MANY, scene, shownFor} from './scene.js';
import {paintLater, visibleArea} from './view.js';

let panels = []; // names; the first is A
let alarms = new Map(); // name -> {word, made, warn}
export let numbers = null; // {title, values: by box, text}
export let hits = []; // boxes that a search found

export let lettersOf = new Map(); // by shown box
let alarmOf = new Map();

/** Another graph: clear all marks. */
export function clearMarks(colour) {
    panels = [];
    alarms = new Map();
    numbers = null;
    colourBy(colour);
}

/** Omitted fields stay. */
export function setMarks(given) {
    panels = given.panels ?? panels;
    alarms = given.alarms ?? alarms;
    remark();
}

export function setHits(list) {
    hits = list;
    paintLater();
}

/** The box of a name, or of the module around it; NONE. */
export function boxNamed(name) {
    for (let at = name; at; at = at.slice(0, Math.max(0, at.lastIndexOf('.'))))
        if (boxesOf(at).length) return boxesOf(at)[0];
    return NONE;
}

/** Its boxes: a tensor's too. */
const boxesNamed = (name) => name.includes('@') ? [...scene.frames, ...scene.nodes].filter((b) =>
    tensorName(b) === name) : boxesOf(name);

/** Which shown boxes have marks: letters the module's own, alarms also groups that are
    closed around it. */
export function findMarked() {
    lettersOf = new Map();
    alarmOf = new Map();
    panels.forEach((name, i) => boxesNamed(name).forEach((b) => {
        if (box.w[b] > 0) listAt(lettersOf, b).push('ABCDE'[i]);
    }));
    for (const [name, alarm] of alarms)
        for (const b of boxesOf(name).map(shownFor)) {
            const known = b === NONE ? alarm : alarmOf.get(b);
            if (!known || (known.warn && !alarm.warn) || (!known.made && alarm.made))
                alarmOf.set(b, alarm);
        }
    scene.marked = [...scene.frames, ...scene.nodes].filter((b) => lettersOf.has(b) ||
        box.change[b] || (alarmWord(b) && (!isOpen(b) || alarmOf.has(b))));
}

/** The word of an alarm's pill; empty: none. */
export function alarmWord(b) {
    const alarm = alarmOf.get(b);
    if (has(b, RAISED)) return 'raised';
    if (alarm && (alarm.made || alarm.warn)) return alarm.word;
    return has(b, MADE) ? 'NaN' : '';
}

export const isWarning = (b) => !has(b, MADE | RAISED) && Boolean(alarmOf.get(b)?.warn);

/** Does it carry NaN or Inf from another box? */
export const carries = (b) => (has(b, CARRIES) && !has(b, MADE)) ||
    (alarmOf.has(b) && !alarmWord(b));

function remark() {
    findMarked();
    drawScene();
    relight();
}

/* --- Numbers by module: {title, numbers: Map, text: (number) => string} */

/** By a metric of the data, 'family', or numbers that the caller has. */
export function setColour(wanted) {
    numbers = null;
    if (typeof wanted !== 'string') {
        const values = new Float64Array(box.n).fill(-1);
        for (const [name, value] of wanted.numbers)
            for (const b of boxesOf(name)) values[b] = value;
        numbers = {...wanted, values};
    }
    const known = wanted === 'family' || box[wanted];
    colourBy(numbers ? 'numbers' : known ? wanted : 'family');
    makeHeat();
    redressSvg();
    drawLegend();
    paintLater();
}

/** The text of a metric's value. */
export function metricText(metric, b) {
    if (metric !== 'numbers') return textOf(box[`${metric}Text`], b);
    return numbers.values[b] < 0 ? '\u2013' : numbers.text(numbers.values[b]);
}

/* --- Rings */

/** Boxes that show matches; kept until the scene or the search changes. */
function shownHits() {
    if (scene.hitsOf !== hits) {
        scene.hitsOf = hits;
        scene.shownHits = [...new Set(hits.map(shownFor))]
            .filter((b) => b !== NONE);
    }
    return scene.shownHits;
}

/** Rings: matches of the search, the selected box, the one with the keyboard focus. */
export function rings() {
    const list = [], area = visibleArea();
    for (const b of shownHits()) {
        if (list.length >= MANY) break;
        if (inArea(b, area)) list.push({b, className: 'hit', out: 2});
    }
    if (selected !== NONE) list.push({b: selected, className: 'selected', out: 1});
    if (byKey && current !== NONE && hasFocus())
        list.push({b: current, className: 'focus', out: 5});
    return list;
}
