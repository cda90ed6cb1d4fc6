/* scrubber.js - the step bar at the bottom: the loss as the track, alarms, NaN and Inf,
   and the cursor that all views share. */

import {columnOf, cursorLine, drawPlaces, linePlaces, triangle} from './axis.js';
import {button, div, el, failure, icon, put, span} from './dom.js';
import {canvas, stepAxis, token} from './draw.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {abs, max, min, round} from './math.js';
import {training} from './model.js';
import {go, state} from './state.js';
import {number, plural, short} from './text.js';

const DROP = 9; // px below the track, for the triangles

/** The scalar of the track: the loss if there is one. */
export function mainScalar(document) {
    const list = document.scalars.filter((one) => one.phase === 'train');
    return list.find((one) => one.name === 'loss') ||
        list.find((one) => /(^|\W|_)loss/i.test(one.name)) || list[0] || null;
}

function trainColumns(document) {
    const phase = document.phases.find((one) => one.phase === 'train') || document.phases[0];
    return phase ? phase.columns : {columns: 0, first: [], last: []};
}

class Scrubber {
    constructor(stage) {
        this.stage = stage;
        this.play = button({icon: 'pause', label: 'Stop following', onclick: () =>
            this.hold()});
        this.text = div('stack');
        this.track = canvas('loss over the steps', (...to) => this.paint(...to));
        this.slider = div({class: 'track', role: 'slider', tabIndex: 0,
            aria: {label: 'Step'}}, this.track);
        this.loss = div('stack');
        this.live = button({text: 'Follow live', onclick: () => go({step: null})});
        this.box = el('footer', {class: 'scrub', aria: {label: 'Steps'}}, this.play, this.text,
            this.slider, this.loss, this.live);
        this.slider.onpointerdown = (event) => {
            this.slider.setPointerCapture(event.pointerId);
            this.toPointer(event, 'push');
        };
        this.slider.onpointermove = (event) =>
            event.buttons && this.toPointer(event, 'replace');
        const to = (by) => () => this.document ? this.stepBy(by) : false;
        const key = (keys, what, run, within) => bind({keys, what, run, within, where: 'Steps'});
        this.unbind = [
            key(['('], 'one step back', to(-1)), key([')'], 'one step forward', to(1)),
            key(['Left'], 'one step back', to(-1), this.slider),
            key(['Right'], 'one step forward', to(1), this.slider),
            key(['Home'], 'first step', to(-Infinity), this.slider),
            key(['End'], 'newest step', to(Infinity), this.slider),
            key(['Space'], 'follow or stop', () => this.hold(), this.slider),
        ];
    }

    async load() {
        const file = files.get(state.file);
        this.file = file;
        if (!file || !file.has.includes('history')) {
            this.document = null;
            put(this.stage);
            return;
        }
        try {
            const document = await training(file);
            if (this.file === file) this.take(document);
        } catch (error) {
            if (this.file === file && !this.document)
                put(this.stage, failure(error, () => this.load()));
        }
    }

    take(document) {
        this.document = document;
        this.columns = trainColumns(document);
        this.scalar = mainScalar(document);
        if (!(this.columns.columns > 1)) put(this.stage);
        else if (!this.box.isConnected) put(this.stage, this.box);
        this.update();
    }

    newest() {
        return this.columns.last[this.columns.columns - 1];
    }

    step() {
        return state.step ?? this.newest();
    }

    columnOf(step) {
        return columnOf(this.columns, step);
    }

    hold() {
        go({step: state.step === null ? this.newest() : null});
    }

    stepBy(by) {
        const {columns, first, last} = this.columns, at = this.columnOf(this.step());
        if (!columns) return;
        if (first[at] < last[at] && abs(by) === 1) { // merged steps: one at a time
            const step = this.step() + by;
            go({step: max(first[0], min(this.newest(), step))}, 'replace');
            return;
        }
        const to = max(0, min(columns - 1, at + by));
        go({step: to === columns - 1 ? last[to] : by < 0 ? last[to] : first[to]}, 'replace');
    }

    axis(width) {
        return stepAxis({first: this.columns.first[0], last: this.newest()}, width);
    }

    toPointer(event, how) {
        const at = this.slider.getBoundingClientRect();
        go({step: this.axis(at.width).step(event.clientX - at.left)}, how);
    }

    update() {
        const {document} = this;
        if (!document || !this.columns.columns) return;
        const step = this.step(), following = state.step === null, file = this.file;
        const value = this.scalar ? this.scalar.value[this.columnOf(step)] : null;
        const x = number(value), bad = x !== null && !Number.isFinite(x);
        const name = following ? 'Stop following' : 'Follow';
        put(this.play, icon(following ? 'pause' : 'play'));
        this.play.ariaLabel = name;
        this.play.title = name;
        put(this.text, el('b', null, `step ${step}`),
            span('dim3', `of ${this.newest()}`));
        put(this.loss, el('b', bad ? 'bad' : '', short(value)),
            span('dim3', this.scalar ? this.scalar.name : ''));
        this.live.textContent = file.live ? 'Follow live' : 'To the end';
        this.live.classList.toggle('off', following);
        const set = (key, text) => this.slider.setAttribute(`aria-${key}`, text);
        set('valuemin', this.columns.first[0]);
        set('valuemax', this.newest());
        set('valuenow', step);
        set('valuetext', `step ${step}, ${this.scalar ? this.scalar.name : ''} ${short(value)}, ` +
            plural(document.alarms.length, 'alarm'));
        this.track.redraw();
    }

    paint(pen, width, height) {
        if (!this.document) return;
        const bottom = height - DROP - 0.5, axis = this.axis(width);
        const values = this.scalar ? this.scalar.value.map(number) : [];
        const fine = values.filter((v) => v !== null && Number.isFinite(v));
        const low = min(...fine), high = max(...fine);
        const y = (v) => bottom - 3 - (v - low) / (high - low || 1) * (bottom - 8);
        drawPlaces(pen, linePlaces(pen, this.columns, values, {x: axis.x, y, top: 5, bottom,
            end: this.newest() + 1}), 'text3', 1.2);
        pen.fillStyle = token('line2');
        pen.fillRect(0, bottom - .5, width, 1);
        this.paintCursor(pen, axis.x(this.step()), bottom);
        this.paintAlarms(pen, axis, bottom);
    }

    paintAlarms(pen, axis, bottom) {
        const order = [...this.document.alarms].sort((a, b) =>
            (a.severity === 'alarm') - (b.severity === 'alarm'));
        for (const {step, severity} of order) {
            if (severity === 'note') continue;
            const x = axis.x(step), filled = severity === 'alarm';
            triangle(pen, x, bottom + 1.5, filled, 7);
        }
    }

    paintCursor(pen, x, bottom) {
        const at = round(max(1, x)), dot = (name, size) => {
            pen.fillStyle = token(name);
            pen.beginPath();
            pen.arc(at, bottom, size, 0, 7);
            pen.fill();
        };
        dot('surface', 6);
        cursorLine(pen, x, 0, bottom);
        dot('accent', 4.5);
    }
}

export const scrubber = {
    id: 'scrubber',
    mount(stage) {
        const made = new Scrubber(stage);
        made.load();
        return {
            state: (changed) => changed.has('file') ? made.load() : made.update(),
            news: () => made.load(),
            close: () => made.unbind.forEach((end) => end()),
        };
    },
};
