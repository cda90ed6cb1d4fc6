/* tips.js - a tooltip with facts about a box, after a short delay. */

import {barHeight} from './dress.js';
import {make} from './elements.js';
import {CARRIES, MADE, NONE, NOT_CALLED, RAISED, box, data,
    end, group, groupOf, has, idOf, isGroup, isOpen, isTensor, nameOf, net,
    textOf} from './graph_data.js';
import {metricText, numbers} from './marks.js';
import {options} from './mount.js';
import {stageHeight, stageWidth, toStage, view} from './view.js';

const TIP_MS = 120;

export let tip, tipTimer = 0, tipBox = NONE;

/** Nets of the box's group that end at it, or start from it. */
function netsOf(b, incoming) {
    const g = groupOf[box.parent[b]], list = [];
    for (let n = group.nets[g]; n < group.nets[g] + group.nNets[g]; n++) {
        if (!incoming) {
            if (net.source[n] === b) list.push(n);
            continue;
        }
        for (let e = net.ends[n]; e < net.ends[n] + net.nEnds[n]; e++)
            if (end.target[e] === b) {
                list.push(n);
                break;
            }
    }
    return list;
}

/** A line from an input or to an output has no label: the box there says the shape. */
function endShape(n) {
    let from = n, to = n, target = NONE;
    while (net.source[from] === net.group[from] && net.outer[from] !== NONE)
        from = end.net[net.outer[from]];
    while (to !== NONE && target === NONE) {
        let next = NONE;
        for (let e = net.ends[to]; e < net.ends[to] + net.nEnds[to]; e++) {
            if (isTensor(end.target[e])) target = end.target[e];
            else if (end.target[e] === net.group[to]) next = end.outer[e];
        }
        to = next;
    }
    const one = [net.source[from], target].find((b) => b !== NONE && isTensor(b));
    return one === undefined ? '' : textOf(box.words, one).split('\n')[0];
}

function tensorTexts(b, incoming) {
    return netsOf(b, incoming).slice(0, 8).map((n) => {
        const tensor = textOf(net.more, n) || textOf(net.label, n) || endShape(n);
        const bytes = incoming ? '' : textOf(net.bytes, n);
        return [`${tensor} ${textOf(net.dtype, n)}`.trim(), bytes].filter(Boolean)
            .join(', ');
    }).filter(Boolean);
}

/** The class; of an input or output its shape and dtype. */
export function classOf(b) {
    const words = textOf(box.words, b).split('\n');
    return isTensor(b) ? words.join(' ') : words[0];
}

/* Defaults that torch does not print. */
const SILENT = new RegExp('^(transposed=False|groups=1|padding_mode="zeros"|' +
    '(output_)?padding=\\(0(, 0)*,?\\)|dilation=(1|\\(1(, 1)*,?\\)))$');

/** Arguments as torch prints them, "64, kernel_size=(3, 3)", or else those of the class
    line, "stride 2". A value without key gets a dash. */
function argumentRows(b) {
    if (isTensor(b)) return [];
    const torch = textOf(box.extra, b), words = torch
        ? torch.match(/(?:\([^()]*\)|\[[^[\]]*\]|'[^']*'|[^,])+/g)
        : textOf(box.words, b).split('\n').slice(1);
    const told = words.map((one) => one.trim());
    return told.filter((one) => one && !SILENT.test(one)).map((word) => {
        const [, key, value] = word.match(torch ? /^(\w+)=(.*)$/s : /^(\S+) (.*)$/s) ??
            [0, '\u2013', word];
        return [key, /^\([\d, ]+\)$/.test(value)
            ? value.match(/\d+/g).join('\u00d7') : value];
    });
}

/** "8.42ms, 4% of forward"; counts in full, in brackets if they are tied. */
function metricRow(metric, b) {
    const text = metricText(metric.name, b);
    const value = box[metric.name][b];
    if (!text || value < 0) return null;
    if (metric.name === 'time' || metric.name === 'backward') {
        const name = metric.name === 'time' ? 'forward' : 'backward';
        const percent = Math.round(100 * value / metric.total);
        const share = percent ? `${percent}%` : 'under 1%';
        return [name, metric.total > 0 ? `${text}, ${share} of ${name}` : text];
    }
    const counted = metric.name === 'params' || metric.name === 'flops';
    return [metric.title, counted ? text.replace(/^(\(?)[\d.]+[A-Z]?(\)?)$/,
        `$1${value.toLocaleString('en')}$2`) : text];
}

/** Modules have a path; other boxes have a surrounding module and an id. */
function whereRows(b) {
    const kind = data.kinds[box.kind[b]];
    if (kind === 'module' || kind === 'repeat') return [['path', idOf(b)]];
    if (isTensor(b)) return [];
    const around = idOf(box.parent[b]) || data.path[data.path.length - 1];
    return [['inside', around], ['id', idOf(b)]];
}

function tipRows(b) {
    const rows = [];
    tensorTexts(b, true).forEach((text) => rows.push(['in', text]));
    tensorTexts(b, false).forEach((text) => rows.push(['out', text]));
    rows.push(...argumentRows(b));
    for (const metric of data.metrics) {
        const row = metricRow(metric, b);
        if (row) rows.push(row);
    }
    if (box.calls[b] > 1) rows.push(['call', `${box.number[b]} of ${box.calls[b]}`]);
    if (box.ops[b] > 1) rows.push(['operations', String(box.ops[b])]);
    if (textOf(box.line, b)) rows.push(['source', textOf(box.line, b)]);
    if (numbers) rows.push([numbers.title, metricText('numbers', b)]);
    return rows.concat(whereRows(b));
}

const NOTES = [[MADE, 'NaN or Inf was made here first'],
    [CARRIES, 'carries NaN or Inf that was made elsewhere'],
    [RAISED, 'raised an exception'], [NOT_CALLED, 'not called']];

function fillTip(b) {
    const head = make('p', 'head'), list = make('dl');
    head.append(make('b', '', textOf(box.full, b)), ' ', classOf(b));
    for (const [key, value] of tipRows(b))
        list.append(make('dt', '', key), make('dd', '', value));
    tip.replaceChildren(head, list);
    for (const [flag, note] of NOTES)
        if (has(b, flag)) tip.append(make('p', 'note', note));
    for (const note of options.notes?.(nameOf(b)) ?? [])
        tip.append(make('p', 'note', note));
    if (isGroup(b)) {
        tip.append(make('p', 'hint', isOpen(b) ? 'z folds it'
            : 'z opens it here, Enter goes in'));
    }
}

/** Beside the box: right of it, or left, or wherever there is room. */
export function placeTip(b) {
    const at = toStage(box.x[b], box.y[b]), width = tip.offsetWidth;
    const right = at.x + box.w[b] * view.zoom + 12;
    let x = right;
    if (x + width > stageWidth()) x = at.x - width - 12;
    if (x < 4) x = Math.max(4, Math.min(stageWidth() - width - 4, at.x));
    const below = x < right && x > at.x - width;
    const y = below ? at.y + barHeight(b) * view.zoom + 8 : at.y;
    tip.style.left = `${x}px`;
    const lowest = stageHeight() - tip.offsetHeight - 4;
    tip.style.top = `${Math.max(4, Math.min(lowest, y))}px`;
}

export function showTip(b) {
    tipBox = b;
    fillTip(b);
    tip.hidden = false;
    placeTip(b);
}

export function tipLater(b) {
    clearTimeout(tipTimer);
    if (b === tipBox) return;
    tipTimer = setTimeout(() => (b === NONE ? hideTip() : showTip(b)), TIP_MS);
}

export function hideTip() {
    clearTimeout(tipTimer);
    tipBox = NONE;
    tip.hidden = true;
}

export function makeTip() {
    tip = make('div', 'tip');
    tip.setAttribute('role', 'tooltip');
    tip.hidden = true;
    tip.onpointerenter = () => clearTimeout(tipTimer);
    tip.onpointerleave = () => tipLater(NONE);
    return tip;
}
