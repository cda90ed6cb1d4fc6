/* topbar.js - logo, file menu, pill, search, views, alarms, copy, export, theme, help. */

import {copyItems, copyable, exportItems, exportable} from './actions.js';
import {contents, download, isStatic} from './api.js';
import {button, copyText, el, icon, menu, popover, closeMenu, svgEl, toast} from './dom.js';
import {isDark, setTheme} from './draw.js';
import {bind, showHelp} from './keys.js';
import {connection, files} from './live.js';
import {training} from './model.js';
import {address, go, state} from './state.js';
import {bytes, commas, plural, short} from './text.js';

/** Verdict -> class of its pill, its sign, its words. */
export const VERDICTS = {
    safe: ['good', 'check', 'SAFE'], 'needs code': ['warn', 'bang', 'NEEDS CODE'],
    unsafe: ['alarm', 'cross', 'UNSAFE'], inconclusive: ['line', 'question', 'INCONCLUSIVE'],
};

const pill = (kind, ...content) => el('span', `pill ${kind}`, content);

/** Or null, if it is none. */
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
    return [...all, ...[...files.values()].map((file) => ({text: file.name, icon: 'details',
        current: file.id === state.file, extra: filePill(file),
        detail: [file.format, file.bytes === undefined || file.bytes === null ? '' :
            bytes(file.bytes), file.loss === undefined || file.loss === null ? '' :
            `loss ${short(file.loss)}`].filter(Boolean).join(', '),
        run: () => go(state.file ? {file: file.id} : {file: file.id, sort: '',
            reverse: false})}))];
}

function alarmLine(alarm) {
    return el('button', {type: 'button', class: 'aline', onclick() {
        closeMenu();
        go({at: alarm.name ?? null, step: alarm.step});
    }}, alarmPill(alarm), el('b', 'cut', alarm.name || 'the run'),
    el('span', 'dim grow cut', alarm.text), el('span', 'dim', `step ${alarm.step}`));
}

function alarmList(document) {
    const list = document.alarms, more = document.alarms_left_out || 0;
    const columns = document.phases[0] && document.phases[0].columns;
    const steps = columns && columns.columns ? columns.last[columns.columns - 1] : 0;
    if (!list.length) return el('div', 'menu alist', el('div', 'head',
        `No alarm in ${plural(steps, 'step')}`));
    return el('div', {class: 'menu alist', role: 'group', aria: {label: 'Alarms'}},
        list.map(alarmLine), more ? el('div', 'head', `and ${commas(more)} more`) : null);
}

export function chooseTheme(theme) {
    setTheme(theme);
    try {
        localStorage.setItem('torchoscope-theme', theme);
    } catch { /* then only until the page is loaded again */ }
}

export function keptTheme() {
    try {
        return localStorage.getItem('torchoscope-theme') || '';
    } catch {
        return '';
    }
}

const link = () => new URL(address(), location.href).href;
const word = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What the terminal shows of the same: torchoscope FILE --at NAME ... */
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

async function copyItem(item) {
    try {
        await copyText(await item.value(), `${item.text} copied`);
    } catch (error) {
        toast(error.message);
    }
}

/** The bar. views: those that fit the file; it is made once and updated. */
export function topbar(views) {
    const fileButton = menu(button({text: 'No file', class: 'file'}), fileItems);
    const status = el('span', {class: 'status', role: 'status'});
    const search = el('div', 'search'); // the search puts its list here
    const field = el('input', {type: 'search', placeholder: 'Search', autocomplete: 'off',
        spellcheck: false, aria: {label: 'Search modules, tensors, ops'}});
    const tabs = el('nav', {class: 'tabs', aria: {label: 'Views'}});
    const alarms = button({icon: 'alarm', label: 'Alarms', class: 'ghost alarms off',
        async onclick() {
            const file = files.get(state.file);
            try {
                const box = popover(alarms, alarmList(await training(file)));
                if (box) box.querySelector('button')?.focus();
            } catch (error) {
                toast(error.message);
            }
        }});
    const copy = menu(button({icon: 'copy', label: 'Copy', class: 'ghost'}), () =>
        copyItems().map((item) => ({...item, run: () => copyItem(item)})));
    const out = menu(button({icon: 'export', label: 'Export', class: 'ghost'}), () => {
        const items = exportItems();
        return items.length ? items.map((item) => ({...item, run: async () => {
            try {
                await item.run();
            } catch (error) {
                toast(error.message);
            }
        }})) : [{head: 'Nothing to export here'}];
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
    search.append(icon('search'), field, el('kbd', null, '/'));
    const heading = el('h1', 'away');
    const bar = el('header', 'top', heading, button({icon: 'table', label: 'Modules', class:
        'ghost drawer', onclick: () => document.body.classList.toggle('treeopen')}),
    el('span', 'brand', logo(), el('span', null, 'torchoscope')), fileButton,
    status, search, el('span', 'grow'), tabs, alarms, copy, out, theme, help, more);

    bind({keys: ['/', 'Ctrl+F'], where: 'Page', what: 'search', run: () => field.focus()});
    bind({keys: ['?'], where: 'Page', what: 'these keys', run: showHelp});
    bind({keys: ['y'], where: 'Page', what: 'copy the link', run: () =>
        copyText(link(), 'Link copied')});
    bind({keys: ['!'], where: 'Page', what: 'alarms', run: () => alarms.click()});
    field.addEventListener('keydown', (event) => event.key === 'Escape' && field.blur());

    function update() {
        const file = files.get(state.file), shown = file ? views.filter((one) =>
            one.fits(file)) : [];
        fileButton.replaceChildren(el('span', 'cut', file ? file.name : files.size > 1 ?
            plural(files.size, 'file') : 'No file'),
            icon('down'));
        status.replaceChildren();
        const now = file && filePill(file);
        const isVerdict = now && now.classList.contains('strong');
        if (file?.saved) status.append(menu(el('button', {type: 'button', class: 'bare',
            title: 'What is in this page'}, now), () => [{head: 'This page is a file. It has'},
            ...contents().map((head) => ({head: `\u00b7 ${head}`}))]));
        else if (now) status.append(isVerdict && views.some((one) => one.id === 'safety') ?
            el('button', {type: 'button', class: 'bare', title: 'What loading would do',
                onclick: () => go({view: 'safety'})}, now) : now);
        tabs.replaceChildren(...shown.filter((one) => !one.hidden).map((one) => button({
            text: one.title, icon: one.icon, class: one.id === state.view ? 'on' : 'ghost',
            onclick: () => go({view: one.id}),
            aria: {current: one.id === state.view ? 'page' : null}})));
        const n = file && file.alarms || 0;
        alarms.classList.toggle('off', !file || !file.has.includes('history'));
        alarms.replaceChildren(n ? pill('alarm', icon('alarm'), commas(n)) : icon('alarm'));
        alarms.ariaLabel = plural(n, 'alarm');
        theme.replaceChildren(icon(isDark() ? 'light' : 'dark'));
        theme.ariaLabel = isDark() ? 'Light mode' : 'Dark mode';
        field.placeholder = shown.length > 4 ? 'Search' : 'Search modules, tensors, ops';
        document.title = file ? `${file.name} - torchoscope` : 'torchoscope';
        heading.textContent = document.title;
    }

    return {bar, search, field, tabs, update};
}
