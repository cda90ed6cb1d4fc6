
/* --- search.js: find boxes by name, class, argument or path, folded ones too. */

let field, found, words = null, hitAt = -1;

/** What is searched of each box, made at the first search. */
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
    hits = [];
    hitAt = -1;
    if (wantedText)
        searchTexts().forEach((text, i) => {
            if (i > 0 && text.includes(wantedText)) hits.push(i);
        });
    sayFound();
    paintLater();
}

function sayFound() {
    const count = hits.length.toLocaleString('en');
    const all = (box.n - 1).toLocaleString('en');
    if (!field.value.trim()) found.textContent = '';
    else if (!hits.length) found.textContent = `not in ${all} boxes`;
    else found.textContent = hitAt < 0 ? `${count} found` : `${hitAt + 1} of ${count}`;
}

/** Go to the next match, or with -1 to the one before. */
function nextHit(by) {
    if (!hits.length) return;
    hitAt = hitAt < 0 && by < 0 ? hits.length - 1
        : (hitAt + by + hits.length) % hits.length;
    goToBox(hits[hitAt]);
    sayFound();
}

function clearSearch() {
    field.value = '';
    search();
}

function makeSearch() {
    const label = make('label', 'search');
    field = make('input');
    field.type = 'search';
    field.placeholder = 'Search';
    field.setAttribute('aria-label', 'Search boxes');
    found = make('span', 'dim');
    found.setAttribute('role', 'status');
    field.oninput = search;
    field.onkeydown = (event) => {
        if (event.key === 'Enter') nextHit(event.shiftKey ? -1 : 1);
        if (event.key === 'Escape') clearSearch();
        if (event.key === 'Escape' || event.key === 'ArrowDown') stage.focus();
        event.stopPropagation();
    };
    label.append(icon('M6 1.5a4.5 4.5 0 1 1 0 9a4.5 4.5 0 1 1 0-9M9.5 9.5l3 3'), field,
        make('kbd', '', '/'));
    return [found, label];
}
