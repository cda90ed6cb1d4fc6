/* timeline.js - when each call and operation of a step ran, and the memory over time. */

import {copyable} from './actions.js';
import {ask} from './api.js';
import {button, div, el, emptyState, failure, loading, menu, put, span} from './dom.js';
import {canvas} from './draw.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {abs, floor, max, min, round} from './math.js';
import {places} from './model.js';
import {go, state} from './state.js';
import {flops, time} from './text.js';
import {Boxes} from './timeline_data.js';
import {CURVE, ROW, TOP, drawFlame, drawStrip} from './timeline_draw.js';
import {swatch, tableCsv, whereTimeGoes} from './timeline_table.js';

const LEAST = 50; // ns in a window

class Timeline {
    constructor(stage) {
        this.stage = div('tl');
        stage.append(this.stage);
        this.ends = [copyable(() => this.boxes ? [{text: 'Times as CSV', value: () =>
            tableCsv(this.boxes.doc)}] : [])];
        this.cursor = -1;
        this.load();
    }

    async load() {
        const {file, pass} = state, promise = ask('timeline', {file, pass});
        if (promise === this.promise) return;
        this.promise = promise;
        if (!this.boxes) put(this.stage, loading(promise, 'Reading the times'));
        try {
            const [doc, model] = await Promise.all([promise, places(file)]);
            if (promise === this.promise) this.take(doc, model);
        } catch (error) {
            if (promise !== this.promise) return;
            this.boxes = null;
            put(this.stage, error.status === 409 || error.status === 404 ?
                emptyState('No times recorded', error.message, 'torchoscope.record(model, ' +
                    'ops=True)') : failure(error, () => {
                    this.promise = null;
                    this.load();
                }));
        }
    }

    take(doc, model) {
        this.boxes = new Boxes(doc).arrange(state.level === 'ops');
        this.model = model;
        this.window = this.readSpan();
        this.draw();
    }

    /** The window of the address: from-to in ns. */
    readSpan() {
        const [from, to] = state.span.split('-').map(Number), {whole} = this.boxes;
        return to > from && from >= 0 ? [from, min(to, whole)] : [0, whole];
    }

    // --- parts

    draw() {
        const {doc} = this.boxes, names = doc.families.filter((name, k) => name &&
            doc.boxes.family.includes(k));
        this.strip = canvas('', (pen, width, height) => drawStrip(pen, width, height,
            this.boxes));
        this.brush = div('tlbrush');
        this.over = div({class: 'tlover'}, this.strip, this.brush);
        this.flame = canvas(null, (pen, width, height) => this.paint(pen, width, height));
        this.host = div({class: 'tlflame', tabIndex: 0, role: 'application',
            aria: {label: 'Flame chart: arrows choose a box, Enter shows it large'},
            onfocus: () => this.flame.redraw(), onblur: () => {
                this.hide();
                this.flame.redraw();
            }}, this.flame);
        this.say = div({class: 'away', role: 'status'});
        put(this.stage, this.head(), el('section', 'tlcard', this.over),
            el('section', 'tlcard', this.host,
            div('tllegend', names.map((name) => span(null, swatch(name), name)),
                span('grow'), span('dim', 'boxes under 1 pixel are merged into ' +
                    'their parent')), ...doc.why.map((why) => el('p', 'dim3', why))),
        whereTimeGoes(doc, this.model), this.say);
        this.bindPointer();
        this.bindKeys();
        this.resize();
    }

    head() {
        const {doc} = this.boxes, one = (text, on, changes) => el('button', {class: on ? 'on' : '',
            aria: {pressed: on}, onclick: () => go(changes)}, text);
        const group = (label, ...list) => div({class: 'seg', role: 'group',
            aria: {label}}, list);
        const ops = state.level === 'ops', memory = state.tab === 'memory';
        const step = doc.passes > 1 ? menu(button({text: this.stepName(),
            label: 'Pass'}), Array.from({length: doc.passes}, (_, i) => ({text: `pass ${i}`,
            current: i === doc.pass, run: () => go({pass: String(i), span: ''})}))) :
            el('b', null, this.stepName());
        return this.bar = div('tlhead', step, span({class: 'dim grow cut',
            title: doc.sentence}, doc.sentence),
        doc.memory ? group('Shown', one('Time', !memory, {tab: ''}),
            one('Memory', memory, {tab: 'memory'})) : null,
        doc.boxes.kind.includes(3) ? group('Level', one('Modules', !ops, {level: ''}),
            one('Ops', ops, {level: 'ops'})) : null);
    }

    stepName() {
        const {doc} = this.boxes;
        return doc.passes > 1 ? `step ${doc.step}, pass ${doc.pass}` : `step ${doc.step}`;
    }

    get top() {
        return state.tab === 'memory' && this.boxes.doc.memory ? TOP + CURVE : TOP;
    }

    resize() {
        const {rows, doc} = this.boxes, strip = min(rows.length, 6) * 9 + (doc.memory ?
            80 : 24);
        this.over.style.height = `${strip}px`;
        this.brush.style.height = `${strip - 20}px`;
        this.host.style.height = `${this.top + max(3, rows.length) * ROW}px`;
        this.strip.ariaLabel = `The whole step: ${doc.sentence}` +
            `${doc.memory ? `; memory peak ${doc.memory.peak_text}` : ''}`;
        this.strip.redraw();
        this.show();
    }

    paint(pen, width, height) {
        const [from, to] = this.window;
        drawFlame(pen, width, height, this.boxes, {from, to, cursor: this.cursor,
            focused: this.host.matches(':focus-visible'), step: this.stepName(),
            memory: this.top > TOP, selected: this.model.find(state.at),
            texts: (i) => this.texts(i)});
    }

    texts(i) {
        const {boxes, model} = this, place = boxes.place(i);
        const klass = place === 0 && boxes.kind[i] < 3 ? boxes.phase(i) :
            boxes.kind[i] < 3 && place !== null ? model.klass(place) : '';
        return {name: boxes.name(i), took: boxes.took(i), short: time(boxes.ns[i]), klass};
    }

    // --- the window

    /** Draws the window and its frame above. */
    show() {
        const [from, to] = this.window, {whole} = this.boxes, all = from <= 0 && to >= whole;
        this.brush.style.left = `${from / whole * 100}%`;
        this.brush.style.width = `${(to - from) / whole * 100}%`;
        this.brush.classList.toggle('all', all);
        this.flame.redraw();
        clearTimeout(this.later);
        this.later = setTimeout(() => {
            if (this.promise) go({span: all ? '' : [from, to].map(round).join('-')},
                'replace');
        }, 300);
    }

    look(from, to) {
        const {whole} = this.boxes, size = min(whole, max(LEAST, to - from));
        const begin = max(0, min(whole - size, from));
        this.window = [begin, begin + size];
        this.hide();
        this.show();
    }

    zoom(by, at = 0.5) {
        const [from, to] = this.window, middle = from + (to - from) * at;
        this.look(middle - (middle - from) * by, middle + (to - middle) * by);
    }

    pan(part) {
        const [from, to] = this.window, by = (to - from) * part;
        this.look(from + by, to + by);
    }

    // --- a box

    choose(i, how) {
        const {boxes, model} = this;
        if (i < 0) return;
        this.cursor = i;
        const [from, to] = this.window, place = boxes.place(i);
        if (boxes.end(i) < from || boxes.start[i] > to) {
            const middle = boxes.start[i] + boxes.ns[i] / 2, half = (to - from) / 2;
            this.look(middle - half, middle + half);
        }
        this.say.textContent = `${boxes.name(i)}, ${boxes.took(i)}`;
        if (place !== null && place !== undefined) go({at: model.full(place)}, how);
        this.flame.redraw();
    }

    open(i) {
        if (i < 0) return;
        const {boxes} = this, edge = boxes.ns[i] * 0.02;
        this.look(boxes.start[i] - edge, boxes.end(i) + edge);
    }

    tip(i) {
        const {boxes, model} = this, place = boxes.place(i), rows = [
            [boxes.kind[i] === 3 ? 'operation' : 'time', boxes.took(i)],
            ['own', boxes.own[i] === boxes.ns[i] ? '' : time(boxes.own[i])],
            ['begins at', time(boxes.start[i])], ['phase', boxes.phase(i)],
            ['FLOPs', boxes.flops.has(i) ? flops(boxes.flops.get(i)) : ''],
            ['module', place > 0 ? model.full(place) : '']];
        return [el('b', null, boxes.name(i)), ' ', span('dim', this.texts(i).klass),
            el('dl', null, rows.filter((one) => one[1]).map(([name, text]) => [
                el('dt', null, name), el('dd', null, text)]))];
    }

    hover(event) {
        const i = this.boxAt(event);
        if (i === this.hovered) return;
        this.hide();
        this.hovered = i;
        if (i < 0) return;
        const {clientX, clientY} = event;
        this.timer = setTimeout(() => {
            const box = this.box = div({class: 'tip float', role: 'tooltip'}, this.tip(i));
            document.body.append(box);
            const size = box.getBoundingClientRect();
            box.style.left = `${max(8, min(clientX + 12, innerWidth - size.width - 8))}px`;
            box.style.top = `${clientY + 16 + size.height < innerHeight ? clientY + 16 :
                clientY - size.height - 10}px`;
            box.style.pointerEvents = 'none';
        }, 120);
    }

    hide() {
        clearTimeout(this.timer);
        if (this.box) this.box.remove();
        this.box = null;
        this.hovered = -1;
    }

    /** The box under the pointer as drawn: merged boxes are not found. */
    boxAt(event) {
        const at = this.host.getBoundingClientRect(), [from, to] = this.window;
        const row = floor((event.clientY - at.top - this.top) / ROW);
        const wide = (to - from) / at.width;
        if (row < 1) return -1;
        const i = this.boxes.find(row, from + (event.clientX - at.left) * wide);
        return i >= 0 && this.boxes.ns[i] >= wide ? i : -1;
    }

    // --- pointer and keys

    /** move(from, to): fractions of the width, from the position of the press. */
    dragged(element, move, click) {
        element.addEventListener('pointerdown', (event) => {
            if (event.button) return;
            const at = element.getBoundingClientRect(), part = (one) =>
                (one.clientX - at.left) / at.width;
            const begin = part(event), kept = [...this.window];
            let moved = false;
            element.setPointerCapture(event.pointerId);
            element.onpointermove = (one) => {
                moved = moved || abs(one.clientX - event.clientX) > 3;
                if (moved) move(begin, part(one), kept);
            };
            element.onpointerup = element.onpointercancel = (one) => {
                element.onpointermove = element.onpointerup = null;
                if (!moved && one.type === 'pointerup') click(one, begin);
            };
        });
    }

    bindPointer() {
        const {host, over, boxes} = this;
        this.dragged(over, (a, b) => this.look(min(a, b) * boxes.whole,
            max(a, b) * boxes.whole), (event, at) => {
            const half = (this.window[1] - this.window[0]) / 2;
            this.look(at * boxes.whole - half, at * boxes.whole + half);
        });
        over.addEventListener('dblclick', () => this.look(0, boxes.whole));
        this.dragged(host, (a, b, [from, to]) => this.look(from + (a - b) * (to - from),
            to + (a - b) * (to - from)), (event) => this.choose(this.boxAt(event), 'push'));
        host.addEventListener('dblclick', (event) => this.open(this.boxAt(event)));
        host.addEventListener('mousemove', (event) => !event.buttons && this.hover(event));
        host.addEventListener('pointerleave', () => this.hide());
        host.addEventListener('wheel', (event) => {
            const at = host.getBoundingClientRect(), along = abs(event.deltaX) >
                abs(event.deltaY) || event.shiftKey;
            if (!along && !event.ctrlKey && !event.metaKey) return; // the page scrolls
            event.preventDefault();
            if (along) this.pan((event.deltaX || event.deltaY) / at.width);
            else this.zoom(1.002 ** event.deltaY, (event.clientX - at.left) / at.width);
        }, {passive: false});
    }

    bindKeys() {
        this.unbind();
        const key = (keys, what, run) => bind({keys, what, where: 'Timeline',
            within: this.host, run});
        this.keys = [
            key(['Left', 'Right', 'Up', 'Down'], 'the next box', (event, name) => {
                this.choose(this.boxes.next(this.cursor, name), 'replace');
            }),
            key(['Shift+Left', 'Shift+Right'], 'move the window', (event, name) =>
                this.pan(name === 'Shift+Left' ? -.25 : .25)),
            key(['+', '='], 'larger', () => this.zoom(.5)),
            key(['-'], 'smaller', () => this.zoom(2)),
            key(['0'], 'the whole step', () => this.look(0, this.boxes.whole)),
            key(['Enter'], 'show the box large', () => this.open(this.cursor)),
        ];
    }

    unbind() {
        (this.keys || []).forEach((end) => end());
    }

    // --- a view

    state(changed) {
        if (changed.has('file') || changed.has('pass')) return void this.load();
        if (!this.boxes) return;
        if (changed.has('level')) {
            this.boxes.arrange(state.level === 'ops');
            this.cursor = -1;
        }
        if (changed.has('level') || changed.has('tab')) {
            const next = this.head(), old = this.stage.firstChild;
            old.replaceWith(next);
            this.resize();
        }
        if (changed.has('span')) {
            const next = this.readSpan();
            if (next.some((at, k) => abs(at - this.window[k]) > 1)) {
                this.window = next;
                this.show();
            }
        }
        if (changed.has('at')) this.flame.redraw();
    }

    news() {
        this.load();
    }

    close() {
        this.promise = null;
        clearTimeout(this.later);
        this.hide();
        this.unbind();
        this.ends.forEach((end) => end());
    }
}

export const timeline = (stage) => new Timeline(stage);
