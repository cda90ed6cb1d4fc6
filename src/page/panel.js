/* panel.js - one of the columns A to E: a module or one tensor, its histograms, the axis of
   steps. */

import {AskError, isStatic} from './api.js';
import {stepRange} from './axis.js';
import {button, copyText, div, el, emptyState, failure, loading, menu, put,
    span} from './dom.js';
import {Histogram} from './histogram.js';
import {connection, files} from './live.js';
import {max, min} from './math.js';
import {FLAGS, places, training} from './model.js';
import {showMoment} from './moment.js';
import {csvOf, savePicture, showTable} from './numbers.js';
import {PlaceSeries, panelName, pythonOf} from './series.js';
import {FREE, LETTERS, closePanel, openPanel} from './slots.js';
import {go, state} from './state.js';
import {plural} from './text.js';

const AXES = [['', 'that shows most'], ['linear', 'linear'], ['log', 'logarithmic']];
const CLIPS = [[null, 'shown'], [0.01, 'cut: 1% at each end'], [0.05, 'cut: 5% at each end']];
/* Of `logged` of the document `training` -> a word of watch(log=...). */
const LOGS = {values: 'io', value_gradients: 'io_grad', parameters: 'params',
    gradients: 'params_grad'};

const axisNow = () => state.log ? 'log' : state.axis;
const ghost = (image, label, onclick) => button({icon: image, label, class: 'ghost', onclick});

export class Panel {
    constructor(slot, onclose) {
        const letter = LETTERS[slot];
        Object.assign(this, {slot, letter, onclose, name: FREE, turn: 0, figures: new Map()});
        this.head = el('header', {draggable: true, ondragstart: ({dataTransfer}) =>
            dataTransfer.setData('text/plain', this.name)});
        this.body = div('figs');
        this.foot = el('footer');
        this.element = el('section', {class: 'panel', tabIndex: -1,
            style: {'--pc': `var(--p-${letter.toLowerCase()})`}}, this.head, this.body, this.foot);
    }

    /** Shows the place with this name (Places.locate()); FREE: an empty slot. */
    show(name) {
        if (this.name === name && this.file === state.file && this.body.firstChild) return;
        Object.assign(this, {name, file: state.file, parts: null, range: null});
        this.say();
        this.load();
    }

    say(...nodes) {
        this.figures.clear();
        put(this.foot);
        put(this.body, ...nodes);
    }

    setHead(short, klass, ...buttons) {
        const {letter} = this;
        this.element.ariaLabel = `Panel ${letter}: ${this.title} ${klass}`;
        put(this.head, span({class: 'badge', data: {panel: letter}}, letter),
            el('b', {class: 'cut', title: this.title}, short),
            span({class: 'dim cut grow', title: klass}, klass),
            buttons[0] || '', ...buttons.slice(1));
    }

    /** Menu items for all plots. */
    items() {
        if (isStatic) return [{head: 'as it was saved'}];
        return [{head: 'Axis'}, ...AXES.map(([axis, text]) => ({text, current: axisNow() === axis,
            run: () => go({axis: axis === 'linear' ? axis : '', log: axis === 'log'})})),
        {head: 'Outliers'}, ...CLIPS.map(([clip, text]) => ({text, current:
            state.clip === clip, run: () => go({clip})}))];
    }

    /** Menu items of one plot. */
    tools(figure) {
        const {trace, columns, words} = figure, {title} = this;
        const alone = panelName(trace.series, this.module);
        return [['Numbers', () => showTable(`${title} ${words}`, trace, columns)],
            ['Copy as CSV', () => copyText(csvOf(trace, columns))],
            ['Copy as Python', () => copyText(pythonOf(files.get(this.file).path, trace.series))],
            ['Save as PNG', () => savePicture(figure, title, 'png')],
            ['Save as SVG', () => savePicture(figure, title, 'svg')],
            alone !== this.name && ['Open in a panel', () => openPanel(alone)]].filter(Boolean)
            .map(([text, run]) => ({text, run}));
    }

    /** Requests and shows the data; only the newest request counts. */
    async load() {
        const {letter, name, slot} = this, turn = ++this.turn, file = files.get(this.file);
        const alive = () => turn === this.turn;
        if (name === FREE) {
            this.title = 'empty';
            this.setHead('', 'empty', ghost('close', `Close panel ${letter}`, this.onclose));
            this.say(div('slot', el('b', null, 'Drag a module or tensor here'), span('dim',
                `or select one and press ${letter}`)));
        }
        if (name === FREE || !file) return;
        try {
            const model = await places(file.id), {place, of} = model.locate(name);
            const found = place >= 0;
            if (!alive()) return;
            this.setTitle(model, place, of,
                menu(ghost('more', `Axis of panel ${letter}`), () => this.items()),
                ghost('target', 'Show in graph', () => go({at: found ? model.full(place) : name})),
                ghost('close', `Close panel ${letter}`, () => closePanel(slot)));
            if (!found) this.say(emptyState('Not in this model',
                `${file.name} has nothing that is called ${name}.`));
            else if (file.has.includes('history'))
                await this.showSteps(file, model, place, of, alive);
            else await this.showMoment(file, model, place, of, alive);
        } catch (error) {
            if (!(error instanceof AskError)) throw error;
            if (alive() && !this.figures.size) this.say(failure(error, () => this.load()));
        }
    }

    /** The words beside the name: the class of a module, the module of a tensor. */
    setTitle(model, place, of, ...buttons) {
        const {name} = this, klass = place < 0 ? '' : model.klass(place);
        const root = klass || files.get(this.file).name;
        const tensor = place > 0 && model.kind(place) === 'tensor', around = of ? place : tensor ?
            model.parent[place] : -1;
        this.module = model.full(around < 0 ? place : around);
        this.title = name.replace('@', ' ') || root;
        this.setHead(of ? of.path || of.kind : place < 0 ? name : place ? model.name(place) : root,
            around >= 0 ? `${of ? `${of.kind} ` : ''}of ${model.full(around) || model.klass(0)}` :
                place > 0 ? klass : '', ...buttons);
    }

    async showMoment(file, model, place, of, alive) {
        const box = div('all');
        this.say(box);
        if (await showMoment(box, file, model, place, of, alive) || !alive()) return;
        this.say(emptyState('No values', model.isModule(place) && model.below(place).length ?
            'It has no parameters of its own. Open one of the modules inside.' :
            'It has no parameters, and a file has no inputs or outputs.'));
    }

    async showSteps(file, model, place, of, alive) {
        const run = await training(file);
        const phases = run.phases.filter((one) => one.columns.columns);
        if (!alive()) return;
        if (!phases.length) {
            this.say(emptyState('Waiting for the first step', file.live ?
                'Histograms appear when it ends.' : 'The training ended before its first step.'));
            return;
        }
        // a page that is a file has the series of modules
        const tensor = isStatic && model.kind(place) === 'tensor';
        if (this.parts?.length !== phases.length) this.parts = phases.map(({phase}) =>
            new PlaceSeries({file: file.id, place: tensor ? model.parent[place] : place, phase},
                tensor ? {kind: 'param', name: this.name} : of));
        this.setRange(file, phases);
        const {clip, from, to} = state, log = {log: '1', linear: '0'}[axisNow()];
        const asked = Promise.all(this.parts.map((part, i) => part.load({log, clip, from, to},
            this.step(), phases[i].columns.last.at(-1))));
        if (!this.figures.size) this.say(loading(asked, 'Reading the histograms'));
        await asked;
        if (alive()) this.showTraces(model, place, run);
    }

    /** The step axis; it does not move while the cursor is held. */
    setRange(file, phases) {
        const {from, to} = state, key = `${from} ${to}`;
        this.newest = max(...phases.map((one) => one.columns.last.at(-1)));
        if (state.step !== null && this.range && this.rangeKey === key) return;
        this.rangeKey = key;
        this.range = stepRange(from ?? min(...phases.map((one) => one.columns.first[0])),
            to ?? this.newest, file.live && to === null);
    }

    showTraces(model, place, run) {
        const nodes = [], shown = new Map();
        let above = '';
        for (const {params, columns, traces} of this.parts)
            for (const trace of traces) {
                const head = [params.phase === 'eval' && 'evaluation', trace.title.call]
                    .filter(Boolean).join(', ');
                const figure = this.figures.get(trace.id) || new Histogram({range: () =>
                    this.range, step: () => this.step(), tools: (one) => this.tools(one)});
                if (head !== above) nodes.push(el('h3', null, head || 'parameters'));
                above = head;
                shown.set(trace.id, figure);
                nodes.push(figure.element);
                figure.take(trace, columns);
            }
        const ids = (map) => [...map.keys()].join();
        if (!shown.size || ids(shown) !== ids(this.figures))
            put(this.body, ...nodes, this.gaps(shown.size, model, place, run));
        this.figures = shown;
        this.showFoot();
    }

    /** Says which data are missing, and why. */
    gaps(n, model, place, run) {
        const left = this.parts.reduce((sum, part) => sum + (part.leftOut || 0), 0);
        const missing = Object.keys(LOGS).filter((key) => run.logged?.[key] === false)
            .map((key) => `'${LOGS[key]}'`).join(', ');
        const text = [left && `${plural(left, 'series', 'series')} more.`,
            model.has(place, FLAGS.notCalled) ? 'It was not called in this run.' : missing &&
            `Not logged: watch(model, log=[${missing}])`].filter(Boolean).join(' ');
        if (n) return text ? el('p', 'dim', text) : '';
        return emptyState('No data', text || 'Its forward was not called, or it takes and ' +
            'returns no tensors.');
    }

    step() {
        return state.step ?? this.newest;
    }

    showFoot() {
        const {first, end} = this.range || {};
        const stale = connection.status === 'lost' ? 'not connected' :
            this.newest >= end ? `newest: ${this.newest}` : '';
        if (this.figures.size) put(this.foot, span(null, String(first)),
            span(stale ? 'stale' : 'dim3', stale || 'step'),
            span(null, String(end - 1)));
    }

    /** The cursor moved: updates the numbers only. */
    moved() {
        for (const figure of this.figures.values()) {
            figure.trace.own = null;
            figure.showCursor();
        }
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.load(), 150);
    }

    /** New steps arrived. If the cursor is held, only the footer changes. */
    async news(file) {
        if (state.step !== null && this.figures.size) {
            this.newest = max(this.newest, file.step ?? 0);
            this.showFoot();
        } else if (this.busy) {
            this.again = file;
        } else {
            this.busy = true;
            await this.load();
            this.busy = false;
            const {again} = this;
            this.again = null;
            if (again) this.news(again);
        }
    }
}
