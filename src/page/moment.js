/* moment.js - the content of a panel without a history: values of a recording, or the
   parameters of a file. Each is a histogram, or a range if only statistics were kept. */

import {ask} from './api.js';
import {div, el, failure, icon, loading, span, svgEl} from './dom.js';
import {badWords, isPath} from './series.js';
import {brief, plural, short} from './text.js';

const IO = [['inputs', 'input', 'values'], ['grad_inputs', 'input', 'grad'],
    ['outputs', 'output', 'values'], ['grad_outputs', 'output', 'grad']];

/** Bars, one per bin; or the range from minimum to maximum with mean and deviation. */
function drawing({histogram, min, max, mean, std}) {
    const low = histogram ? histogram.min : min, high = histogram ? histogram.max : max;
    const x = (value) => 1000 * (value - low) / (high - low || 1), parts = [];
    const add = (d, kind) => parts.push(svgEl('path', {d, class: kind}));
    if (histogram) {
        const {bins} = histogram, most = Math.max(...bins), wide = 1000 / bins.length;
        add(bins.map((n, i) => n ? `M${i * wide} 100V${98 - 96 * n / most}h${wide}V100` : '')
            .join(''), 'bars');
    } else {
        const from = Math.max(0, x(mean - (std || 0))), to = Math.min(1000, x(mean + (std || 0)));
        add('M0 50H1000M1 40v20M999 40v20', 'edge');
        add(`M${from} 32H${to}V68H${from}z`, 'bars');
        add(`M${x(mean)} 24v52`, 'edge');
    }
    if (low < 0 && high > 0) add(`M${x(0)} 0V100`, 'zero');
    return svgEl('svg', {viewBox: '0 0 1000 100', preserveAspectRatio: 'none',
        'aria-hidden': 'true'}, parts);
}

const badMark = (stats) => badWords(stats) && span('mark bad', icon('alarm'),
    badWords(stats));

/** title: {tensor, what, call}; stats: of docs/json.md, "Statistics". */
function figure({tensor, what, call}, stats) {
    const words = [what, call].filter(Boolean).join(', ');
    const caption = el('figcaption', null, el('b', 'cut', tensor), span('dim', words));
    if (!stats || !stats.count || stats.min === undefined)
        return el('figure', 'hg', caption, div('st dim', stats && stats.count === 0 ?
            'empty' : stats && stats.stats_why || 'no statistics'), stats && badMark(stats));
    const numbers = ['mean', 'std', 'min', 'max', 'l2'].filter((key) => key in stats).map((key) =>
        [key === 'l2' ? 'norm' : key, short(stats[key])]);
    const histogram = stats.histogram || {min: stats.min, max: stats.max};
    const ends = [histogram.min, histogram.max];
    caption.append(badMark(stats) || '');
    return el('figure', 'hg one', caption, div({class: 'hp', role: 'img', aria: {label:
        `${tensor} ${words}: ${[plural(stats.count, 'value'), ...numbers.map((one) =>
            one.join(' '))].join(', ')}`}}, drawing(stats)),
    div({class: 'span dim', aria: {hidden: 'true'}}, ends.map((value) =>
        span(null, brief(value)))),
    div('st', numbers.map(([name, text]) => span(null, `${name} `,
        el('b', null, text)))));
}

/** Adds the figure of a tensor, whose values are counted on demand. */
async function fill(box, file, model, place) {
    const title = {tensor: model.name(place), what: 'values', call: ''};
    const promise = ask('show', {file, place, bins: 48});
    const wait = figure(title, {stats_why: ' '});
    wait.append(loading(promise, 'Counting the values'));
    box.append(wait);
    try {
        const {tensor} = await promise;
        wait.replaceWith(figure(title, tensor));
    } catch (error) {
        wait.replaceWith(failure(error));
    }
}

/** Fills the box, with one tensor if `of` says so; resolves to the number of figures. */
export async function showMoment(box, file, model, place, of, alive) {
    const tensors = of ? [] : model.kind(place) === 'tensor' ? [place] :
        model.below(place).filter((i) => model.kind(i) === 'tensor');
    let calls = [];
    if (file.kind === 'recording' && model.isModule(place))
        calls = (await ask('show', {file: file.id, place})).calls || [];
    if (!alive()) return 0;
    for (const [i, call] of calls.entries())
        for (const [list, whose, what] of IO)
            for (const value of call[list] || [])
                if ((value.stats || value.stats_why) && (!of || ((of.kind === 'input') ===
                    (whose === 'input') && isPath(value.path || '', of.path))))
                    box.append(figure({tensor: value.path || whose, what, call:
                        calls.length > 1 ? `call ${i + 1}/${calls.length}` : ''},
                    value.stats || value));
    for (const i of tensors) {
        if (!alive()) break;
        await fill(box, file.id, model, i);
    }
    return box.children.length;
}
