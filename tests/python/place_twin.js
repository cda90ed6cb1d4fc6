'use strict';
/* For place_test.py, run by node: reads lines of JSON as tests/picture/places writes
   them, places each graph with the page's own script and says what differs.

     node place_twin.js SCRIPT < GRAPHS */

const fs = require('fs');
const vm = require('vm');

const script = fs.readFileSync(process.argv[2], 'utf8');
const style = JSON.parse(process.argv[3]);
const twin = vm.createContext({});
vm.runInContext(`${script}
let opened;
const isOpen = (i) => opened[i] === 1 && isGroup(i);
function setGraph(graph) {
    data = {style: graph.style, sideways: false};
    trackY = null;
    box = decodeTable(graph.boxes);
    net = decodeTable(graph.nets);
    end = decodeTable(graph.ends);
    group = decodeTable(graph.groups);
    tracks = graph.tracks;
    lanes = graph.lanes;
    for (let i = 0; i < box.n; i++) box.last[i] += box.rank[i];
    findParents();
    linkTables();
}
function placeState(open) {
    opened = open;
    const size = placeAll(0), lines = [];
    for (let e = 0; e < end.n; e++) {
        if (!arrives(e, 0)) continue;
        const points = [], route = findRoute(e, 0, points);
        lines.push([e, route.from, route.to, route.firstEnd, ...points]);
    }
    return {x: [...box.x], y: [...box.y], w: [...box.w], h: [...box.h],
        netLabelX: [...net.labelX], netLabelY: [...net.labelY],
        endLabelX: [...end.labelX], endLabelY: [...end.labelY], lines, ...size};
}`, twin);

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
    twin.graphText = JSON.stringify({...graph, style});
    vm.runInContext('setGraph(JSON.parse(graphText))', twin);
    for (const state of graph.states) {
        twin.openText = JSON.stringify(state.open);
        const ours = JSON.parse(vm.runInContext(
            'JSON.stringify(placeState(JSON.parse(openText)))', twin));
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
