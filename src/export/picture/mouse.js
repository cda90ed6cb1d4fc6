/* mouse.js - pointers: hover, click, drag, wheel, two fingers. */

import {CHEVRON, INSET, barHeight, shapeOf} from './dress.js';
import {make} from './elements.js';
import {about, changed, clearCurrent, goIn, hoverOn, hovered, relight, setCurrent, tensorName,
    toggle} from './fold.js';
import {NONE, PILL, box, isGroup, isOpen, nameOf} from './graph_data.js';
import {listen, options} from './mount.js';
import {boxAt} from './scene.js';
import {hideTip, tipLater} from './tips.js';
import {panBy, stage, toGraph, toStage, view, zoomAt} from './view.js';

const FINGER = 44; // px: tolerance of a finger
const SLOP = 4; // px: a press that moves less is a click

const pointers = new Map(); // that are down: {x, y}
let pressed = null; // {x, y, moved}
let pinch = 0; // distance of two fingers

/** Where on the stage. */
function position(event) {
    const rect = stage.getBoundingClientRect();
    return {x: event.clientX - rect.left, y: event.clientY - rect.top};
}

function boxUnder(event) {
    const at = position(event), point = toGraph(at.x, at.y);
    return boxAt(point.x, point.y);
}

/** On the chevron of a folded box? */
function onChevron(b, at, touch) {
    const point = toGraph(at.x, at.y);
    const reach = Math.max(INSET + CHEVRON, touch ? FINGER / view.zoom : 0);
    return point.x - box.x[b] < reach && shapeOf(b) === 'box';
}

const isControl = (event) => event.target.closest('.tip,.corner,.help');

/** A box can be dragged elsewhere, as the name of its module or tensor: a part of the page
    that lies over it is what the browser drags. */
export let handle;

export function makeHandle() {
    handle = make('div', 'handle');
    handle.draggable = true;
    handle.ondragstart = (event) => {
        pointers.clear();
        hideTip();
        event.dataTransfer.effectAllowed = 'copy';
        for (const type of ['text/plain', 'application/x-torchoscope-place'])
            event.dataTransfer.setData(type, handle.dataset.name);
        options.onDrag?.(handle.dataset.name);
    };
    handle.hidden = true;
    return handle;
}

export function placeHandle(b) {
    const name = b === NONE ? '' : nameOf(b) || tensorName(b);
    handle.hidden = !options.onDrag || !name;
    if (handle.hidden) return;
    const at = toStage(box.x[b], box.y[b]);
    handle.dataset.name = handle.textContent = name;
    Object.assign(handle.style, {left: `${at.x}px`, top: `${at.y}px`,
        width: `${box.w[b] * view.zoom}px`, height: `${barHeight(b) * view.zoom}px`});
}

function pointerDown(event) {
    if (isControl(event) || event.button > 0) return;
    if (event.target === handle) {
        pressed = {...position(event), moved: false};
        pointers.set(event.pointerId, pressed);
        return;
    }
    const at = position(event);
    pointers.set(event.pointerId, at);
    stage.setPointerCapture(event.pointerId);
    pressed = pointers.size === 1 ? {...at, moved: false} : null;
    pinch = 0;
}

function pointerMove(event) {
    const at = position(event), before = pointers.get(event.pointerId);
    if (!before) {
        if (!isControl(event)) {
            hover(boxUnder(event));
            placeHandle(event.pointerType === 'mouse' ? hovered : NONE);
        }
        return;
    }
    if (event.target === handle) return;
    pointers.set(event.pointerId, at);
    if (pointers.size === 2) {
        movePinch();
        return;
    }
    if (!pressed) return;
    if (!pressed.moved && Math.hypot(at.x - pressed.x, at.y - pressed.y) < SLOP) return;
    if (!pressed.moved) {
        pressed.moved = true;
        hover(NONE);
        hideTip();
        stage.classList.add('drag');
    }
    panBy(before.x - at.x, before.y - at.y);
}

function movePinch() {
    const [a, b] = [...pointers.values()], now = Math.hypot(a.x - b.x, a.y - b.y);
    if (pinch > 0) zoomAt(now / pinch, (a.x + b.x) / 2, (a.y + b.y) / 2);
    pinch = now;
}

function pointerUp(event) {
    if (!pointers.delete(event.pointerId)) return;
    stage.classList.remove('drag');
    const click = pressed && !pressed.moved;
    pressed = null;
    pinch = 0;
    if (click) clicked(event);
    else changed();
}

function clicked(event) {
    const b = boxUnder(event), at = position(event);
    const touch = event.pointerType === 'touch';
    stage.focus({preventScroll: true});
    options.onPress?.();
    if (b === NONE) clearCurrent();
    else setCurrent(b, false);
    if (touch) tipLater(b); // no hover
    if (b === NONE) hideTip();
    else if (isOpen(b)) toggle(b, at);
    else if (isGroup(b) && (onChevron(b, at, touch) || box.shape[b] === PILL))
        toggle(b, at);
}

function doubleClicked(event) {
    if (isControl(event)) return;
    const b = boxUnder(event);
    if (b !== NONE && isGroup(b) && !isOpen(b) && !onChevron(b, position(event))) {
        hideTip();
        goIn(b);
    }
}

function hover(b) {
    const pointer = b !== NONE && (isOpen(b) || isGroup(b)) ? 'pointer' : '';
    stage.style.cursor = pointer;
    if (b === hovered) return;
    hoverOn(b);
    options.onHover?.(about(b));
    tipLater(b);
    relight();
}

/** Wheel: zoom about the pointer; a touchpad's sideways part and Shift pan. */
function wheel(event) {
    if (isControl(event)) return;
    event.preventDefault();
    const at = position(event), unit = event.deltaMode === 1 ? 16 : 1;
    hideTip();
    if (event.shiftKey) panBy((event.deltaY + event.deltaX) * unit, 0);
    else {
        if (event.deltaX) panBy(event.deltaX * unit, 0);
        if (event.deltaY) {
            const by = Math.max(-200, Math.min(200, event.deltaY * unit));
            zoomAt(Math.exp(-by * (event.ctrlKey ? 0.01 : 0.002)), at.x, at.y);
        }
    }
    changed();
}

export function listenToPointers() {
    listen(stage, 'pointerdown', pointerDown);
    listen(stage, 'pointermove', pointerMove);
    listen(stage, 'pointerup', pointerUp);
    listen(stage, 'pointercancel', pointerUp);
    listen(stage, 'pointerleave', () => hover(NONE));
    listen(stage, 'dblclick', doubleClicked);
    listen(stage, 'wheel', wheel, {passive: false});
}
