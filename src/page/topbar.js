/* topbar.js - logo, file menu, pill, search, views, alarms, copy, export, theme, help. */

import {copyItems, copyable, exportItems, exportable} from './actions.js';
import {contents, download, isStatic} from './api.js';
import {button, closeMenu, copyText, div, el, icon, menu, popover, put, said, span,
    svgEl} from './dom.js';
import {isDark, setTheme} from './draw.js';
import {keep, kept} from './kept.js';
import {bind, showHelp} from './keys.js';
import {connection, files} from './live.js';
import {training} from './model.js';
import {address, go, state} from './state.js';
import {bytes, commas, plural, short, word} from './text.js';

/** Verdict -> class of its pill, its sign, its words. */
export const VERDICTS = {
    safe: ['good', 'check', 'SAFE'], 'needs code': ['warn', 'bang', 'NEEDS CODE'],
    unsafe: ['alarm', 'cross', 'UNSAFE'], inconclusive: ['line', 'question', 'INCONCLUSIVE'],
};

const pill = (kind, ...content) => span(`pill ${kind}`, content);

/** The pill of a verdict; null: no verdict. */
export function verdictPill(verdict) {
    const [kind, image, word] = VERDICTS[verdict] || [];
    return word ? pill(`strong ${kind}`, icon(image), word) : null;
}

/** The state of a file in a few words: live, ended, not connected, or its verdict. */
export function filePill(file) {
    const step = file.step ?? null, at = step === null ? '' : `, step ${step}`;
    if (file.saved) return pill('', `\u25a0 saved${at}`);
    if (connection.status === 'lost') return pill('warn', `\u25cb not connected${at}`);
    if (file.live) return pill('good', `\u25cf live${at || ', no step yet'}`);
    if (file.died) return pill('warn', `\u25a0 process died${at}`);
    if (file.ended) return pill('', `\u25a0 ended${at}`);
    return verdictPill(file.verdict);
}

/** NaN, exploding, dead */
export const alarmWord = (kind) => ({nan: 'NaN', inf: 'Inf'})[kind] || kind;

/** The pill of an alarm: filled if something is not finite, outlined for warnings. */
export const alarmPill = (alarm) => pill(alarm.severity === 'alarm' ? 'alarm' : 'line',
    icon('alarm'), alarmWord(alarm.kind));

function logo() {
    return svgEl('svg', {width: 18, height: 18, viewBox: '0 0 16 16', 'aria-hidden': 'true',
        fill: 'none', 'stroke-width': 1.75},
    svgEl('circle', {cx: 8, cy: 8, r: 7, stroke: 'var(--accent)'}),
    svgEl('path', {d: 'M3.2 10.6C5.6 10.6 6 4.6 8 4.6S10.4 10.6 12.8 10.6',
        stroke: 'var(--text)', 'stroke-linecap': 'round'}));
}

function fileItems() {
    const all = files.size > 1 ? [{text: 'All files', icon: 'table', current: !state.file,
        run: () => go({file: '', view: ''})}, 'line'] : [];
    const some = (value, text) => (value ?? null) !== null && text(value);
    return [...all, ...[...files.values()].map((file) => ({text: file.name, icon: 'details',
        current: file.id === state.file, extra: filePill(file),
        detail: [file.format, some(file.bytes, bytes), some(file.loss, (loss) =>
            `loss ${short(loss)}`)].filter(Boolean).join(', '),
        run: () => go(state.file ? {file: file.id} : {file: file.id, sort: '',
            reverse: false})}))];
}

function alarmLine(alarm) {
    return el('button', {class: 'aline', onclick() {
        closeMenu();
        go({at: alarm.name ?? null, step: alarm.step});
    }}, alarmPill(alarm), el('b', 'cut', alarm.name || 'the run'),
    span('dim grow cut', alarm.text), span('dim', `step ${alarm.step}`));
}

function alarmList(document) {
    const list = document.alarms, more = document.alarms_left_out || 0;
    const columns = document.phases[0] && document.phases[0].columns;
    const steps = columns && columns.columns ? columns.last[columns.columns - 1] : 0;
    return div({class: 'menu alist', role: 'group', aria: {label: 'Alarms'}},
        list.map(alarmLine), list.length ? more > 0 && div('head', `and ${commas(more)} more`) :
            div('head', `No alarm in ${plural(steps, 'step')}`));
}

export function chooseTheme(theme) {
    setTheme(theme);
    keep('theme', theme);
}

export const keptTheme = () => kept('theme');

const link = () => new URL(address(), location.href).href;

/** The command that shows the same in the terminal: torchoscope FILE --at NAME ... */
function command() {
    const file = files.get(state.file), parts = ['torchoscope', word(file.path || file.name)];
    if (state.at) parts.push('--at', word(state.at));
    if (state.filter) parts.push('--filter', word(state.filter));
    if (state.sort) parts.push('--sort', word(state.sort));
    if (state.reverse) parts.push('--reverse');
    if (state.slice) parts.push('--slice', word(state.slice));
    if (state.step !== null) parts.push('--step', state.step);
    return parts.join(' ');
}

copyable(() => [{text: 'Link', value: link}, ...(files.has(state.file) ?
    [{text: 'Command', value: command}] : [])]);

exportable(() => {
    const file = files.get(state.file);
    return isStatic || !file ? [] : (file.forms || []).map((form) => ({text: form,
        run: () => download('export', {file: file.id, form})}));
});

/** A name that loses its middle if there is no room. */
const named = (name) => span({class: 'name', title: name}, span('cut', name.slice(0, -12)),
    span(null, name.slice(-12)));

/** The bar, which is made once and updated. views: the table of app.js. */
export function topbar(views) {
    const fileButton = menu(button({text: 'No file', class: 'file'}), fileItems);
    const status = span({class: 'status', role: 'status'});
    const search = div('search'); // the search puts its list here
    const field = el('input', {type: 'search', placeholder: 'Search', autocomplete: 'off',
        spellcheck: false, aria: {label: 'Search modules, tensors, ops'}});
    const tabs = el('nav', {class: 'tabs', aria: {label: 'Views'}});
    const alarms = button({icon: 'alarm', label: 'Alarms', class: 'ghost alarms off',
        onclick: () => said(async () => {
            const box = popover(alarms, alarmList(await training(files.get(state.file))));
            if (box) box.querySelector('button')?.focus();
        })});
    const copy = menu(button({icon: 'copy', label: 'Copy', class: 'ghost'}), () =>
        copyItems().map((item) => ({...item, run: () => said(async () =>
            copyText(await item.value(), `${item.text} copied`))})));
    const out = menu(button({icon: 'export', label: 'Export', class: 'ghost'}), () => {
        const items = exportItems().map((item) => ({...item, run: () => said(item.run)}));
        return items.length ? items : [{head: 'Nothing to export here'}];
    });
    const theme = button({icon: 'dark', label: 'Dark mode', class: 'ghost', onclick() {
        chooseTheme(isDark() ? 'light' : 'dark');
    }});
    const help = button({icon: 'help', label: 'Keys', class: 'ghost', onclick: showHelp});
    const more = menu(button({icon: 'more', label: 'More', class: 'ghost more'}), () => [
        {text: 'Search', icon: 'search', run: () => field.focus()},
        ...views.filter((one) => files.has(state.file) && one.fits(files.get(state.file)))
            .map((one) => ({text: one.title, icon: one.icon, current: one.id === state.view,
                run: () => go({view: one.id})})),
        ...[copy, out, theme, help].map((one) => ({text: one.ariaLabel, run: () =>
            setTimeout(() => one.onmenu ? one.onmenu(more) : one.click())}))]);
    const glass = icon('search'); // all that is seen of it in a narrow bar
    glass.onclick = () => field.focus();
    search.append(glass, field, el('kbd', null, '/'));
    const heading = el('h1', 'away');
    const bar = el('header', 'top', heading, button({icon: 'table', label: 'Modules', class:
        'ghost drawer', onclick: () => document.body.classList.toggle('treeopen')}),
    span('brand', logo(), span(null, 'torchoscope')), fileButton,
    status, search, span('grow'), tabs, alarms, copy, out, theme, help, more);

    bind({keys: ['/', 'Ctrl+F'], where: 'Page', what: 'search', run: () => field.focus()});
    bind({keys: ['?'], where: 'Page', what: 'these keys', run: showHelp});
    bind({keys: ['y'], where: 'Page', what: 'copy the link', run: () =>
        copyText(link(), 'Link copied')});
    bind({keys: ['!'], where: 'Page', what: 'alarms', run: () => alarms.click()});
    field.addEventListener('keydown', (event) => event.key === 'Escape' && field.blur());

    function update() {
        const file = files.get(state.file), shown = file ? views.filter((one) =>
            one.fits(file)) : [];
        put(fileButton, file ? named(file.name) : files.size > 1 ? plural(files.size, 'file') :
            'No file', icon('down'));
        const now = file && filePill(file), n = file && file.alarms || 0;
        const isVerdict = now?.classList.contains('strong') &&
            views.some((one) => one.id === 'safety');
        put(status, file?.saved ? menu(el('button', {class: 'bare',
            title: 'What is in this page'}, now), () => [{head: 'This page is a file. It has'},
            ...contents().map((head) => ({head: `\u00b7 ${head}`}))]) : isVerdict ?
            el('button', {class: 'bare', title: 'What loading would do',
                onclick: () => go({view: 'safety'})}, now) : now);
        put(tabs, shown.filter((one) => !one.hidden).map((one) => button({
            text: one.title, icon: one.icon, class: one.id === state.view ? 'on' : 'ghost',
            onclick: () => go({view: one.id}),
            aria: {current: one.id === state.view ? 'page' : null}})));
        alarms.classList.toggle('off', !file || !file.has.includes('history'));
        put(alarms, n ? pill('alarm', icon('alarm'), commas(n)) : icon('alarm'));
        alarms.ariaLabel = plural(n, 'alarm');
        put(theme, icon(isDark() ? 'light' : 'dark'));
        theme.ariaLabel = isDark() ? 'Light mode' : 'Dark mode';
        field.placeholder = shown.length > 4 ? 'Search' : 'Search modules, tensors, ops';
        heading.textContent = document.title = file ? `${file.name} - torchoscope` : 'torchoscope';
    }

    return {bar, search, field, tabs, update};
}
