/* search.js - find boxes by name, class, argument or path, folded ones too. Matches
   are marked in the graph and listed below the field. */

import {icon, make} from './elements.js';
import {goToBox} from './fold.js';
import {box, data, idOf, textOf} from './graph_data.js';
import {hits, setHits} from './marks.js';
import {classOf} from './tips.js';
import {stage} from './view.js';

const LISTED = 20; // of each kind

export let field;
let found, results, words = null, hitAt = -1;

/** The searched texts of each box, made at the first search. */
function searchTexts() {
    if (!words) {
        words = new Array(box.n);
        for (let i = 0; i < box.n; i++)
            words[i] = [textOf(box.full, i), textOf(box.words, i), idOf(i)]
                .join('\n').toLowerCase();
    }
    return words;
}

function search() {
    const wantedText = field.value.trim().toLowerCase();
    hitAt = -1;
    setHits(!wantedText ? [] : searchTexts().flatMap((text, i) =>
        (i > 0 && text.includes(wantedText) ? [i] : [])));
    sayFound();
    listResults();
}

function sayFound() {
    const count = hits.length.toLocaleString('en');
    const all = (box.n - 1).toLocaleString('en');
    if (!field.value.trim()) found.textContent = '';
    else if (!hits.length) found.textContent = `not in ${all} boxes`;
    else found.textContent = hitAt < 0 ? `${count} found`
        : `${(hitAt + 1).toLocaleString('en')} of ${count}`;
}

/* --- Going to matches */

function goToHit(at) {
    hitAt = at;
    goToBox(hits[at]);
    sayFound();
    showResults(false);
}

/** Go to the next match, or with -1 to the one before. */
export function nextHit(by) {
    if (hits.length)
        goToHit(hitAt < 0 && by < 0 ? hits.length - 1
            : (hitAt + by + hits.length) % hits.length);
}

export function clearSearch() {
    field.value = '';
    search();
}

/* --- The list */

const isModule = (b) => ['module', 'repeat'].includes(data.kinds[box.kind[b]]);

/** Modules, then operations: the first of each, and a count of the rest. */
function listResults() {
    const kinds = [['Modules', true], ['Operations', false]];
    results.replaceChildren();
    for (const [title, wantsModule] of kinds) {
        const list = [];
        hits.forEach((b, at) => isModule(b) === wantsModule && list.push(at));
        if (!list.length) continue;
        const part = make('div');
        part.setAttribute('role', 'group');
        part.setAttribute('aria-label', title);
        part.append(make('p', 'kind', title));
        list.slice(0, LISTED).forEach((at) => part.append(makeResult(at)));
        if (list.length > LISTED)
            part.append(make('p', 'kind',
                `and ${(list.length - LISTED).toLocaleString('en')} more: n goes on`));
        results.append(part);
    }
    showResults(hits.length > 0);
}

function makeResult(at) {
    const b = hits[at], item = make('div', 'result'), path = idOf(box.parent[b]);
    item.id = `hit${at}`;
    item.dataset.at = at;
    item.setAttribute('role', 'option');
    item.append(make('b', '', textOf(box.full, b)), ' ', classOf(b));
    if (path) item.append(make('span', 'where', path));
    item.onclick = () => goToHit(at);
    return item;
}

function showResults(open) {
    results.hidden = !open;
    field.setAttribute('aria-expanded', String(open));
    choose(null);
}

/** The result that Enter takes. */
function choose(item) {
    results.querySelector('.chosen')?.classList.remove('chosen');
    field.removeAttribute('aria-activedescendant');
    if (!item) return;
    item.classList.add('chosen');
    item.scrollIntoView({block: 'nearest'});
    field.setAttribute('aria-activedescendant', item.id);
}

function chooseNext(by) {
    if (!hits.length) return;
    if (results.hidden) showResults(true);
    const items = [...results.querySelectorAll('.result')];
    const at = items.findIndex((item) => item.classList.contains('chosen'));
    choose(items[at < 0 && by < 0 ? items.length - 1
        : (at + by + items.length) % items.length]);
}

/* --- The field */

function searchKey(event) {
    const chosen = results.querySelector('.chosen');
    event.stopPropagation();
    if (event.key === 'Enter' && chosen) goToHit(Number(chosen.dataset.at));
    else if (event.key === 'Enter') nextHit(event.shiftKey ? -1 : 1);
    else if (event.key === 'ArrowDown') chooseNext(1);
    else if (event.key === 'ArrowUp') chooseNext(-1);
    else if (event.key === 'Escape') {
        clearSearch();
        stage.focus();
    } else return;
    event.preventDefault();
}

export function makeSearch() {
    const around = make('div', 'finder'), label = make('label', 'search');
    field = make('input');
    field.type = 'search';
    field.placeholder = 'Search';
    for (const [name, value] of [['aria-label', 'Search boxes'], ['role', 'combobox'],
        ['aria-autocomplete', 'list'], ['aria-expanded', 'false'],
        ['aria-controls', 'results'], ['autocomplete', 'off']])
        field.setAttribute(name, value);
    found = make('span', 'found');
    found.setAttribute('role', 'status');
    results = make('div', 'results');
    results.id = 'results';
    results.setAttribute('role', 'listbox');
    results.setAttribute('aria-label', 'Matches');
    results.hidden = true;
    results.onpointerdown = (event) => event.preventDefault(); // the field keeps focus
    field.oninput = search;
    field.onkeydown = searchKey;
    field.onblur = () => showResults(false);
    label.append(icon('M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M9.5 9.5l3 3'), field,
        found, make('kbd', '', '/'));
    around.append(label, results);
    return around;
}
