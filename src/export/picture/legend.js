/* legend.js - the strip below: the meaning of colours and lines. */

import {CHANGE_SIGNS} from './draw_marks.js';
import {CHANGES, CHANGE_NAMES, hasSheets, heat, metricOf} from './dress.js';
import {make, shape} from './elements.js';
import {box, data, end, isTensor, net} from './graph_data.js';
import {carries, metricText, numbers} from './marks.js';
import {scene} from './scene.js';

let legend;

export function makeLegend(element = make('div')) {
    legend = element;
    legend.classList.add('gr-legend');
}

function swatch(name, fill, bar, dashed) {
    const entry = make('span', 'entry'), sign = make('i', dashed ? 'sw dashed' : 'sw');
    sign.style.setProperty('--fill', `var(--${fill})`);
    sign.style.setProperty('--bar', bar ? `var(--${bar})` : 'transparent');
    entry.append(sign, name);
    return entry;
}

/** Families of shown nodes, in the order of the table. */
function familyEntries() {
    const present = new Set(scene.nodes
        .filter((b) => !isTensor(b))
        .map((b) => box.family[b]));
    return data.families.map((family, i) => [family, i])
        .filter(([family, i]) => family && present.has(i))
        .map(([family, i]) => swatch(data.familyNames[i], `t-${family}`,
            family === 'view' ? '' : `f-${family}`, family === 'view'));
}

/** Quantity, steps, the largest value and how the steps are spaced. */
function heatEntries() {
    const metric = metricOf(heat.metric) ?? {title: numbers.title, totalText: '\u2013'};
    const ramp = make('span', 'ramp');
    for (let i = 0; i < 9; i++) {
        const step = make('i');
        step.style.background = `var(--heat-${i})`;
        ramp.append(step);
    }
    const most = scene.nodes.find((b) => heat.values[b] === heat.most);
    const largest = most === undefined ? '\u2013'
        : metricText(heat.metric, most);
    const how = heat.log ? 'logarithmic steps' : 'square-root steps';
    const entry = make('span', 'entry');
    entry.append(make('b', '', metric.title), ' ', heat.log ? '' : '0', ramp, largest);
    const total = metric.totalText === '\u2013' ? '' : `; total ${metric.totalText}`;
    return [entry, make('span', 'entry', how + total)];
}

/** The disc of a change, and its name. */
function changeEntry(change) {
    const entry = make('span', 'entry'), sign = shape('svg', 'change',
        {viewBox: '-8 -8 16 16', width: 16, height: 16, 'aria-hidden': 'true'});
    sign.style.setProperty('--fill', `var(--${CHANGES[change]})`);
    shape('circle', '', {r: 7.5}, sign);
    shape('path', '', {d: CHANGE_SIGNS[change]}, sign);
    entry.append(sign, CHANGE_NAMES[change]);
    return entry;
}

export function drawLegend() {
    const entries = heat ? heatEntries() : familyEntries();
    if (scene.lines.nets.some((n) => net.bad[n]) || [...scene.nodes].some(carries)) {
        const entry = make('span', 'entry bad');
        entry.append(make('i', 'stroke'), 'carries NaN or Inf');
        entries.push(entry);
    }
    const changes = new Set([...scene.lines.ends.map((e) => end.change[e]),
        ...[...scene.nodes, ...scene.frames].map((b) => box.change[b])]);
    [1, 2, 3].filter((change) => changes.has(change)).forEach((change) =>
        entries.push(changeEntry(change)));
    if (scene.nodes.some(hasSheets))
        entries.push(make('span', 'entry', 'stacked: equal blocks, folded into one'));
    legend.replaceChildren(...entries);
}
