
/* --- keys.js: everything by keyboard, and the page that lists the keys. */

const KEYS_HELP = [
    ['\u2191 \u2193 \u2190 \u2192', 'along the lines; to boxes beside, to the frame'],
    ['Enter', 'go into a folded box; fold an open one'], ['Backspace', 'go up'],
    ['z', 'open or fold in place'], ['Z', 'open or fold everything'],
    ['s S', 'open or fold siblings; and all below them'],
    ['o O', 'open or fold the same class; and all below'],
    ['Space', 'fit the whole graph'], ['+ \u2212 0', 'zoom in, out, 100%'],
    ['h j k l', 'move the picture'], ['/', 'search'],
    ['n N', 'next match, the one before'],
    ['y', 'copy the path of the box'], ['?', 'this help'], ['Esc', 'close, clear']];

/* --- Walking */

/** Shown boxes at the other ends of the current one's lines. */
function alongLines(forward) {
    const {from, to} = scene.lines, list = [];
    for (const i of scene.linesOf.get(current) ?? []) {
        const here = forward ? from[i] : to[i], there = forward ? to[i] : from[i];
        if (here === current && there !== current && there !== scene.root)
            list.push(there);
    }
    return list;
}

const middleY = (b) => box.y[b] + box.h[b] / 2;
/** Across the direction of the lines: who is beside whom. */
const across = (b) => (data.sideways ? middleY(b) : middleX(b));

/** The one nearest to straight ahead. */
function nearest(list) {
    const along = (b) => (data.sideways ? box.x[b] : box.y[b]);
    const away = (b) => Math.abs(across(b) - across(current)) +
        Math.abs(along(b) - along(current)) / 4;
    return list.reduce((best, b) =>
        (best === NONE || away(b) < away(best) ? b : best), NONE);
}

function walk(forward) {
    let next = NONE;
    if (current === NONE) next = scene.nodes[0] ?? NONE;
    else if (isOpen(current))
        next = forward ? inside(current)[0] : before(current);
    else {
        next = nearest(alongLines(forward));
        if (next === NONE) next = forward ? after(current) : before(current);
    }
    go(next);
}

/** The sibling after it in the order of running, or after its group. */
function after(b) {
    for (let at = b; at !== scene.root; at = box.parent[at])
        if (box.end[at] < box.end[box.parent[at]]) return box.end[at];
    return NONE;
}

/** The sibling before it, or the frame around it. */
function before(b) {
    const list = inside(box.parent[b]), at = list.indexOf(b);
    if (at > 0) return list[at - 1];
    return box.parent[b] === scene.root ? NONE : box.parent[b];
}

/** Siblings in another column. */
function apart(right) {
    const [from, size] = data.sideways ? [box.y, box.h] : [box.x, box.w];
    const near = from[current], far = near + size[current];
    return inside(box.parent[current]).filter((b) =>
        (right ? from[b] >= far : from[b] + size[b] <= near));
}

/** Boxes beside the current one; at the left end the frame around it. */
function beside(right) {
    if (current === NONE) {
        walk(true);
        return;
    }
    if (isOpen(current) && right) {
        go(inside(current)[0]);
        return;
    }
    const [from, size] = data.sideways ? [box.x, box.w] : [box.y, box.h];
    const overlap = (b) => from[b] < from[current] + size[current] &&
        from[b] + size[b] > from[current];
    const list = inside(box.parent[current]).filter((b) =>
        b !== current && overlap(b) &&
        (right ? across(b) > across(current) : across(b) < across(current)));
    let next = nearest(list.length ? list : apart(right));
    if (next === NONE && !right && box.parent[current] !== scene.root)
        next = box.parent[current];
    go(next);
}

/** Lines run down, or to the right in a graph that is drawn sideways. */
function arrow(upright, forward) {
    if (upright === !data.sideways) walk(forward);
    else beside(forward);
}

function go(b) {
    if (b === NONE) return;
    setCurrent(b, true);
    reveal(b);
    tipLater(b);
}

/* --- Keys */

function enter() {
    if (current === NONE) return;
    if (isOpen(current)) toggle(current);
    else if (isGroup(current)) goIn(current);
    else showTip(current);
}

function escape() {
    if (!help.hidden) toggleHelp();
    else if (!tip.hidden) hideTip();
    else if (hits.length) clearSearch();
    else {
        setCurrent(NONE);
        selected = NONE;
    }
    paintLater();
}

async function copyPath() {
    if (current === NONE) return;
    try {
        await navigator.clipboard.writeText(idOf(current));
        say(`copied ${idOf(current)}`);
    } catch {
        say(idOf(current)); // a page in a frame may not write to the clipboard
    }
}

const STEP = 60; // px

const keys = {
    ArrowDown: () => arrow(true, true), ArrowUp: () => arrow(true, false),
    ArrowRight: () => arrow(false, true), ArrowLeft: () => arrow(false, false),
    Enter: enter, Backspace: goUp, Escape: escape, ' ': fit,
    '+': () => zoomMiddle(1.25), '=': () => zoomMiddle(1.25),
    '-': () => zoomMiddle(0.8), 0: () => zoomMiddle(1 / view.zoom),
    z: () => current !== NONE && toggle(isGroup(current) ? current
        : box.parent[current]),
    Z: toggleAll,
    s: () => toggleMany(siblings()), S: () => toggleMany(withBelow(siblings())),
    o: () => toggleMany(sameClass()), O: () => toggleMany(withBelow(sameClass())),
    h: () => panBy(-STEP, 0), l: () => panBy(STEP, 0),
    k: () => panBy(0, -STEP), j: () => panBy(0, STEP),
    '/': () => field.select(), n: () => nextHit(1), N: () => nextHit(-1),
    y: copyPath, '?': toggleHelp,
};

function press(event) {
    const {key} = event, own = event.target.closest('button,select,input,a');
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(keys, key))
        return;
    if (own && (own.tagName !== 'BUTTON' || key === 'Enter' || key === ' ')) return;
    event.preventDefault();
    if (!help.hidden && key !== 'Escape' && key !== '?') toggleHelp();
    if (key !== '/' && key !== '?') stage.focus({preventScroll: true});
    if (key !== 'Escape' && key !== 'Enter') hideTip();
    keys[key](event);
}

/* --- Help */

let help;

function makeHelp() {
    help = make('div', 'help');
    help.setAttribute('role', 'dialog');
    help.setAttribute('aria-label', 'Keys');
    help.tabIndex = -1;
    help.hidden = true;
    const list = make('dl');
    for (const [key, what] of KEYS_HELP) {
        const term = make('dt');
        key.split(' ').forEach((one) => term.append(make('kbd', '', one)));
        list.append(term, make('dd', '', what));
    }
    help.append(make('b', '', 'Keys'), list, make('p', 'dim',
        'Mouse: click a title or a chevron to fold and open, double-click a folded ' +
        'box to go in, drag to move, wheel to zoom.'));
    return help;
}

/** The focus goes to the list, so that a screen reader reads it, and back. */
function toggleHelp() {
    help.hidden = !help.hidden;
    (help.hidden ? stage : help).focus({preventScroll: true});
}
