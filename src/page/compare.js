/* compare.js - the differences between this file and another one. */

import {ask} from './api.js';
import {diffHead, diffTree} from './compare_rows.js';
import {curves} from './curves.js';
import {button, copyText, div, el, failure, icon, link, loading, menu, put, seg,
    span} from './dom.js';
import {GraphView} from './graph_view.js';
import {bind} from './keys.js';
import {files, onNews} from './live.js';
import {go, state} from './state.js';
import {filePill} from './topbar.js';
import {NONE, commas, plural, short, word} from './text.js';

const KEYS = ['Up', 'Down', 'Left', 'Right', 'PageUp', 'PageDown', 'Home', 'End', 'Enter',
    'Space', 'z', 'Z', 's', 'S', 'o', 'O'];
const COUNTS = [['changed', '~', 'chg', 'changed'], ['retyped', '~', 'chg', 'of another type'],
    ['reshaped', '~', 'chg', 'of another shape'], ['joined', '~', 'chg', 'joined or split'],
    ['only_left', '\u2212', 'del', 'only left'], ['only_right', '+', 'add', 'only right'],
    ['close', '\u2248', 'dim', 'within the tolerance'], ['same', '=', 'dim3', 'equal'],
    ['unread', '?', 'dim3', 'not compared']];
const STATS = ['mean', 'std', 'min', 'max', 'l2', 'nan'];

/** One sentence: equal, or the differences. */
function sentenceOf(doc) {
    const {counts, training, results} = doc;
    const prefix = doc.values || counts.unread === 0 ? '' : 'Values were not compared. ';
    if (training && !training.common_steps) return 'The runs logged no step in common.';
    if (training && training.agree) return `The runs are equal in ${plural(
        training.common_steps, 'common step')}.`;
    if (training) return `The runs part at step ${(training.first || training.scalar).step}.`;
    if (results?.compared) return results.agree ?
        `All ${plural(results.compared, 'result')} agree.` : `${commas(results.beyond)} of ` +
        `${plural(results.compared, 'result')} ${results.beyond === 1 ? 'is' : 'are'} beyond ` +
        'the tolerance.';
    if (doc.equal) return `Equal: ${plural(counts.tensors, 'tensor')}, bit by bit.`;
    return prefix + (doc.sentence || 'The files differ.');
}

/** The numbers of both sides, one below the other. */
function sides(left, right) {
    const keys = STATS.filter((key) => left[key] !== undefined || right[key] !== undefined);
    const row = (title, one) => el('tr', null, el('td', 'dim', title), keys.map((key) =>
        el('td', 'num', one[key] === undefined ? NONE : short(one[key]))));
    return keys.length > 0 && div('wider', el('table', 'cmpstats', el('tr', null, el('th'),
        keys.map((key) => el('th', 'num', key === 'l2' ? 'norm' : key))), row('left', left),
    row('right', right)));
}

/** The step at which two runs diverge. */
function parting({first, scalar, steps, common_steps: common}) {
    const lines = [el('p', 'dim', `${commas(steps.left)} and ${plural(steps.right, 'step')}, ` +
        `${commas(common)} in common`)];
    if (first) lines.push(el('p', null, 'First tensor: ', link(first.name || 'the model', () =>
        go({at: first.name, step: first.step, view: 'overview'})), ` ${first.kind} (${
        first.phase}), step ${first.step}, ${first.distance === null ? 'not comparable' :
        `distance ${short(first.distance)} of its RMS`}; ` +
        `${commas(first.together)} differ in this step.`), sides(first.left, first.right));
    if (scalar) lines.push(el('p', null, 'First scalar: ', el('b', null, scalar.name),
        ` (${scalar.phase}), step ${scalar.step}: ${short(scalar.left)} left, ` +
        `${short(scalar.right)} right.`));
    return el('section', 'tlcard', el('h2', null, el('b', null, 'Where the runs part')), lines);
}

function result(one) {
    const {left, right} = one, at = left || right;
    return el('p', null, link(at.name || 'outside the model', () => go({at: at.name ??
        null})), ' ', span('dim', [at.op || one.what, one.phase, at.line]
        .filter(Boolean).join(', ')),
        ` distance ${short(one.distance)}, tolerance ${short(one.tolerance)}` +
        (one.begins ? ': the error begins here' : ''));
}

/** The call at which the results of two recordings start to differ. */
function divergence({first, later}) {
    if (!first) return null;
    return el('section', 'tlcard', el('h2', null, el('b', null, 'Where results begin to differ')),
        result(first), sides(first.left, first.right), later.length > 0 &&
        [el('p', 'dim', 'The largest after it:'), later.map(result)]);
}

const RULES = {prefix: 'prefix', part: 'part', name: 'name', swap: 'swapped', shift: 'shifted'};

/** The prefixes and names that were aligned. */
function aligned(doc) {
    const of = (side, word) => doc[side].prefix ? `${doc[side].prefix} is taken off all names ` +
        `${word}` : '';
    const rules = doc.rules.filter((one) => one.kind !== 'prefix').slice(0, 4).map((one) =>
        `${RULES[one.kind] || one.kind} ${one.from || NONE} \u2192 ${one.to || NONE}`);
    const text = [of('left', 'at the left'), of('right', 'at the right'), ...rules]
        .filter(Boolean).join('; ');
    return text && el('p', 'dim cmpnote', `Aligned: ${text}.`);
}

class Compare {
    constructor(stage) {
        this.stage = div('tl cmp');
        this.unbind = [onNews(() => files.has(state.right) || this.choose()), bind({keys: KEYS,
            what: 'the tree of differences', where: 'Compare', within: this.stage,
            run: (event, key) => this.tree?.contains(event.target) ? this.tree.press(key) :
                false})];
        stage.append(this.stage);
        this.load();
    }

    /** The files to compare with; files of the same kind first. */
    others() {
        const mine = files.get(state.file), kind = (file) => Number(file.kind !== mine.kind);
        return [...files.values()].filter((file) => file !== mine && !file.why).sort((a, b) =>
            kind(a) - kind(b));
    }

    /** The views that both files support: [name in the address, title]. */
    tabs() {
        const both = (what) => [state.file, state.right].every((id) =>
            files.get(id).has.includes(what));
        return [['', 'Values'], both('graph') && ['graph', 'Graph'], both('history') &&
            ['curves', 'Curves']].filter(Boolean);
    }

    bar() {
        const right = files.get(state.right), tabs = right ? this.tabs() : [], {tab} = state;
        const choices = this.others().map((file) => ({text: file.name, detail: file.format,
            extra: filePill(file), current: file === right, run: () => go({right: file.id})}));
        return div('tlhead', el('b', 'cut', files.get(state.file).name), right && [
            span('dim', 'with'), menu(el('button', 'btn', span('cut', right.name),
                icon('down')), choices)], span('grow'), right && !tab &&
            button({text: 'Show equal', press: state.expand, onclick: () =>
                go({expand: !state.expand})}), tabs.length > 1 && seg('Shown', tabs.map(([id,
            title]) => [title, tab === id, () => go({tab: id})])));
    }

    say(...content) {
        if (this.part) this.part.close();
        this.part = this.tree = null;
        put(this.stage, this.bar(), content);
    }

    /** No file is selected: buttons for the other files, or how to serve more. */
    choose() {
        const others = this.others(), path = files.get(state.file).path || 'A.pth';
        const folder = path.slice(0, path.lastIndexOf('/') + 1) || '.';
        const line = (text) => el('button', {class: 'cmd', title: 'Copy', onclick: () =>
            copyText(text)}, text);
        this.say(div('empty', el('b', null, others.length ? 'Compare with another file' :
            'Nothing to compare with'), div('dim', state.right ?
            'That file is not served, or not any more.' : others.length ?
                'What differs is shown side by side.' :
                'Serve a second file, or the folder with all its models and runs:'),
        others.length ? others.slice(0, 20).map((file) => el('button', {class: 'btn', onclick: () =>
            go({right: file.id})}, span('cut', file.name), span('dim3', file.format))) :
            [line(`torchoscope serve ${word(path)} OTHER`), line(`torchoscope serve ${
                word(folder)}`)]));
    }

    /** Mounts another view inside this one. */
    show(mount) {
        const host = div('cmpgraph');
        this.say(host);
        this.part = mount(host);
    }

    async load() {
        const {file, right, expand} = state;
        const tab = files.has(right) && this.tabs().find(([id]) => id === state.tab)?.[0];
        this.promise = null;
        if (!files.has(right)) return this.choose();
        if (tab === 'graph') return this.show((host) => new GraphView(host, {old: file,
            file: right}));
        if (tab === 'curves') return this.show((host) => curves(host, [right]));
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
        const {counts, equal} = doc, quoted = (value) => JSON.stringify(value) ?? NONE;
        const note = COUNTS.filter(([key]) => counts[key]).map(([key, sign, kind, words]) =>
            span(null, el('b', kind, `${sign} ${commas(counts[key])}`), ` ${words}`));
        this.say(div({class: `banner ${equal ? 'good' : 'plain'}`, role: 'status'},
            icon(equal ? 'check' : 'compare'), span('grow', sentenceOf(doc))),
        aligned(doc), el('p', 'cmpnote', note), doc.training && parting(doc.training),
        doc.results && divergence(doc.results), doc.others.slice(0, 50).map((one) =>
            el('p', 'cmpnote', el('b', null, one.name || 'the model'), span('dim',
                ` ${one.kind} `), `${quoted(one.left)} \u2192 ${quoted(one.right)}`)));
        if (!doc.tensors.length) return;
        this.tree = diffTree(doc.tensors, (tensor) => tensor.left && go({at: tensor.left.name}));
        const [left, right] = [state.file, state.right].map((id) => files.get(id).name);
        this.stage.append(el('section', 'tlcard cmpcard', diffHead(left, right), this.tree));
    }

    state(changed) {
        if (['file', 'right', 'expand', 'tab'].some((key) => changed.has(key))) this.load();
        else if (this.part) this.part.state(changed);
    }

    news(file) {
        if (this.part) this.part.news(file);
    }

    close() {
        this.promise = null;
        this.unbind.forEach((end) => end());
        if (this.part) this.part.close();
    }
}

export const compare = (stage) => new Compare(stage);
