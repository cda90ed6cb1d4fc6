/* graph_view.js - the graph of one level; users go into modules and back up. */

import {exportable} from './actions.js';
import {ask, save} from './api.js';
import {breadcrumb} from './breadcrumb.js';
import {button, div, el, emptyState, failure, icon, loading, menu, put, span,
    toast} from './dom.js';
import {mountGraph} from '../export/picture/mount.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {max, min} from './math.js';
import {places, training} from './model.js';
import {selectTensor} from './slots.js';
import {go, state} from './state.js';
import {short} from './text.js';

/* Metrics of a training step: [column, title] by the colour in the address. */
const STEP_COLOURS = {
    grad: ['gradient_norm', 'gradient norm'],
    ratio: ['update_ratio', 'update \u00f7 weight'],
};
const MOST_IDS = 150; // groups that are requested by name; above this, all are
const ASKS = ['file', 'level', 'root', 'depth', 'pass', 'call', 'expand'];

const above = (name) => name.slice(0, max(0, name.lastIndexOf('.')));

export class GraphView {
    /** old: another file; the graph shows how `file` (default: the current one)
        differs from it. */
    constructor(stage, {old, file} = {}) {
        this.old = old;
        this.newer = file;
        this.graph = null;
        this.inside = []; // groups whose inside was asked for
        this.bar = div('viewbar');
        this.banner = div();
        this.host = div('gr');
        this.legend = div('gr-strip');
        stage.append(this.bar, this.banner, this.host, this.legend);
        this.ends = [exportable(() => this.exports())];
        this.load();
    }

    get file() {
        return files.get(this.newer || state.file);
    }

    // --- data

    params() {
        const {inside} = this, {level, root, depth, pass, call} = state;
        return {file: this.newer || state.file, level, root, depth, pass, call,
            all: state.expand, old: this.old,
            inside: inside.length > MOST_IDS || inside.includes('*') ? '*' :
                inside.join('\n')};
    }

    async load() {
        const promise = ask('graph', this.params()), {root} = state;
        this.version = this.file.model;
        if (promise === this.promise) return;
        this.promise = promise;
        if (!this.graph) put(this.host, loading(promise, 'Drawing the graph'));
        try {
            const [data, model, alarms] = await Promise.all([promise, places(this.file.id),
                training(this.file).catch(() => null)]);
            if (promise !== this.promise) return;
            this.model = model;
            this.training = alarms;
            this.take(data);
        } catch (error) {
            if (promise === this.promise) this.fail(error, root);
        }
    }

    /** A module list is never called, so its parent is shown instead. */
    fail(error, root) {
        if (root && (error.status === 404 || error.status === 409)) {
            go({root: above(root)}, 'replace');
            return;
        }
        this.drop();
        put(this.host, error.status === 409 ? emptyState('No graph',
            error.message) : failure(error, () => {
            this.promise = null;
            this.load();
        }));
    }

    take(data) {
        this.data = data;
        if (data.ids.length < 2) { // only the root
            this.drop();
            this.drawBar();
            put(this.banner);
            put(this.host, emptyState('Nothing to draw', data.note || 'No module was called.'));
            return;
        }
        if (this.graph) this.graph.update(data, this.fresh);
        else this.mount(data);
        this.fresh = [];
        this.drawBar();
        this.drawBanner();
        this.mark();
        this.find();
        this.graph.select(state.at);
        this.recolour();
    }

    mount(data) {
        this.graph = mountGraph(this.host, data, {
            legend: this.legend, say: toast,
            inputs: this.file.inputs === 'numbers' ? 'Input' : null,
            notes: (name) => this.alarmsOf(name).map((one) =>
                `${one.kind}: ${one.text}, step ${one.step}`),
            onSelect: (box, byKey) => {
                go({at: box ? box.name || box.around || state.root : null},
                    byKey ? 'replace' : 'push');
                selectTensor(box && !box.name && box.tensor);
            },
            onIn: (box) => {
                if (!box.name || box.name === state.root || this.old) return false;
                go({root: box.name, at: box.name});
                return true;
            },
            onUp: () => state.root && go({root: above(state.root), at: state.root}),
            onRoot: () => this.graph && this.drawBar(),
            onMore: (ids) => {
                this.inside = [...this.inside, ...ids];
                this.fresh = ids;
                this.load();
            },
            root: () => state.root,
            onDrag() {},
        });
        const keys = this.graph.keys.map(([names, what, run]) => bind({keys: names, what,
            where: 'Graph', within: this.host,
            run: (event, key) => this.graph.runKey(run, key)}));
        this.unbind = () => keys.forEach((end) => end());
    }

    // --- the bar

    drawBar() {
        const at = max(0, this.model.find(state.root));
        const path = breadcrumb(this.model, at, (root) => go({root, at: state.root || null}));
        for (const {text} of this.graph?.path() || []) path.append(el('i', null, '\u203a'), text);
        const level = (name, text) => el('button', {class:
            (state.level || 'modules') === name ? 'on' : '', onclick: () =>
            go({level: name === 'ops' ? name : ''}), aria: {pressed: (state.level ||
            'modules') === name}}, text);
        const colours = this.colours(), now = state.colour || 'family';
        const title = (colours.find(([id]) => id === now) || colours[0])[1];
        put(this.bar, path, div({class: 'seg', role: 'group', aria: {label:
            'Level'}}, level('modules', 'Modules'), level('ops', 'Ops')),
        menu(el('button', {class: 'btn', ariaLabel: `Colour: ${title}`},
            span(null, 'Colour: ', title), icon('down')), colours.map(([id, text]) => ({
            text, current: id === now, run: () => go({colour: id === 'family' ? '' : id})}))));
    }

    colours() {
        const list = [['family', 'op family'], ...this.data.metrics.filter((one) =>
            one.colour !== false).map((one) => [one.name, one.title])];
        if (this.training)
            for (const [id, [, title]] of Object.entries(STEP_COLOURS))
                if (!list.some((one) => one[0] === id)) list.push([id, title]);
        return list;
    }

    async recolour() {
        const {colour, file, step} = state, [column, title] = STEP_COLOURS[colour] || [];
        if (!column || !this.training) {
            this.graph.colour(colour || 'family');
            return;
        }
        const numbers = await ask('step', {file, step}).catch((error) => toast(error.message));
        if (!numbers || !this.graph || state.colour !== colour || state.step !== step) return;
        const values = numbers[column] || [], {model} = this;
        this.graph.colour({title, text: short, numbers: numbers.place.map((place, i) =>
            [model.full(place), values[i]]).filter(([, value]) => Number.isFinite(value))});
    }

    // --- what went wrong

    drawBanner() {
        const verdict = this.training && this.training.verdict;
        const box = verdict && verdict.role !== 'good' && verdict.text ? div({role:
            'status', class: `banner ${verdict.role === 'alarm' ? 'alarm' : 'warn'}`},
        icon('alarm'), span('grow', verdict.text), verdict.name || verdict.step ?
            button({text: 'Go to', onclick: () => go({at: verdict.name ?? state.at,
                step: verdict.step ?? null})}) : null) : null;
        put(this.banner, box, this.data.note && el('p', 'gr-note', this.data.note));
    }

    /** Alarms up to the cursor's step. */
    alarmsOf(name) {
        const list = (this.training && this.training.alarms) || [];
        return list.filter((one) => one.severity !== 'note' && one.name &&
            (name === undefined || one.name === name) &&
            (state.step === null || one.step <= state.step));
    }

    mark() {
        const alarms = new Map();
        for (const {name, kind, severity} of this.alarmsOf()) {
            const warn = severity === 'warning', known = alarms.get(name);
            if (!known || (known.warn && !warn)) alarms.set(name, {word: kind, made: !warn, warn});
        }
        this.graph.marks({panels: state.panels, alarms});
    }

    /** Marks what the search in the bar names. */
    find() {
        const {model} = this, wanted = state.query.toLowerCase(), list = [];
        for (let i = 1; wanted && i < model.n; i++)
            if (model.isModule(i) && model.name(i).toLowerCase().includes(wanted))
                list.push(model.full(i));
        this.graph.search(list);
    }

    // --- files of it

    exports() {
        if (!this.graph) return [];
        const name = [this.file.name, state.root].filter(Boolean).join('.');
        const svg = () => new Blob([this.graph.exportSvg()], {type: 'image/svg+xml'});
        return [{text: 'SVG', detail: 'the graph', run: () => save(svg(), `${name}.svg`)},
            {text: 'PNG', detail: 'the graph', run: () => this.savePng(svg(), `${name}.png`)}];
    }

    async savePng(svg, name) {
        const image = new Image(), canvas = el('canvas');
        image.src = URL.createObjectURL(svg);
        await image.decode();
        const scale = min(1.5, 16000 / max(image.width, image.height));
        canvas.width = image.width * scale;
        canvas.height = image.height * scale;
        canvas.getContext('2d').drawImage(image, 0, 0, canvas.width, canvas.height);
        URL.revokeObjectURL(image.src);
        canvas.toBlob((blob) => save(blob, name));
    }

    // --- a view

    state(changed) {
        if (ASKS.some((key) => changed.has(key))) {
            this.inside = [];
            this.load();
            return;
        }
        if (!this.graph) return;
        if (changed.has('at')) this.graph.select(state.at);
        if (changed.has('panels') || changed.has('step')) this.mark();
        if (changed.has('query')) this.find();
        if (changed.has('colour')) this.drawBar();
        if (changed.has('colour') || (changed.has('step') && STEP_COLOURS[state.colour]))
            this.recolour();
    }

    async news(file) {
        if (this.version !== undefined && file.model !== this.version) this.load();
        this.version = file.model;
        const alarms = await training(this.file).catch(() => null);
        if (!this.graph || !alarms) return;
        this.training = alarms;
        this.drawBanner();
        this.mark();
    }

    drop() {
        if (!this.graph) return;
        this.unbind();
        this.graph.close();
        this.graph = null;
    }

    close() {
        this.promise = null;
        this.ends.forEach((end) => end());
        this.drop();
    }
}

export const graphView = {
    id: 'graph', title: 'Graph', icon: 'graph',
    fits: (file) => file.has.includes('graph'),
    mount: (stage) => new GraphView(stage),
};
