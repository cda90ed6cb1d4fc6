/* curves.js - losses, learning rates and everything from w.log(): one large chart, small
   ones, several runs. */

import {copyable, exportable} from './actions.js';
import {ask, save} from './api.js';
import {Chart, order, sample, titleOf} from './curves_chart.js';
import {button, copyText, div, el, emptyState, failure, icon, loading,
    menu} from './dom.js';
import {stepAxis} from './draw.js';
import {bind} from './keys.js';
import {Run, axisText, ticks} from './lines.js';
import {files, onNews} from './live.js';
import {ceil, floor, max, min, round} from './math.js';
import {go, state} from './state.js';
import {filePill} from './topbar.js';

const LETTERS = 'ABCDE', COLUMNS = 1000;
const WIDTHS = [0, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 1e4, 2e4, 5e4, 1e5];

function question(id, since) {
    return ask('training', {file: id, columns: COLUMNS, since});
}

class Curves {
    constructor(stage, more) {
        this.more = more;
        this.runs = [];
        this.charts = new Map();
        this.at = null; // place of the readout on the axis
        this.busy = new Set();
        this.chips = el('span', 'row2');
        this.slider = el('input', {type: 'range', id: 'smooth', min: 0, oninput: () =>
            go({smooth: this.smoothing.list[this.slider.value]}, 'replace')});
        this.says = el('b', 'width');
        this.switches = el('span', 'row2');
        this.bar = div({class: 'ctl', role: 'group', aria: {label: 'Curves'}}, this.chips,
            el('span', 'grow'), el('label', 'row2', el('span', 'dim', 'smoothing'),
                this.slider), this.says, this.switches);
        this.big = div();
        this.small = div('multi');
        this.root = div('curves', this.bar, this.big, this.small);
        this.stage = stage;
        this.unbind = [...this.bindKeys(), onNews((changed) => this.news(changed)),
            copyable(() => this.copies()), exportable(() => this.exports())];
        this.load();
    }

    async load() {
        const ids = [...new Set([state.file, ...this.more, ...state.runs])].filter((id) =>
            files.get(id)?.has.includes('history')).slice(0, 5);
        const promise = Promise.all(ids.map((id) => question(id)));
        this.ids = ids;
        if (!this.runs.length) this.stage.replaceChildren(loading(promise, 'Reading the run'));
        try {
            const documents = await promise;
            if (this.ids !== ids) return;
            this.runs = ids.map((id, i) => new Run(files.get(id), LETTERS[i], documents[i]));
            if (!this.root.isConnected) this.stage.replaceChildren(this.root);
            this.update();
        } catch (error) {
            if (this.ids === ids && !this.closed)
                this.stage.replaceChildren(failure(error, () => this.load()));
        }
    }

    /** Requests and draws only the new steps. */
    async news(changed) {
        for (const run of this.runs) {
            const file = changed.find(({id}) => id === run.file.id);
            if (!file || this.busy.has(file.id)) continue;
            this.busy.add(file.id);
            try {
                const ended = run.file.live && !file.live;
                const since = run.main?.columns.first.at(-1) ?? 0;
                run.file = file;
                const more = await question(file.id, since || null);
                if (!this.runs.includes(run)) return;
                if (!since || !more.since || !run.add(structuredClone(more))) {
                    await this.load();
                    return;
                }
                this.update(ended ? null : {run, step: since});
            } catch { /* the connection is lost; a banner reports it */
            } finally {
                this.busy.delete(file.id);
            }
        }
    }

    log(key) {
        return state.logs.includes(key) !== state.log;
    }

    widths() {
        const run = this.runs[0], span = run.newest() - (run.main?.columns.first[0] ?? 0);
        const list = WIDTHS.filter((one, i) => i < 4 || one <= span / 3);
        const usual = list.findLast((one) => one <= span / 60) ?? 0;
        return {list, width: state.smooth ?? usual};
    }

    spanOf() {
        const {axis, runs} = this, ends = runs.filter(({main}) => main).flatMap((run) =>
            axis === 'step' ? [run.main.columns.first[0], run.newest()] :
                [run.main[axis]?.[0] ?? 0, run.main[axis]?.at(-1) ?? 0]);
        const first = ends.reduce((a, b) => min(a, b), ends[0] ?? 0);
        const last = ends.reduce((a, b) => max(a, b), first), live = runs.some(({file}) =>
            file.live);
        const unit = 2 ** (floor(Math.log2(last - first || 1)) - 4);
        const end = live && last > first ? first + ceil((last - first) / unit) * unit : last;
        return {first, end, ticks: (width) => (axis === 'step' ?
            stepAxis({first, last: round(end)}, width).ticks :
            ticks(first, end, max(2, floor(width / 90)))).map((one) =>
            [one, axisText(axis, one)])};
    }

    /** grown: {run, step} if only columns from this step on are new. */
    update(grown = null) {
        const axes = this.runs[0].axes, keys = order(this.runs);
        const before = this.span;
        this.axes = axes;
        this.axis = axes.includes(state.x) && this.runs.every((run) => run.axes.includes(state.x)) ?
            state.x : 'step';
        this.span = this.spanOf();
        const same = grown && before && before.end === this.span.end &&
            before.first === this.span.first;
        this.smoothing = this.widths();
        this.makeBar();
        if (!keys.length) {
            this.small.replaceChildren();
            this.big.replaceChildren(div('curve none', emptyState('No scalars logged yet',
                'The loss is found automatically where possible. Log any other number in ' +
                'your training loop:', 'w.log(loss=loss)')));
            return;
        }
        const main = keys.includes(state.chart) ? state.chart : keys[0];
        for (const key of [...this.charts.keys()]) if (!keys.includes(key)) this.charts.delete(key);
        for (const key of keys) {
            if (!this.charts.has(key)) this.charts.set(key, new Chart(this, key));
            this.charts.get(key).take(key === main, same ? grown : null, Boolean(grown));
        }
        const list = keys.filter((key) => key !== main).map((key) => this.charts.get(key).card);
        const put = (box, cards) => (box.childNodes.length !== cards.length || cards.some(
            (card, i) => box.childNodes[i] !== card)) && box.replaceChildren(...cards);
        put(this.big, [this.charts.get(main).card]);
        put(this.small, list);
        this.main = this.charts.get(main);
        this.show();
    }

    makeBar() {
        const focus = this.switches.contains(document.activeElement) && document.activeElement.id;
        const chips = this.runs.map(({file, letter}, i) => el('span', {class: 'run', data:
            {letter}}, el('span', {class: 'badge', data: {panel: letter}}, letter),
        sample(letter), el('b', 'cut', file.name), filePill(file), i ? button({icon: 'close',
            label: `Take ${file.name} out`, class: 'ghost', onclick: () => go({runs:
                state.runs.filter((id) => id !== file.id)})}) : null));
        const others = [...files.values()].filter((file) => file.has.includes('history') &&
            !this.runs.some((run) => run.file.id === file.id));
        const add = others.length && this.runs.length < 5 ? menu(button({class: 'ghost',
            text: 'Add run'}), () => others.map((file) => ({text: file.name, extra:
            filePill(file), run: () => go({runs: [...state.runs, file.id]})}))) : null;
        add?.append(icon('down'));
        const seg = (label, names, now, choose) => [el('span', 'dim', label), el('span',
            {class: 'seg', role: 'group', aria: {label}}, names.map(([id, name]) =>
                el('button', {id: `seg-${id}`, class: id === now ? 'on' : '',
                    aria: {pressed: id === now}, onclick: () => choose(id)}, name)))];
        const {list, width} = this.smoothing, at = list.findLastIndex((one) => one <= width);
        const says = width ? `${width} steps` : 'off';
        this.slider.max = list.length - 1;
        this.slider.value = at;
        this.slider.ariaValueText = this.says.textContent = says;
        this.chips.replaceChildren(...chips, ...add ? [add] : []);
        this.switches.replaceChildren(...this.axes.length > 1 ? seg('x', this.axes.map((id) =>
            [id, id[0].toUpperCase() + id.slice(1)]), this.axis, (id) => go({x: id})) : [],
        ...seg('y of all', [['linear', 'Linear'], ['log', 'Log']], state.log ? 'log' :
            'linear', (id) => go({log: id === 'log', logs: []})));
        if (focus) document.getElementById(focus)?.focus();
    }

    /* --- The readout */

    /** The run whose columns the readout snaps to: the one that reaches farthest. */
    base() {
        return this.runs.reduce((a, b) => b.newest() > a.newest() ? b : a);
    }

    /** Moves the readout to the column nearest to an axis value, or removes it. */
    read(at) {
        const {main} = this.base();
        if (at === null || !main) this.at = null;
        else {
            const places = main[this.axis];
            let i = places.findIndex((one) => one >= at);
            if (i < 0) i = places.length - 1;
            if (i > 0 && at - places[i - 1] < places[i] - at) i--;
            this.index = i;
            this.at = places[i];
        }
        this.show();
    }

    move(by) {
        const {main} = this.base(), n = main?.columns.columns ?? 0;
        if (!n) return;
        const to = this.at === null ? n - 1 : max(0, min(n - 1, this.index + by));
        this.read(main[this.axis][to]);
    }

    /** The step of the readout, or null. */
    step() {
        return this.at === null ? null : this.base().main.columns.last[this.index];
    }

    show() {
        for (const chart of this.charts.values()) chart.show();
    }

    bindKeys() {
        const key = (keys, what, run, within) => bind({keys, what, within, where: 'Curves',
            run: (...args) => this.runs.length ? run(...args) : false});
        const wider = (by) => {
            const {list, width} = this.smoothing;
            const at = list.findLastIndex((one) => one <= width) + by;
            go({smooth: list[max(0, min(list.length - 1, at))]}, 'replace');
        };
        const next = () => go({x: this.axes[(this.axes.indexOf(this.axis) + 1) %
            this.axes.length]});
        return [
            key(['Left'], 'readout one column back', () => this.move(-1), this.root),
            key(['Right'], 'one column forward', () => this.move(1), this.root),
            key(['Shift+Left', 'Shift+Right'], 'ten times as far', (_, name) =>
                this.move(name.endsWith('Right') ? 10 : -10), this.root),
            key(['Enter'], 'the cursor of all views there', () => this.at === null ? false :
                go({step: this.step()}), this.root),
            key(['Esc'], 'no readout', () => this.read(null), this.root),
            key(['x'], 'linear or log', () => go({log: !state.log, logs: []})),
            key(['v'], 'next x axis', next),
            key([','], 'less smoothing', () => wider(-1)),
            key(['.'], 'more smoothing', () => wider(1)),
            key(['0'], 'y ranges as they are now needed', () => this.update()),
            key(['y'], 'copy the values as CSV', (event) => copyText((this.charts.get(
                event.target.closest('.curve')?.dataset.key) || this.main).csv(), 'CSV copied'),
            this.root),
        ];
    }

    copies() {
        const python = () => this.runs.map(({file}) =>
            `torchoscope.open(${JSON.stringify(file.path || file.name)}).scalars()`).join('\n');
        return this.main ? [{text: 'CSV', detail: titleOf(this, this.main.key)[0],
            value: () => this.main.csv()}, {text: 'Python', value: python}] : [];
    }

    exports() {
        if (!this.main) return [];
        const chart = this.main, [title] = titleOf(this, chart.key);
        const name = `${title.replace(/\W+/g, '-')}.`;
        const out = (form, make) => ({text: `Chart as ${form}`, detail: title, run: async () =>
            save(await make(), name + form.toLowerCase())});
        return [out('PNG', () => chart.png()),
            out('SVG', () => new Blob([chart.svg()], {type: 'image/svg+xml'})),
            out('CSV', () => new Blob([chart.csv()], {type: 'text/csv'}))];
    }
}

/** more: runs besides those of the address. */
export function curves(stage, more = []) {
    const made = new Curves(stage, more), mine = ['log', 'logs', 'smooth', 'x', 'chart'];
    return {
        state(changed) {
            if (changed.has('runs')) made.load();
            else if (!made.runs.length) return;
            else if (changed.has('x') || changed.has('log')) {
                made.at = null;
                made.update();
            } else if (mine.some((key) => changed.has(key))) made.update();
            else if (changed.has('step')) made.show();
        },
        news() {},
        close() {
            made.closed = true;
            made.unbind.forEach((end) => end());
        },
    };
}
