/* compare.js - what differs between this file and another one. */

import {ask} from './api.js';
import {diffHead, diffTree} from './compare_rows.js';
import {button, el, emptyState, failure, icon, loading, menu} from './dom.js';
import {GraphView} from './graph_view.js';
import {bind} from './keys.js';
import {files} from './live.js';
import {go, state} from './state.js';
import {filePill} from './topbar.js';
import {NONE, commas, plural, short} from './text.js';

const KEYS = ['Up', 'Down', 'Left', 'Right', 'PageUp', 'PageDown', 'Home', 'End', 'Enter',
    'Space', 'z', 'Z', 's', 'S', 'o', 'O'];
const COUNTS = [['changed', '~', 'chg', 'changed'], ['retyped', '~', 'chg', 'of another type'],
    ['reshaped', '~', 'chg', 'of another shape'], ['joined', '~', 'chg', 'joined or split'],
    ['only_left', '\u2212', 'del', 'only left'], ['only_right', '+', 'add', 'only right'],
    ['close', '\u2248', 'dim', 'within the tolerance'], ['same', '=', 'dim3', 'equal'],
    ['unread', '?', 'dim3', 'not compared']];
const STATS = ['mean', 'std', 'min', 'max', 'l2', 'nan'];

/** One sentence: equal, or what differs. */
function sentenceOf(doc) {
    const {counts, training, results} = doc;
    const prefix = doc.values || counts.unread === 0 ? '' : 'Values were not compared. ';
    if (training && !training.common_steps) return 'The runs logged no step in common.';
    if (training && training.agree) return `The runs are equal in ${plural(
        training.common_steps, 'common step')}.`;
    if (training) return `The runs part at step ${(training.first || training.scalar).step}.`;
    if (results && results.compared) return results.agree ?
        `All ${plural(results.compared, 'result')} agree.` : `${commas(results.beyond)} of ` +
        `${plural(results.compared, 'result')} are beyond the tolerance.`;
    if (doc.equal) return `Equal: ${plural(counts.tensors, 'tensor')}, bit by bit.`;
    return prefix + (doc.sentence || 'The files differ.');
}

const link = (name, changes) => el('button', {type: 'button', class: 'link', onclick: () =>
    go(changes)}, name);

/** Numbers of the two sides, one below the other. */
function sides(left, right) {
    const keys = STATS.filter((key) => left[key] !== undefined || right[key] !== undefined);
    const row = (title, one) => el('tr', null, el('td', 'dim', title), keys.map((key) =>
        el('td', 'num', one[key] === undefined ? NONE : short(one[key]))));
    return keys.length ? el('div', 'wider', el('table', 'cmpstats', el('tr', null, el('th'),
        keys.map((key) => el('th', 'num', key === 'l2' ? 'norm' : key))), row('left', left),
    row('right', right))) : null;
}

/** Where two runs part. */
function parting({first, scalar, steps, common_steps: common}) {
    const lines = [el('p', 'dim', `${commas(steps.left)} and ${plural(steps.right, 'step')}, ` +
        `${commas(common)} in common`)];
    if (first) lines.push(el('p', null, 'First tensor: ', link(first.name || 'the model', {at:
        first.name, step: first.step, view: 'overview'}), ` ${first.kind} (${first.phase}), step ` +
        `${first.step}, distance ${short(first.distance)} of its RMS; ` +
        `${commas(first.together)} differ in this step.`), sides(first.left, first.right));
    if (scalar) lines.push(el('p', null, 'First scalar: ', el('b', null, scalar.name),
        ` (${scalar.phase}), step ${scalar.step}: ${short(scalar.left)} left, ` +
        `${short(scalar.right)} right.`));
    return el('section', 'tlcard', el('h2', null, el('b', null, 'Where the runs part'),
        el('span', 'grow'), link('Curves of both', {view: 'curves', runs: [state.right]})), lines);
}

function result(one) {
    const {left, right} = one, at = left || right;
    return el('p', null, link(at.name || 'outside the model', {at: at.name ?? null}), ' ',
        el('span', 'dim', [at.op || one.what, one.phase, at.line].filter(Boolean).join(', ')),
        ` distance ${short(one.distance)}, tolerance ${short(one.tolerance)}` +
        (one.begins ? ': the error begins here' : ''));
}

/** Where the results of two recordings begin to differ. */
function divergence({first, later}) {
    if (!first) return null;
    return el('section', 'tlcard', el('h2', null, el('b', null, 'Where results begin to differ')),
        result(first), sides(first.left, first.right), later.length ? [el('p', 'dim',
            'The largest after it:'), later.map(result)] : null);
}

const RULES = {prefix: 'prefix', part: 'part', name: 'name', swap: 'swapped', shift: 'shifted'};

/** Prefixes and names that were aligned. */
function aligned(doc) {
    const of = (side, word) => doc[side].prefix ? `${doc[side].prefix} is taken off all names ` +
        `${word}` : '';
    const rules = doc.rules.filter((one) => one.kind !== 'prefix').slice(0, 4).map((one) =>
        `${RULES[one.kind] || one.kind} ${one.from || NONE} \u2192 ${one.to || NONE}`);
    const text = [of('left', 'at the left'), of('right', 'at the right'), ...rules]
        .filter(Boolean).join('; ');
    return text ? el('p', 'dim cmpnote', `Aligned: ${text}.`) : null;
}

class Compare {
    constructor(stage) {
        this.stage = el('div', 'tl cmp');
        this.keys = bind({keys: KEYS, what: 'the tree of differences', where: 'Compare',
            within: this.stage, run: (event, key) => this.tree?.contains(event.target) ?
                this.tree.press(key) : false});
        stage.append(this.stage);
        this.load();
    }

    /** Files to compare with, those of the same kind first. */
    others() {
        const mine = files.get(state.file), kind = (file) => Number(file.kind !== mine.kind);
        return [...files.values()].filter((file) => file !== mine && !file.why).sort((a, b) =>
            kind(a) - kind(b));
    }

    bar() {
        const right = files.get(state.right), mine = files.get(state.file);
        const tab = (text, name) => el('button', {type: 'button', class: state.tab === name ?
            'on' : '', aria: {pressed: state.tab === name}, onclick: () => go({tab: name})}, text);
        return el('div', 'tlhead', el('b', 'cut', mine.name), el('span', 'dim', 'with'),
            menu(el('button', {type: 'button', class: 'btn'}, el('span', 'cut', right ?
                right.name : 'Choose a file'), icon('down')), () => this.others().map((file) =>
                ({text: file.name, detail: file.format, extra: filePill(file), current:
                    file === right, run: () => go({right: file.id})}))),
            el('span', 'grow'), right && state.tab !== 'graph' ? button({text: 'Show equal',
                press: state.expand, onclick: () => go({expand: !state.expand})}) : null,
            right && [mine, right].every((file) => file.has.includes('graph')) ? el('div', {
                class: 'seg', role: 'group', aria: {label: 'Shown'}}, tab('Values', ''),
            tab('Graph', 'graph')) : null);
    }

    say(...content) {
        if (this.graph) this.graph.close();
        this.graph = this.tree = null;
        this.stage.replaceChildren(this.bar(), ...content.filter(Boolean));
    }

    async load() {
        const {file, right, expand, tab} = state;
        this.promise = null;
        if (!files.has(right)) return this.say(this.others().length ? emptyState(
            'Compare with another file', right ? 'That file is not served, or not any more.' :
                'Choose it above. What differs is shown side by side.') : emptyState(
            'Nothing to compare with', 'Two files, or a folder, can be compared.',
            'torchoscope serve A.pth B.pth'));
        if (tab === 'graph') {
            const host = el('div', 'cmpgraph');
            this.say(host);
            this.graph = new GraphView(host, {old: file, file: right});
            return null;
        }
        const promise = this.promise = ask('diff', {file, right, all: expand});
        this.say(loading(promise, 'Comparing'));
        try {
            const doc = await promise;
            if (promise === this.promise) this.draw(doc);
        } catch (error) {
            if (promise === this.promise) this.say(failure(error, () => this.load()));
        }
        return null;
    }

    draw(doc) {
        const {counts} = doc, equal = doc.equal;
        const shown = COUNTS.filter(([key]) => counts[key]);
        this.say(el('div', {class: `banner ${equal ? 'good' : 'plain'}`, role: 'status'},
            icon(equal ? 'check' : 'compare'), el('span', 'grow', sentenceOf(doc))),
        aligned(doc), el('p', 'cmpnote', shown.map(([key, sign, kind, word]) => el('span', null,
            el('b', kind, `${sign} ${commas(counts[key])}`), ` ${word}`))),
        doc.training ? parting(doc.training) : null,
        doc.results ? divergence(doc.results) : null,
        ...doc.others.slice(0, 50).map((one) => el('p', 'cmpnote', el('b', null, one.name ||
            'the model'), el('span', 'dim', ` ${one.kind} `), `${JSON.stringify(one.left) ??
            NONE} \u2192 ${JSON.stringify(one.right) ?? NONE}`)));
        if (!doc.tensors.length) return;
        this.tree = diffTree(doc.tensors, (tensor) => tensor.left && go({at: tensor.left.name}));
        const [left, right] = [state.file, state.right].map((id) => files.get(id).name);
        this.stage.append(el('section', 'tlcard cmpcard', diffHead(left, right), this.tree));
    }

    state(changed) {
        if (['file', 'right', 'expand', 'tab'].some((key) => changed.has(key))) this.load();
        else if (this.graph) this.graph.state(changed);
    }

    news(file) {
        if (file.live && state.tab !== 'graph') return; // each step would begin anew
        if (this.graph) this.graph.news(file);
    }

    close() {
        this.promise = null;
        this.keys();
        if (this.graph) this.graph.close();
    }
}

export const compare = {
    id: 'compare', title: 'Compare', icon: 'compare', wide: true,
    fits: () => files.size > 1,
    mount: (stage) => new Compare(stage),
};
