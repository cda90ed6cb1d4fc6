
/* --- fold.js: which groups are open, which box is the root, which box is current. */

let opened; // by box: 1 is open
let current = NONE; // has the keys
let selected = NONE, hovered = NONE;
let lit = null; // {boxes, lines} that keep their colour; null: all do
let byKey = false; // the current box was reached with the keyboard
let hits = []; // boxes that the search found

const isOpen = (i) => opened[i] === 1 && isGroup(i);

/** Place and draw anew: something was opened or folded, or the root is another. */
function arrange(root = scene ? scene.root : 0) {
    makeScene(root);
    makeHeat();
    hovered = NONE;
    if (current !== NONE) current = shownFor(current);
    if (selected !== NONE) selected = shownFor(selected);
    stage.classList.toggle('painted', scene.painted);
    drawScene();
    drawMinimap();
    drawLegend();
    labelFoldButton();
    relight();
    paintLater();
}

/* --- Opening and folding */

/** Set some groups; the box `keep` stays under the pointer or where it was. */
function setOpen(list, open, keep, pointer) {
    const before = keep !== NONE && box.w[keep] ? toStage(box.x[keep], box.y[keep])
        : null;
    const places = seenPlaces();
    for (const i of list) opened[i] = open ? 1 : 0;
    arrange();
    const anchor = keep === NONE ? NONE : shownFor(keep);
    if (!before || anchor === NONE) return;
    view.x = box.x[anchor] - before.x / view.zoom;
    view.y = box.y[anchor] - before.y / view.zoom;
    if (pointer) keepUnder(anchor, pointer);
    holdView();
    slideFrom(places);
    announce();
    saveState();
}

/** If the pointer is no longer over the box, its middle goes there. */
function keepUnder(b, pointer) {
    const at = toGraph(pointer.x, pointer.y), w = box.w[b];
    const h = isOpen(b) ? bandHeight(view.zoom) : box.h[b];
    if (at.x < box.x[b] || at.x > box.x[b] + w) view.x += box.x[b] + w / 2 - at.x;
    if (at.y < box.y[b] || at.y > box.y[b] + h) view.y += box.y[b] + h / 2 - at.y;
}

function toggle(b, pointer) {
    if (isGroup(b) && b !== scene.root) setOpen([b], !isOpen(b), b, pointer);
}

/** All groups inside, at any depth. */
function groupsIn(root) {
    const list = [];
    for (let i = root + 1; i < box.end[root]; i++) if (isGroup(i)) list.push(i);
    return list;
}

function toggleMany(list) {
    if (list.length)
        setOpen(list, !list.every(isOpen), current === NONE ? list[0] : current);
}

const withBelow = (list) => list.flatMap((b) => [b, ...groupsIn(b)]);

const toggleAll = () => toggleMany(groupsIn(scene.root));
const allOpen = () => groupsIn(scene.root).every(isOpen);

/** Groups beside the current one. */
function siblings() {
    return current === NONE ? [] : inside(box.parent[current]).filter(isGroup);
}

/** Shown groups of the current one's class. */
function sameClass() {
    if (current === NONE || !isGroup(current)) return [];
    const className = (b) => textOf(box.words, b).split('\n')[0];
    const wanted = className(current);
    return [...scene.frames, ...scene.nodes]
        .filter((b) => isGroup(b) && className(b) === wanted);
}

/* --- Going in and up */

function goIn(b) {
    if (!isGroup(b)) return;
    const from = current;
    opened[b] = 1;
    current = selected = NONE;
    arrange(b);
    arriveAt(startView());
    drawPath();
    if (from !== NONE) setCurrent(scene.nodes[0] ?? NONE, true);
    saveState();
}

function goTo(root) {
    const inner = scene.root;
    current = selected = NONE;
    arrange(root);
    drawPath();
    Object.assign(view, startView());
    const at = shownFor(inner);
    if (at !== NONE) {
        setCurrent(at, true);
        reveal(at, true);
    }
    saveState();
}

const goUp = () => scene.root !== 0 && goTo(box.parent[scene.root]);

/** Show a box wherever it is: open what is around it, bring it into view. */
function goToBox(b) {
    if (!contains(scene.root, b) || b === scene.root) {
        arrange(0);
        drawPath();
    }
    let changed = false;
    for (let at = box.parent[b]; at > scene.root; at = box.parent[at])
        if (!opened[at]) {
            opened[at] = 1;
            changed = true;
        }
    if (changed) arrange();
    setCurrent(b, true);
    reveal(b, true);
    saveState();
}

/* --- Current, selected, lit */

function setCurrent(b, key) {
    current = b;
    byKey = Boolean(key) && b !== NONE;
    if (b !== NONE) selected = b;
    announce();
    relight();
    paintLater();
}

/** Tell a screen reader which box is current. */
function announce() {
    const now = document.getElementById('now');
    now.setAttribute('aria-label', current === NONE ? '' : fullName(current));
    if (current === NONE) stage.removeAttribute('aria-activedescendant');
    else stage.setAttribute('aria-activedescendant',
        scene.painted ? 'now' : `b${current}`);
}

/** The box's lines, their other ends, and the frames around it. */
function litBy(b) {
    const lines = new Set(), boxes = new Set([b]), {from, to} = scene.lines;
    const add = (i) => {
        lines.add(i);
        boxes.add(from[i]).add(to[i]);
    };
    if (isOpen(b)) {
        for (let i = 0; i < scene.lines.n; i++)
            if (contains(b, from[i]) || contains(b, to[i])) add(i);
        for (let i = b; i < box.end[b]; i++) boxes.add(i);
    } else (scene.linesOf.get(b) ?? []).forEach(add);
    for (let at = box.parent[b]; at > scene.root; at = box.parent[at]) boxes.add(at);
    return {boxes, lines};
}

function relight() {
    const b = hovered !== NONE ? hovered
        : byKey && document.activeElement === stage ? current : NONE;
    lit = b === NONE ? null : litBy(b);
    if (!scene.painted) lightSvg(lit);
    paintLater();
}

/** Boxes that show matches; kept until the scene or the search changes. */
function shownHits() {
    if (scene.hitsOf !== hits) {
        scene.hitsOf = hits;
        scene.shownHits = [...new Set(hits.map(shownFor))]
            .filter((b) => b !== NONE);
    }
    return scene.shownHits;
}

/** Rings: matches of the search, the selected box, the one with the keys. */
function rings() {
    const list = [], area = visibleArea();
    for (const b of shownHits()) {
        if (list.length >= MANY) break;
        if (inArea(b, area)) list.push({b, className: 'hit', out: 2});
    }
    if (selected !== NONE) list.push({b: selected, className: 'selected', out: 1});
    if (byKey && current !== NONE && document.activeElement === stage)
        list.push({b: current, className: 'focus', out: 5});
    return list;
}

/* --- The address: which root, what is open, where the view is. A page in a frame may
       have no address to write to. */

let saving = 0;

function saveState() {
    clearTimeout(saving);
    saving = setTimeout(() => {
        const changed = groupsIn(0).filter((i) => (opened[i] === 1) !== startsOpen(i));
        const parts = [];
        if (scene.root) parts.push(`at=${scene.root}`);
        if (changed.length && changed.length < 200)
            parts.push(`open=${changed.join('.')}`);
        parts.push(`view=${[view.x, view.y].map(Math.round)},${view.zoom.toFixed(3)}`);
        try {
            history.replaceState(null, '', `#${parts.join('&')}`);
        } catch {
            return; // sandboxed
        }
    }, 300);
}

const startsOpen = (i) => (box.flags[i] & FLAG_OPEN) !== 0;

/** The root and the view of the address; wrong numbers are ignored. */
function loadState() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const valid = (i) => Number.isInteger(i) && i >= 0 && i < box.n && isGroup(i);
    for (const i of (parts.get('open') ?? '').split('.').map(Number))
        if (parts.get('open') && valid(i)) opened[i] ^= 1;
    const root = Number(parts.get('at') ?? 0);
    const [x, y, zoom] = (parts.get('view') ?? '').split(',').map(Number);
    const good = [x, y, zoom].every(Number.isFinite) && zoom > 0;
    return {root: valid(root) ? root : 0,
        view: good ? {x, y, zoom: holdZoom(zoom)} : null};
}
