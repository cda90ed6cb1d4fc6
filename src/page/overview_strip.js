/* overview_strip.js - the verdict of a training, its loss, gradient norm and learning rate,
   and the worst alarms. */

import {columnOf, cursorLine, drawPlaces, linePlaces, triangle} from './axis.js';
import {button, div, el, icon, put, span} from './dom.js';
import {canvas, stepAxis, textWidth, token, write} from './draw.js';
import {logTicks, ticks} from './lines.js';
import {abs, log10, max, min, round} from './math.js';
import {go, state} from './state.js';
import {brief, commas, number, short, stepCount} from './text.js';
import {alarmPill} from './topbar.js';

const PLOT = 60; // px
export const NO_COLUMNS = {columns: 0, first: [], last: []};
const LEFT_OUT = .01; // share of the values at each end
const SIGNS = {alarm: 'alarm', warning: 'alarm', good: 'check', none: 'help'};
const showAlarms = () => document.querySelector('.btn.alarms')?.click();
const LEVELS = ['alarm', 'warning', 'note'];

/** Goes to the step and module of an alarm. */
export const goTo = ({step, name}) => go({step: step ?? null, at: name ?? null});

/** One sentence: who, what, when; the same as `torchoscope check` prints. */
function verdict(training) {
    const found = training?.verdict;
    if (!found) return div({class: 'banner wait', role: 'status'}, el('b', null,
        'No step recorded yet'), 'The rows fill with the first logged step.');
    const lead = found.lead && `${found.lead[0].toUpperCase()}${found.lead.slice(1)}. `;
    const text = `${found.text[0].toUpperCase()}${found.text.slice(1)}`;
    return div({class: `banner ${found.role}`, role: 'status'}, icon(SIGNS[found.role]),
        span('grow', lead ? el('b', null, lead) : null, text),
        /good|none/.test(found.role) ? null : button({text: 'Details', onclick: showAlarms}));
}

/** Alarms by severity, then by step. */
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
    const line = (alarm) => div('arow', alarmPill(alarm),
        el('b', {class: 'cut', title: alarm.name}, tail(alarm.name || 'the run')),
        span({class: 'dim words first grow', title: alarm.text},
            alarm.text.split(/(?<=;) /).map((part) => span(null, part))),
        span('dim', `step ${alarm.step}`),
        el('button', {class: 'link', onclick: () => goTo(alarm)}, 'Go to'));
    return div('oval', div('cap', el('b', null, 'Alarms'),
        span('dim3', `${all ? commas(all) : 'none'} in ${stepCount(steps)}`),
        span('grow'),
        all > 3 ? el('button', {class: 'link', onclick: showAlarms},
            `and ${commas(all - 3)} more`) : null), list.slice(0, 3).map(line));
}

/** Does a line cross a box? Both ends of a segment may lie outside. */
const crosses = (places, [left, right, top, bottom]) => places.some((to, i) => {
    const from = places[i - 1];
    if (!to || !from || to[0] < left || from[0] > right) return false;
    const at = (x) => from[1] + (to[1] - from[1]) * (x - from[0]) / (to[0] - from[0] || 1);
    const ends = [at(max(left, from[0])), at(min(right, to[0]))];
    return min(...ends) <= bottom && max(...ends) >= top;
});

/** The rightmost right edge of a label above a rule where nothing crosses it; -1: none.
    taken: occupied ranges [from, to]. */
function freePlace(places, taken, width, wide, top) {
    for (let right = width - 2; right - wide >= 0; right -= 4) {
        const box = [right - wide - 2, right + 2, top - 12, top + 1];
        if (!taken.some(([from, to]) => from < box[1] && to > box[0]) && !crosses(places, box))
            return right;
    }
    return -1;
}

/** A line over steps. get() -> {columns, values, log, range, alarms, step, name, note}. */
function spark(title, get) {
    const value = el('b'), note = span(), reach = span();
    const plot = canvas(`${title} over the steps`, paint);
    const box = div('spark', div('cap', el('b', null, title), span('words grow', note, reach),
        value), plot);

    function paint(pen, width) {
        const {columns, values, log, range, alarms, step} = get();
        if (!values || !range || !columns.columns) return;
        const axis = stepAxis(range, width), ys = values.map((one) =>
            one === null || (log && one <= 0) ? null : log ? log10(one) : one);
        const list = ys.filter(Number.isFinite).sort((a, b) => a - b);
        const cut = (part) => list[round(part * (list.length - 1))] ?? 0;
        let low = cut(LEFT_OUT), high = list.length < 20 ? cut(1) : cut(1 - LEFT_OUT);
        const pad = abs(low) / 2 || 1, same = high - low < 1e-6 * pad;
        if (same) [low, high] = [low - pad, low + pad];
        const y = (one) => max(1, min(PLOT - 1,
            8 + (PLOT - 12) * (1 - (one - low) / (high - low))));
        const marks = (same ? [list[0] ?? 0] : log ? logTicks(low, high, 3) :
            ticks(low, high, 3)).filter((at) => y(at) > 12);
        const rule = (top, name) => {
            pen.fillStyle = token(name);
            pen.fillRect(0, round(top), width, 1);
        };
        marks.forEach((at) => rule(y(at), 'line'));
        const places = linePlaces(pen, columns, ys, {x: axis.x, y, end: range.end, top: 0,
            bottom: PLOT});
        drawPlaces(pen, places, 'text', 1.3);
        const now = axis.x(step), taken = [[now - 2, now + 2], ...ys.flatMap((one, i) =>
            one === null || Number.isFinite(one) ? [] : [[axis.x(columns.first[i]),
                axis.x(columns.first[i + 1] ?? range.end)]])];
        const shown = marks.filter((at) => {
            const text = short(log ? 10 ** at : at), top = round(y(at));
            const right = freePlace(places, taken, width, textWidth(text), top);
            if (right >= 0) write(pen, 'small', 'text2', text, right, top - 3, 'right');
            return right >= 0;
        });
        // without room for labels the words above say how far it goes
        reach.textContent = shown.length || same ? '' :
            [low, high].map((at) => brief(log ? 10 ** at : at)).join(' to ');
        rule(PLOT, 'line2');
        cursorLine(pen, axis.x(step), 0, PLOT);
        for (const alarm of [...alarms].reverse())
            triangle(pen, axis.x(alarm.step), PLOT + 3, alarm.severity === 'alarm');
    }

    return {box, update() {
        const {columns, values, step, name} = get();
        // of the newest step, as in the scrubber, or of that of the cursor
        let at = columnOf(columns, state.step === null ? Infinity : step);
        while (at > 0 && (values?.[at] ?? null) === null) at--; // the last one before it
        const now = values?.[at] ?? null;
        const bad = now !== null && !Number.isFinite(now);
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
    const {training, modules, strip} = view;
    const {columns = NO_COLUMNS, steps = 0, phase} = view.phase();
    const is = (test) => scalar(training, phase, test);
    const loss = is((name) => name === training.loss) || is((name) => /loss/i.test(name));
    const rates = training.scalars.filter((one) => /^lr\//.test(one.name)).length;
    const norm = modules.values('gradient', 0), {ranks = []} = modules.document;
    const whose = ranks.length > 1 && state.rank === null ? 'largest of the ranks, log' :
        'all parameters, log';
    const parts = {
        loss: {columns, ...loss, name: phase},
        'gradient norm': {name: whose, log: true, ...norm ? {columns:
            modules.columns, values: Array.from(norm, (one) => Number.isNaN(one) ? null :
            one === Infinity ? NaN : one)} : {columns, ...is((name) => name === 'grad_norm'),
            name: 'all parameters, log'}},
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
    put(strip, ...view.sparks.map((one) => one.box), alarmList(training, steps));
    view.sparks.forEach((one) => one.update());
}
