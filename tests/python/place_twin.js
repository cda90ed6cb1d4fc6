/* For place_test.py, which bundles it for node: reads lines of JSON as
   tests/picture/places writes them, places each graph with the page's own modules and
   says what differs.

     node BUNDLE STYLE < GRAPHS */

import fs from 'node:fs';

import {box, end, net, opened, readData} from '../../src/export/picture/graph_data.js';
import {arrives, findRoute, placeAll} from '../../src/export/picture/place_lines.js';

const style = JSON.parse(process.argv[2]);

function setGraph(graph) {
    const column = (numbers) => ({text: numbers, n: numbers.length});
    readData({style, sideways: false, boxes: graph.boxes, nets: graph.nets,
        ends: graph.ends, groups: graph.groups, tracks: column(graph.tracks),
        lanes: column(graph.lanes)});
}

function placeState(open) {
    opened.set(open);
    const size = placeAll(0), lines = [];
    for (let e = 0; e < end.n; e++) {
        if (!arrives(e, 0)) continue;
        const points = [], route = findRoute(e, 0, points);
        lines.push([e, route.from, route.to, route.firstEnd, ...points]);
    }
    return {x: [...box.x], y: [...box.y], w: [...box.w], h: [...box.h],
        netLabelX: [...net.labelX], netLabelY: [...net.labelY],
        endLabelX: [...end.labelX], endLabelY: [...end.labelY], lines, ...size};
}

/** Labels of what is not shown keep old numbers, which nobody reads. */
function shownOnly(place, graph, open) {
    const shown = new Set();
    place.w.forEach((w, i) => w > 0 && open[i] && shown.add(i));
    shown.add(0);
    const of = graph.netGroups;
    graph.nets.labelWidth.forEach((width, n) => {
        if (!width || !shown.has(of[n])) place.netLabelX[n] = place.netLabelY[n] = 0;
    });
    graph.ends.labelWidth.forEach((width, e) => {
        if (!width || !shown.has(of[graph.endNets[e]]))
            place.endLabelX[e] = place.endLabelY[e] = 0;
    });
}

function findOwners(graph) {
    graph.netGroups = [];
    graph.endNets = [];
    graph.groups.box.forEach((b, g) => {
        for (let i = 0; i < graph.groups.nNets[g]; i++) graph.netGroups.push(b);
    });
    graph.nets.nEnds.forEach((count, n) => {
        for (let i = 0; i < count; i++) graph.endNets.push(n);
    });
}

let states = 0, lines = 0;
for (const [number, text] of fs.readFileSync(0, 'utf8').trim().split('\n').entries()) {
    const graph = JSON.parse(text);
    findOwners(graph);
    setGraph(structuredClone(graph));
    for (const state of graph.states) {
        const ours = placeState(state.open);
        shownOnly(ours, graph, state.open);
        shownOnly(state, graph, state.open);
        for (const name of Object.keys(ours)) {
            const a = JSON.stringify(ours[name]), b = JSON.stringify(state[name]);
            if (a === b) continue;
            console.log(`graph ${number}, ${name}: script ${a.slice(0, 300)}, ` +
                `C ${b.slice(0, 300)}`);
            process.exit(1);
        }
        states++;
        lines += ours.lines.length;
    }
}
console.log(`${states} states, ${lines} lines agree`);
