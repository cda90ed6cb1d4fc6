/* graph_data.js - the numbers and texts of all boxes of a graph, written by html.c.

   The modules of an interactive graph. The entry point is mount.js:
   mountGraph(element, data, options). The page (src/page) mounts it; graph_page.js with
   search.js and address.js wraps it in a standalone file.
     place.js, place_columns.js, place_labels.js, place_lines.js   coordinates of
                      shown boxes: twins of plan_place() and plan_route() in src/layout
     scene.js         shown parts, by position; trunks.js shared parts of lines
     dress.js         shapes, colours and texts of a box at a zoom
     draw_svg.js, draw_lines.js, draw_marks.js   visible parts; draw_canvas.js,
                      draw_specks.js distant parts, with more than 2,000 boxes
     view.js, motion.js   pan and zoom; fold.js open, fold, go in and up
     tips.js, minimap.js, legend.js
     keys.js, mouse.js   input
     marks.js         data from callers: panels, alarms, numbers, matches of a search
     mount.js         creates, updates and removes it; elements.js makes its elements
   A module's exported variables are only changed by its own functions. */

export const FLAG_OPEN = 1, FLAG_SIDE = 2, FLAG_STRETCH = 4; // as in layout.h
export const KIND_VIEW = 2, KIND_INPUT = 3; // as in graph.h
const TENSORS = [KIND_INPUT, 4, 7]; // input, output, attached
export const SIGN = 1, MADE = 2, CARRIES = 4, REGION = 8, SHARED = 32; // as in graph.h
export const NOT_CALLED = 64, RAISED = 128;
export const TALL = 0, FLAT = 1, PILL = 2, ENDS = 3, CIRCLE = 4; // as in picture_in.h
export const NONE = -1;

export let data;
export let box, net, end, group; // columns: typed arrays by box, net, end, group
export let groupOf; // by box: its group; NONE: a leaf
export let lanes, tracks; // as in struct plan

/* --- Columns: the difference to the number before, in digits of 5 bits, the lowest
       first, 32 is set if more follow; the lowest bit of all is the sign. "Minus zero"
       begins a run: the count of zeros follows. */

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

const digitOf = new Uint8Array(128);
for (let i = 0; i < 64; i++) digitOf[DIGITS.charCodeAt(i)] = i;

/** A column that is not text (numbers of metrics) is kept. */
function decode(text, n) {
    if (typeof text !== 'string') return text;
    const column = new Int32Array(n);
    let value = 0, from = 0;
    const read = () => {
        let more = 32, number = 0;
        for (let shift = 0; more; shift += 5) {
            const code = digitOf[text.charCodeAt(from++)];
            number |= (code & 31) << shift;
            more = code & 32;
        }
        return number;
    };
    for (let i = 0; i < n;) {
        const number = read();
        if (number === 1) {
            const stop = i + read();
            column.fill(value, i, stop);
            i = stop;
            continue;
        }
        value += number & 1 ? -(number >>> 1) : number >>> 1;
        column[i++] = value;
    }
    return column;
}

/** All columns of a table, and its size. */
function decodeTable(table) {
    const columns = {};
    for (const [name, column] of Object.entries(table))
        columns[name] = decode(column, table.n);
    return columns;
}

/** Parents from the sizes of subtrees. */
function findParents() {
    box.parent = new Int32Array(box.n).fill(NONE);
    box.end = new Int32Array(box.n);
    const stack = [];
    for (let i = 0; i < box.n; i++) {
        box.end[i] = i + box.size[i];
        while (stack.length && box.end[stack[stack.length - 1]] <= i) stack.pop();
        if (stack.length) box.parent[i] = stack[stack.length - 1];
        if (box.size[i] > 1) stack.push(i);
    }
}

/** Derived columns: where a table's parts begin, and reverse references. */
function linkTables() {
    groupOf = new Int32Array(box.n).fill(NONE);
    net.group = new Int32Array(net.n);
    net.ends = new Int32Array(net.n);
    net.inner = new Int32Array(net.n).fill(NONE);
    net.outer = new Int32Array(net.n).fill(NONE);
    end.net = new Int32Array(end.n);
    for (const name of ['channels', 'nets', 'lanes'])
        group[name] = new Int32Array(group.n);
    let channel = 0, first = 0, lane = 0, at = 0;
    for (let g = 0; g < group.n; g++) {
        groupOf[group.box[g]] = g;
        group.channels[g] = channel;
        group.nets[g] = first;
        group.lanes[g] = lane;
        net.group.fill(group.box[g], first, first + group.nNets[g]);
        channel += group.rows[g] + 1;
        first += group.nNets[g];
        lane += group.nLanes[g];
    }
    for (let i = 0; i < net.n; i++) {
        net.ends[i] = at;
        end.net.fill(i, at, at + net.nEnds[i]);
        at += net.nEnds[i];
    }
    for (let e = 0; e < end.n; e++) {
        if (end.inner[e] !== NONE) net.outer[end.inner[e]] = e;
        if (end.outer[e] !== NONE) net.inner[end.outer[e]] = e;
    }
}

export function readData(given) {
    data = given;
    box = decodeTable(data.boxes);
    net = decodeTable(data.nets);
    end = decodeTable(data.ends);
    group = decodeTable(data.groups);
    tracks = decode(data.tracks.text, data.tracks.n);
    lanes = decode(data.lanes.text, data.lanes.n);
    for (let i = 0; i < box.n; i++) box.last[i] += box.rank[i]; // it was the difference
    findParents();
    linkTables();
    if (data.sideways) turnSizes();
    names = null;
    opened = Uint8Array.from(box.flags, (flags) => flags & FLAG_OPEN);
}

/** A graph that is closed takes no memory. */
export function forgetData() {
    data = box = net = end = group = null;
}

/** Sizes for placing a graph that is drawn from left to right. */
function turnSizes() {
    [box.width, box.height] = [box.height, box.width];
    [group.leastWidth, group.leastHeight] = [group.leastHeight, group.leastWidth];
    for (const table of [net, end])
        [table.labelWidth, table.labelHeight] = [table.labelHeight, table.labelWidth];
}

/* --- Boxes */

let names = null; // full name of a module -> its boxes, in the order of its calls

export const textOf = (column, i) => data.texts[column[i]];
export let opened; // by box: 1 is open

export const isOpen = (i) => opened[i] === 1 && box.size[i] > 1;
export const isGroup = (i) => box.size[i] > 1 || box.hidden[i] > 0;
export const idOf = (i) => data.ids[i];
export const nameOf = (i) => textOf(box.at, i); // of its module; empty: it is none
export const isTensor = (i) => TENSORS.includes(box.kind[i]);
export const has = (i, flag) => (box.marks[i] & flag) !== 0;

/** The boxes directly inside. */
export function inside(i) {
    const list = [];
    for (let at = i + 1; at < box.end[i]; at = box.end[at]) list.push(at);
    return list;
}

/** The full name of the innermost module around a box, or its own. */
export function nameAround(b) {
    let at = b;
    while (at > 0 && !nameOf(at)) at = box.parent[at];
    return at > 0 ? nameOf(at) : '';
}

/** The boxes of a module: one for each of its calls. */
export function boxesOf(name) {
    if (!names) {
        names = new Map();
        for (let i = 1; i < box.n; i++)
            if (nameOf(i)) listAt(names, nameOf(i)).push(i);
    }
    return names.get(name) ?? [];
}

/** The list of a key, created if missing. */
export function listAt(map, key) {
    let list = map.get(key);
    if (!list) map.set(key, list = []);
    return list;
}

export const contains = (outer, i) => outer <= i && i < box.end[outer];
