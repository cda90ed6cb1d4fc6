/* panel.js - one of the columns A to E: the module, its histograms, the axis of steps. */

import {AskError} from './api.js';
import {stepRange} from './axis.js';
import {button, copyText, el, emptyState, failure, loading, menu} from './dom.js';
import {Histogram} from './histogram.js';
import {connection, files} from './live.js';
import {FLAGS, places, training} from './model.js';
import {showMoment} from './moment.js';
import {csvOf, savePicture, showTable} from './numbers.js';
import {ModuleSeries, pythonOf} from './series.js';
import {FREE, LETTERS, closePanel} from './slots.js';
import {go, state} from './state.js';
import {plural} from './text.js';

const AXES = [['', 'that shows most'], ['linear', 'linear'], ['log', 'logarithmic']];
const CLIPS = [[null, 'shown'], [0.01, 'cut: 1% at each end'], [0.05, 'cut: 5% at each end']];

/* Parts of `logged` of the document `training` -> a word of watch(log=...). */
const LOGS = {values: 'io', value_gradients: 'io_grad', parameters: 'params',
    gradients: 'params_grad'};

const axisNow = () => state.log ? 'log' : state.axis;

export class Panel {
    constructor(slot) {
        this.letter = LETTERS[slot];
        this.head = el('header');
        this.body = el('div', {class: 'figs'});
        this.foot = el('footer');
        this.element = el('section', {class: 'panel', tabIndex: -1,
            style: {'--pc': `var(--p-${this.letter.toLowerCase()})`}},
        this.head, this.body, this.foot);
        this.slot = slot;
        this.name = FREE;
        this.turn = 0; // of what is being asked
        this.figures = new Map();
    }

    /** Shows a module, by its full name; FREE: nothing. */
    show(name, again) {
        if (this.name === name && this.file === state.file && !again) return;
        this.name = name;
        this.file = state.file;
        this.parts = null;
        this.axis = null;
        this.figures.clear();
        this.foot.replaceChildren();
        this.load();
    }

    setHead(model, place) {
        const {letter, name} = this, found = place >= 0;
        const short = !found ? name : place === 0 ? model.klass(0) || model.name(0) :
            model.name(place);
        const ghost = (image, label, onclick) => button({icon: image, label, class: 'ghost',
            onclick});
        this.title = found ? model.full(place) || short : name;
        this.element.ariaLabel = `Panel ${letter}: ${this.title} ${found ? model.klass(place) :
            ''}`;
        this.short = short;
        this.head.draggable = true;
        this.head.ondragstart = (event) => event.dataTransfer.setData('text/plain', name);
        this.head.replaceChildren(el('span', {class: 'badge', data: {panel: letter}}, letter),
            el('b', {class: 'cut', title: this.title}, short),
            el('span', 'dim cut grow', found && place > 0 ? model.klass(place) : ''),
            menu(ghost('more', `Panel ${letter}: axis and copies`), () => this.items()),
            ghost('target', 'Show in graph', () => go({at: name})),
            ghost('close', `Close panel ${letter}`, () => closePanel(this.slot)));
    }

    /** Of the menu: what concerns all its plots. */
    items() {
        return [{head: 'Axis'}, ...AXES.map(([axis, text]) => ({text, current: axisNow() === axis,
            run: () => go({axis: axis === 'linear' ? axis : '', log: axis === 'log'})})),
        {head: 'Outliers'}, ...CLIPS.map(([clip, text]) => ({text, current:
            state.clip === clip, run: () => go({clip})}))];
    }

    /** Of a plot's menu. */
    tools(figure) {
        const {trace, columns} = figure, {series} = trace, title = `${this.title} ${figure.words}`;
        const {path} = files.get(this.file);
        return [{text: 'Numbers', icon: 'table', run: () => showTable(title, trace, columns)},
            {text: 'Copy as CSV', run: () => copyText(csvOf(trace, columns))},
            {text: 'Copy as Python', run: () => copyText(pythonOf(path, series))},
            {text: 'Save as PNG', run: () => savePicture(figure, this.title, 'png')},
            {text: 'Save as SVG', run: () => savePicture(figure, this.title, 'svg')}];
    }

    say(...nodes) {
        this.figures.clear();
        this.body.replaceChildren(...nodes);
    }

    /** Asks and shows, one question at a time. */
    async load() {
        if (this.name === FREE) return this.showEmpty();
        const turn = ++this.turn, file = files.get(this.file);
        const isCurrent = () => turn === this.turn;
        if (!file) return null;
        try {
            const model = await places(file.id), place = model.find(this.name);
            if (!isCurrent()) return null;
            this.setHead(model, place);
            if (place < 0) this.say(emptyState('Not in this model',
                `${file.name} has nothing that is called ${this.name}.`));
            else if (!file.has.includes('history')) await this.showMoment(file, model, place,
                isCurrent);
            else await this.showSteps(file, model, place, isCurrent);
        } catch (error) {
            if (!isCurrent()) return null;
            if (!(error instanceof AskError)) throw error;
            if (!this.figures.size) this.say(failure(error, () => this.load()));
        }
        return null;
    }

    showEmpty() {
        const {letter} = this;
        this.element.ariaLabel = `Panel ${letter}: empty`;
        this.head.replaceChildren(el('span', {class: 'badge', data: {panel: letter}}, letter),
            el('span', 'dim grow', 'empty'), button({icon: 'close', class: 'ghost',
                label: `Close panel ${letter}`, onclick: () => this.onclose()}));
        this.say(el('div', 'slot', el('b', null, `Drag a module here`), el('span', 'dim',
            `or select one and press ${letter}`)));
    }

    async showMoment(file, model, place, alive) {
        const box = el('div', 'all');
        this.say(box);
        const n = await showMoment(box, file, model, place, alive);
        if (n || !alive()) return;
        this.say(emptyState('No values', model.isModule(place) && model.below(place).length ?
            'It has no parameters of its own. Open one of the modules inside.' :
            'It has no parameters, and a file has no inputs or outputs.',
        file.kind === 'recording' ? null : 'torchoscope.record(model)'));
    }

    async showSteps(file, model, place, alive) {
        const run = await training(file), of = {file: file.id, place};
        if (!alive()) return;
        const has = (phase) => run.phases.some((one) => one.phase === phase &&
            one.columns.columns);
        if (!this.parts || this.of !== JSON.stringify(of)) {
            this.parts = [has('train') && 'train', has('eval') && 'eval'].filter(Boolean)
                .map((phase) => new ModuleSeries({...of, phase}));
            this.of = JSON.stringify(of);
        }
        if (!this.parts.length) {
            this.say(emptyState('Waiting for the first step', file.live ?
                'Histograms appear when it ends.' : 'The training ended before it.'));
            return;
        }
        this.setRange(file, run);
        const how = {log: {log: '1', linear: '0'}[axisNow()], clip: state.clip, from: state.from,
            to: state.to};
        const asked = Promise.all(this.parts.map((part) => part.load(how, this.step())));
        if (!this.figures.size) this.say(loading(asked, 'Reading the histograms'));
        await asked;
        if (!alive()) return;
        this.showTraces(model, place, run, file);
    }

    /** The axis: the steps of the page; while the cursor is held nothing moves. */
    setRange(file, run) {
        const columns = run.phases.map((one) => one.columns).filter((one) =>
            one.columns);
        const first = Math.min(...columns.map((one) => one.first[0]));
        this.newest = Math.max(...columns.map((one) => one.last[one.columns - 1]));
        const held = state.step !== null && this.axis && this.axisKey ===
            `${state.from} ${state.to}`;
        if (held) return;
        this.axisKey = `${state.from} ${state.to}`;
        this.axis = stepRange(state.from ?? first, state.to ?? this.newest, file.live &&
            state.to === null);
    }

    showTraces(model, place, run, file) {
        const list = this.parts.flatMap((part) => part.traces.map((trace) => ({trace, part})));
        const shown = new Set(), nodes = [];
        let above = '';
        for (const {trace, part} of list) {
            const head = [part.params.phase === 'eval' ? 'evaluation' : '', trace.title.call]
                .filter(Boolean).join(', ');
            if (head !== above) nodes.push(el('h3', null, head || 'parameters'));
            above = head;
            let figure = this.figures.get(trace.id);
            if (!figure) {
                figure = new Histogram({range: () => this.axis, step: () => this.step(),
                    tools: (one) => this.tools(one)});
                this.figures.set(trace.id, figure);
            }
            shown.add(trace.id);
            nodes.push(figure.element);
            figure.take(trace, part.columns);
        }
        for (const id of this.figures.keys()) if (!shown.has(id)) this.figures.delete(id);
        nodes.push(...this.gaps(list, model, place, run));
        const before = [...this.body.children];
        if (nodes.length !== before.length || nodes.some((one, i) => one !== before[i] &&
            one.tagName === 'FIGURE')) this.body.replaceChildren(...nodes);
        this.showFoot(file);
    }

    /** What is not there, and why. */
    gaps(list, model, place, run) {
        const kinds = new Set(list.map(({trace}) => trace.series.kind));
        const left = this.parts.reduce((sum, part) => sum + (part.leftOut || 0), 0);
        const missing = Object.entries(LOGS).filter(([key]) => run.logged &&
            run.logged[key] === false).map(([, word]) => `'${word}'`);
        const lines = [];
        if (left) lines.push(`${plural(left, 'series', 'series')} more are not shown.`);
        if (model.has(place, FLAGS.notCalled)) lines.push('It was not called in this run.');
        else if (missing.length) lines.push(`Not logged: watch(model, log=[${missing.join(', ')}])`);
        if (!kinds.size && !lines.length) lines.push(
            'Nothing of this module was logged: it has no forward of its own, ' +
            'or what it takes and returns holds no tensors.');
        return kinds.size ? lines.map((text) => el('p', 'dim', text)) :
            [emptyState('No data', lines.join(' '))];
    }

    step() {
        return state.step ?? this.newest;
    }

    showFoot(file) {
        const stale = connection.status === 'lost' ? 'not connected' :
            this.newest > this.axis.end - 1 ? `newest: ${this.newest}` : '';
        this.foot.replaceChildren(el('span', null, String(this.axis.first)),
            el('span', stale ? 'stale' : 'dim3', stale || 'step'),
            el('span', null, String(this.axis.end - 1)));
    }

    /** The cursor moved: everything stays, the exact numbers of the step follow. */
    moved() {
        if (!this.axis) return;
        for (const figure of this.figures.values()) figure.showCursor();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.load(), 150);
    }

    /** New steps. Held: data arrive, nothing moves. */
    news(file) {
        if (this.busy) {
            this.again = file;
            return;
        }
        this.busy = this.load().finally(() => {
            const next = this.again;
            this.busy = this.again = null;
            if (next) this.news(next);
        });
    }
}
