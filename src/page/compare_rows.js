/* compare_rows.js - the tree of differences. Both sides are one list, so they scroll
   together. */

import {div, el, icon, put, span} from './dom.js';
import {ceil, floor, max, min} from './math.js';
import {TreeRows} from './tree_rows.js';
import {NONE, commas, plural, shape, short} from './text.js';

const HEIGHT = 24;
/* State of a tensor -> sign, class, words. */
const STATES = {
    same: ['=', 'dim3', 'equal'], close: ['\u2248', 'dim', 'within the tolerance'],
    changed: ['~', 'chg', ''], retyped: ['~', 'chg', 'type'],
    reshaped: ['~', 'chg', 'shape'], joined: ['~', 'chg', 'joined or split'],
    only_left: ['\u2212', 'del', 'only left'], only_right: ['+', 'add', 'only right'],
    unread: ['?', 'dim3', 'not compared'],
};

/** Tensors of `diff` as places: {n, end, parent, names, tensors, ...}. */
function placesOf(tensors) {
    const root = {children: new Map(), name: ''};
    for (const tensor of tensors) {
        let at = root;
        for (const part of tensor.name.split('.')) {
            if (!at.children.has(part)) at.children.set(part, {children: new Map(), name: part});
            at = at.children.get(part);
        }
        at.tensor = tensor;
    }
    const end = [], parent = [], names = [], list = [];
    const visit = (node, above) => {
        const i = names.push(node.name) - 1;
        parent[i] = above;
        list[i] = node.tensor || null;
        for (const child of node.children.values()) visit(child, i);
        end[i] = names.length;
    };
    visit(root, -1);
    return {n: names.length, end, parent, names, tensors: list, runs: new Map(),
        rows: {class: list.map((one) => one ? one.state : '')}, has: () => false,
        below(i) {
            const found = [];
            for (let at = i + 1; at < end[i]; at = end[at]) found.push(at);
            return found;
        }};
}

/** Counts of differences below a place: 2 ~ 1 +. */
function sums(places, i) {
    const counts = new Map();
    for (let at = i; at < places.end[i]; at++) {
        const found = places.tensors[at] && STATES[places.tensors[at].state];
        if (found) counts.set(found[0], [(counts.get(found[0]) || [0])[0] + 1, found[1]]);
    }
    return [...counts].map(([sign, [n, kind]]) => span(kind, `${sign} ${commas(n)} `));
}

const side = (one) => one ? `${shape(one.shape || [])} ${one.dtype || ''}` : NONE;
const real = (value) => value === undefined || value === null ? NONE : short(value);

function cells(tensor) {
    const {left, right, different, count, max_at: at} = tensor;
    const where = at ? `[${at.join(', ')}]` : NONE;
    const more = [STATES[tensor.state][2], tensor.renamed && left ? `was ${left.name}` : '',
        tensor.transposed ? 'transposed' : '', tensor.rounding ? 'only rounded' : '',
        tensor.permuted ? 'rows permuted' : '', tensor.plus_one ? '1 added' : '',
        tensor.exponent ? '-exp' : '', tensor.grouped ? 'q k v grouped' : '',
        tensor.reshape ? 'another shape' : '',
        tensor.by_converter ? 'of the converter' : '',
        tensor.quantised && tensor.rms ? `${tensor.quantised}, rms ${short(tensor.rms)}` : '',
        different && count ? `${commas(different)} of ${plural(count, 'value')}` : '', tensor.why]
        .filter(Boolean).join(', ');
    return [span('cut', side(left)), span('cut', side(right)),
        span('num', real(tensor.max_abs)), span('num', real(tensor.rel)),
        span('cut', where), span({class: 'cut dim', title: more}, more)];
}

export const diffHead = (left, right) => div('row cmprow cmphead', span(null, 'name'),
    span({class: 'cut', title: left}, left), span({class: 'cut', title: right},
        right), span('num', 'max abs'), span('num', 'relative'),
    span(null, 'where'), span(null, 'what'));

/** The list; choose(tensor) on a click. Returns the element, with press(key). */
export function diffTree(tensors, choose) {
    const places = placesOf(tensors), tree = new TreeRows(places, () => true);
    let rows = [], cursor = 1;
    const space = div('space'), box = div({class: 'rows cmprows', tabIndex: 0,
        role: 'tree', aria: {label: 'Differences'}, onscroll: () => draw()}, space);

    const row = ({place, depth}, i) => {
        const tensor = places.tensors[place], open = tree.open[place];
        const holds = places.end[place] > place + 1;
        const [sign, kind] = tensor ? STATES[tensor.state] : ['', ''];
        const name = span('cmpname', el('b', `dsign ${kind}`, sign), holds ? icon(open ?
            'down' : 'right') : span('ch'), span('cut', places.names[place]),
        tensor ? null : span('dim3', sums(places, place)));
        name.style.paddingLeft = `${(depth - 1) * 14}px`;
        const line = div({class: `row cmprow ${i === cursor ? 'cursor' : ''}`,
            role: 'treeitem', id: `diff${i}`, aria: {level: depth, expanded: holds ? Boolean(open)
                : null, selected: i === cursor}, onclick() {
                cursor = i;
                press(holds ? 'Space' : 'Enter');
            }}, name, tensor ? cells(tensor) : null);
        line.style.top = `${(i - 1) * HEIGHT}px`;
        return line;
    };
    const draw = () => {
        const first = max(1, floor(box.scrollTop / HEIGHT) - 4);
        const last = min(rows.length, first + ceil(box.clientHeight / HEIGHT) + 9);
        space.style.height = `${(rows.length - 1) * HEIGHT}px`;
        put(space, ...rows.slice(first, last).map((one, k) => row(one, first + k)));
        box.setAttribute('aria-activedescendant', `diff${cursor}`);
    };
    const refresh = () => {
        const at = rows[cursor] && rows[cursor].place;
        rows = tree.visible();
        const found = rows.findIndex((one) => one.place === at);
        if (found > 0) cursor = found;
        cursor = max(1, min(rows.length - 1, cursor));
        draw();
    };
    const moveTo = (i) => {
        cursor = max(1, min(rows.length - 1, i));
        const y = (cursor - 1) * HEIGHT;
        if (y < box.scrollTop) box.scrollTop = y;
        if (y + HEIGHT > box.scrollTop + box.clientHeight)
            box.scrollTop = y + HEIGHT - box.clientHeight;
        draw();
    };
    function press(key) {
        const at = rows[cursor];
        if (!at) return;
        const {place} = at, jump = {Up: -1, Down: 1, PageUp: -20, PageDown: 20,
            Home: -1e9, End: 1e9}[key];
        if (jump) moveTo(cursor + jump);
        else if (key === 'Left' && !tree.open[place])
            moveTo(rows.findIndex((one) => one.place === places.parent[place]));
        else if (key === 'Left' || key === 'Right') {
            tree.open[place] = key === 'Right' ? 1 : 0;
            refresh();
        } else if (key === 'Enter') {
            draw();
            if (places.tensors[place]) choose(places.tensors[place]);
        } else {
            tree.fold(key, place);
            tree.open[0] = 1;
            refresh();
        }
    }
    new ResizeObserver(draw).observe(box);
    refresh();
    box.press = press;
    return box;
}
