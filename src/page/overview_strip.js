/* overview_strip.js - the verdict of a training, its loss, gradient norm and learning rate,
   and the worst alarms. */

import {columnOf, cursorLine, hatched, triangle} from './axis.js';
import {button, el, icon} from './dom.js';
import {canvas, stepAxis, token} from './draw.js';
import {go} from './state.js';
import {commas, number, short} from './text.js';
import {alarmPill} from './topbar.js';

const PLOT = 60, LABEL = 40; // px
const LEFT_OUT = .01; // share of the values at each end
const SIGNS = {alarm: 'alarm', warning: 'alarm', good: 'check'};
const showAlarms = () => document.querySelector('.btn.alarms')?.click();
const LEVELS = ['alarm', 'warning', 'note'];

/** Where an alarm is: the step and the module. */
export const goTo = ({step, name}) => go({step: step ?? null, at: name ?? null});

/** One sentence: who, what, when; the same as `torchoscope check` prints. */
function verdict(training) {
    const found = training?.verdict;
    if (!found) return el('div', {class: 'banner wait', role: 'status'}, el('b', null,
        'No step recorded yet'), 'The rows fill with the first logged step.');
    const lead = found.lead && `${found.lead[0].toUpperCase()}${found.lead.slice(1)}. `;
    const text = `${found.text[0].toUpperCase()}${found.text.slice(1)}`;
    return el('div', {class: `banner ${found.role}`, role: 'status'}, icon(SIGNS[found.role]),
        el('span', 'grow', lead ? el('b', null, lead) : null, text),
        found.role === 'good' ? null : button({text: 'Details', onclick: showAlarms}));
}

/** The worst first, then the first. */
export const worstAlarms = ({alarms}) => alarms.filter((one) => one.severity !== 'note')
    .sort((a, b) => LEVELS.indexOf(a.severity) - LEVELS.indexOf(b.severity) || a.step - b.step);

/** The end of a long name. */
function tail(name) {
    const parts = name.split('.'), most = 18;
    while (parts.length > 1 && parts.join('.').length > most) parts.shift();
    return parts.join('.');
}

function alarmList(training, steps) {
    const list = worstAlarms(training), all = list.length + (training.alarms_left_out || 0);
    const line = (alarm) => el('div', 'arow', alarmPill(alarm),
        el('b', {class: 'cut', title: alarm.name}, tail(alarm.name || 'the run')),
        el('span', {class: 'dim cut grow', title: alarm.text}, alarm.text),
        el('span', 'dim', `step ${alarm.step}`),
        el('button', {type: 'button', class: 'link', onclick: () => goTo(alarm)}, 'Go to'));
    return el('div', 'oval', el('div', 'cap', el('b', null, 'Alarms'),
        el('span', 'dim3', all ? `${commas(all)} in ${steps} steps` :
            `none in ${steps} steps`), el('span', 'grow'),
        all > 3 ? el('button', {type: 'button', class: 'link', onclick: showAlarms},
            `and ${commas(all - 3)} more`) : null), list.slice(0, 3).map(line));
}

/** Two or three round values between low and high; of logarithms decades, or if there are
    not two of them round values of the numbers. */
function ticks(low, high, log) {
    const by = log ? Math.max(1, Math.ceil((high - low) / 3)) : [1, 2, 5, 10, 20, 50].map((k) =>
        k * 10 ** (Math.floor(Math.log10(high - low)) - 1)).find((k) => (high - low) / k <= 3.5);
    const list = [];
    for (let at = Math.ceil(low / by); at * by < high; at++) list.push(at * by || 0);
    return log && list.length < 2 ? ticks(10 ** low, 10 ** high).map(Math.log10) : list;
}

/** Where labels end: at 7/8 of the width, or before what is hatched there. */
function labelsAt(hatches, width) {
    let right = width * .88;
    for (const [from, to] of [...hatches].reverse())
        if (from < right && to > right - LABEL) right = from - 4;
    return Math.max(LABEL, right);
}

/** A line over steps. get() -> {columns, values, log, range, alarms, step, name, note}. */
function spark(title, get) {
    const value = el('b'), note = el('span', 'dim3');
    const plot = canvas(`${title} over the steps`, paint);
    const box = el('div', 'spark', el('div', 'cap', el('b', null, title), note,
        el('span', 'grow'), value), plot);

    function paint(pen, width) {
        const {columns, values, log, range, alarms, step} = get();
        if (!values || !range || !columns.columns) return;
        const axis = stepAxis(range, width), ys = values.map((one) =>
            one === null || Number.isNaN(one) || (log && one <= 0) ? NaN : log ?
                Math.log10(one) : one);
        const list = ys.filter(Number.isFinite).sort((a, b) => a - b);
        const cut = (part) => list[Math.round(part * (list.length - 1))] ?? 0;
        let low = cut(LEFT_OUT), high = list.length < 20 ? cut(1) : cut(1 - LEFT_OUT);
        if (high <= low) [low, high] = [low - Math.abs(low) / 2 || -1, low + Math.abs(low) / 2 || 1];
        const y = (one) => Math.max(1, Math.min(PLOT - 1,
            8 + (PLOT - 12) * (1 - (one - low) / (high - low))));
        const marks = ticks(low, high, log).filter((at) => y(at) > 12);
        const rule = (top, name) => {
            pen.fillStyle = token(name);
            pen.fillRect(0, Math.round(top), width, 1);
        };
        marks.forEach((at) => rule(y(at), 'line'));
        const hatches = values.flatMap((one, i) => one === null || Number.isFinite(one) ? [] :
            [[axis.x(columns.first[i]), axis.x(columns.first[i + 1] ?? range.end)]]);
        hatches.forEach(([from, to]) => hatched(pen, from, 0, to - from, PLOT));
        pen.strokeStyle = token('text');
        pen.lineWidth = 1.3;
        pen.lineJoin = 'round';
        pen.beginPath();
        let down = false;
        ys.forEach((one, i) => {
            if (!Number.isFinite(one)) {
                down = down && values[i] === null;
                return;
            }
            pen[down ? 'lineTo' : 'moveTo'](axis.x((columns.first[i] + columns.last[i]) / 2),
                y(one));
            down = true;
        });
        pen.stroke();
        pen.font = getComputedStyle(plot).font;
        pen.textAlign = 'right';
        const right = labelsAt(hatches, width);
        marks.forEach((at) => {
            const text = short(log ? 10 ** at : at);
            pen.strokeStyle = token('surface');
            pen.lineWidth = 3;
            pen.strokeText(text, right, y(at) - 3);
            pen.fillStyle = token('text2');
            pen.fillText(text, right, y(at) - 3);
        });
        rule(PLOT, 'line2');
        cursorLine(pen, axis.x(step), 0, PLOT);
        for (const alarm of [...alarms].reverse())
            triangle(pen, axis.x(alarm.step), PLOT + 3, alarm.severity === 'alarm');
    }

    return {box, update() {
        const {columns, values, step, name} = get();
        const now = values && columns.columns ? values[columnOf(columns, step)] : null;
        const bad = now !== null && now !== undefined && !Number.isFinite(now);
        box.classList.toggle('off', !values);
        note.textContent = name;
        value.textContent = short(now);
        value.className = bad ? 'bad' : '';
        plot.redraw();
    }};
}

/** The scalars of the strip, by a test of their names. */
function scalar(training, phase, test) {
    const found = training.scalars.find((one) => one.phase === phase && test(one.name));
    return found && {name: found.name, values: found.value.map(number)};
}

export function makeStrip(view) {
    const {training, modules, strip} = view, {phase} = modules.document;
    const {columns = {columns: 0, first: [], last: []}, steps = 0} = view.phase();
    const is = (test) => scalar(training, phase, test);
    const loss = is((name) => name === training.loss) || is((name) => /loss/i.test(name));
    const rates = training.scalars.filter((one) => /^lr\//.test(one.name)).length;
    const norm = modules.values('gradient', 0);
    const parts = {
        loss: {columns, ...loss, name: phase},
        'gradient norm': {name: 'all parameters, log', log: true, columns: modules.columns,
            values: norm && Array.from(norm, (one) =>
                Number.isNaN(one) ? null : one === Infinity ? NaN : one)},
        'learning rate': {columns, ...is((name) => /^lr(\/|$)/.test(name)),
            name: rates > 1 ? `group 0 of ${rates}` : ''},
    };
    view.parts = parts;
    view.sparks = view.sparks || Object.keys(parts).map((title) => spark(title, () =>
        ({range: view.range, step: view.now(), alarms: worstAlarms(view.training),
            ...view.parts[title]})));
    view.banner?.remove();
    view.banner = verdict(training);
    strip.before(view.banner);
    strip.classList.toggle('off', !training.verdict);
    strip.replaceChildren(...view.sparks.map((one) => one.box), alarmList(training, steps));
    view.sparks.forEach((one) => one.update());
}
