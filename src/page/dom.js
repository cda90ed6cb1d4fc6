/* dom.js - elements, and parts that all views use. Text is always set as text, never HTML. */

import {icons} from './icons.js';
import {max, min} from './math.js';

const SVG = 'http://www.w3.org/2000/svg';

function append(element, children) {
    for (const child of children.flat(Infinity))
        if (child !== null && child !== undefined && child !== false) element.append(child);
    return element;
}

function setProp(element, key, value) {
    if (value === null || value === undefined) return;
    if (key === 'aria')
        for (const [name, text] of Object.entries(value)) {
            if (text !== null && text !== undefined) element.setAttribute(`aria-${name}`, text);
        }
    else if (key === 'data') Object.assign(element.dataset, value);
    else if (key === 'style')
        for (const [name, text] of Object.entries(value)) element.style.setProperty(name, text);
    else if (key === 'class') element.className = value;
    else if (key in element && key !== 'role') element[key] = value;
    else element.setAttribute(key, value);
}

/** An element: el('b', 'dim', 'text'), el('a', {class, href, onclick, aria: {...}}, ...). */
export function el(tag, props, ...children) {
    const element = document.createElement(tag);
    if (tag === 'button') element.type = tag;
    if (typeof props === 'string') element.className = props;
    else if (props)
        for (const [key, value] of Object.entries(props)) setProp(element, key, value);
    return append(element, children);
}

export const div = (props, ...children) => el('div', props, children);
export const span = (props, ...children) => el('span', props, children);

/** Replaces the children of an element; children as for el(). */
export function put(element, ...children) {
    element.replaceChildren();
    return append(element, children);
}

/** A text that acts as a button. */
export const link = (text, onclick, kind = '') => el('button', {class: `link ${kind}`, onclick},
    text);

/** A segmented control: seg('Level', [[text, on, run], ...]). */
export const seg = (label, choices) => div({class: 'seg', role: 'group', aria: {label}},
    choices.map(([text, on, onclick]) => el('button', {class: on ? 'on' : '', onclick,
        aria: {pressed: on}}, text)));

export function svgEl(tag, attrs, ...children) {
    const element = document.createElementNS(SVG, tag);
    for (const [key, value] of Object.entries(attrs || {}))
        if (value !== null && value !== undefined) element.setAttribute(key, value);
    return append(element, children);
}

export function icon(name) {
    return svgEl('svg', {class: 'i', viewBox: '0 0 14 14', 'aria-hidden': 'true'},
        svgEl('path', {d: icons[name]}));
}

/** A button. `label` names a button without text; `press` makes it a toggle. */
export function button({text, icon: image, label, press, onclick, class: kind, ...more}) {
    const name = label ?? text;
    return el('button', {class: `btn ${text ? '' : 'icon'} ${kind || ''}`,
        title: text ? null : name, onclick, ...more,
        aria: {label: text === name ? null : name, pressed: press, ...more.aria}},
    image ? icon(image) : null, text);
}

let floating = null; // {element, anchor, close}

/** Closes the open menu. */
export function closeMenu() {
    if (floating) floating.close();
}

/** Places a floating element below its anchor, inside the window. */
export function putBelow(element, anchor) {
    const at = anchor.getBoundingClientRect(), size = element.getBoundingClientRect();
    const left = min(at.left, innerWidth - size.width - 8);
    const below = at.bottom + 4;
    const fits = below + size.height <= innerHeight - 8 || at.top < size.height + 12;
    element.style.left = `${max(8, left)}px`;
    element.style.top = `${fits ? below : at.top - size.height - 4}px`;
}

/** Opens a floating element at its anchor, until Escape or a click elsewhere. */
export function popover(anchor, element, onclose) {
    const again = floating && floating.anchor === anchor;
    closeMenu();
    if (again) return null;
    const outside = (event) => {
        if (!element.contains(event.target) && !anchor.contains(event.target)) closeMenu();
    };
    const close = () => {
        floating = null;
        element.remove();
        anchor.setAttribute('aria-expanded', 'false');
        removeEventListener('pointerdown', outside, true);
        if (onclose) onclose();
    };
    element.classList.add('float');
    document.querySelector('header').append(element); // a landmark for screen readers
    putBelow(element, anchor);
    anchor.setAttribute('aria-expanded', 'true');
    addEventListener('pointerdown', outside, true);
    floating = {element, anchor, close};
    element.addEventListener('keydown', (event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
        anchor.focus();
    });
    return element;
}

function menuItem(item, close) {
    if (item === 'line') return el('hr');
    if (item.head) return el('div', 'head', item.head);
    return el('button', {role: 'menuitem', class: item.current ? 'on' : '',
        disabled: item.off, onclick: () => { close(); item.run(); }},
    item.icon ? icon(item.icon) : null, el('span', 'grow', item.text),
    item.detail ? el('span', 'dim3', item.detail) : null, item.extra || null);
}

/** Makes a button open a menu. items: a list, or a function that makes it: {text, detail,
    icon, current, off, run}, {head: text} or 'line'. */
export function menu(anchor, items) {
    anchor.setAttribute('aria-haspopup', 'menu');
    anchor.setAttribute('aria-expanded', 'false');
    anchor.onmenu = (at) => {
        const list = typeof items === 'function' ? items() : items;
        const box = el('div', {class: 'menu', role: 'menu', aria: {label: anchor.ariaLabel ||
            anchor.textContent}}, list.map((item) => menuItem(item, closeMenu)));
        if (!popover(at, box)) return;
        const choices = [...box.querySelectorAll('button:not(:disabled)')];
        box.addEventListener('keydown', (event) => {
            const by = {ArrowDown: 1, ArrowUp: -1}[event.key];
            if (!by) return;
            event.preventDefault();
            const n = choices.length;
            choices[(choices.indexOf(document.activeElement) + by + n) % n].focus();
        });
        (box.querySelector('.on') || choices[0] || box).focus();
    };
    anchor.addEventListener('click', () => anchor.onmenu(anchor));
    return anchor;
}

/** A dialog with a title; Escape or a click outside closes it. */
export function dialog(title, kind, head, ...content) {
    const box = el('dialog', {class: `help ${kind}`, aria: {label: title}}, el('header', null,
        el('h2', 'grow', title), head, button({icon: 'close', label: 'Close', class: 'ghost',
            onclick: () => box.close()})), content);
    box.addEventListener('close', () => box.remove());
    box.addEventListener('click', (event) => event.target === box && box.close());
    document.body.append(box);
    box.showModal();
}

/** One line at the bottom for four seconds; never for errors. */
export function toast(text) {
    const old = document.querySelector('.toast');
    if (old) old.remove();
    const box = el('div', {class: 'toast', role: 'status'}, text);
    document.body.append(box);
    setTimeout(() => box.remove(), 4000);
}

/** Runs a function and shows its error. */
export async function said(run) {
    try {
        await run();
    } catch (error) {
        toast(error.message);
    }
}

let tip = null, tipTimer = 0, tipCount = 0;

function hideTip() {
    clearTimeout(tipTimer);
    if (tip) tip.remove();
    tip = null;
}

/** Shows content (a node, a text, or a function that makes it) after 120 ms of hover or at
    once with the focus; it stays while the pointer is in it, and Escape hides it. */
export function tooltip(anchor, content) {
    const show = () => {
        const made = typeof content === 'function' ? content() : content;
        hideTip();
        if (!made || !anchor.isConnected) return;
        const box = el('div', {class: 'tip float', role: 'tooltip', id: `tip${++tipCount}`}, made);
        tip = box;
        document.body.append(box);
        putBelow(box, anchor);
        anchor.setAttribute('aria-describedby', box.id);
        box.addEventListener('pointerenter', () => clearTimeout(tipTimer));
        box.addEventListener('pointerleave', hideTip);
    };
    const later = (run) => () => {
        clearTimeout(tipTimer);
        tipTimer = setTimeout(run, 120);
    };
    anchor.addEventListener('pointerenter', later(show));
    anchor.addEventListener('pointerleave', later(hideTip));
    anchor.addEventListener('focus', () => anchor.matches(':focus-visible') && show());
    anchor.addEventListener('blur', hideTip);
    anchor.addEventListener('keydown', (event) => event.key === 'Escape' && hideTip());
    return anchor;
}

export async function copyText(text, what = 'Copied') {
    try {
        await navigator.clipboard.writeText(text);
    } catch { // not allowed, or no secure origin
        const field = el('textarea', {class: 'away', value: text});
        document.body.append(field);
        field.select();
        document.execCommand('copy');
        field.remove();
    }
    toast(what);
}

/** An empty state: a bold line, a dim line, a command to copy. */
export function emptyState(title, sentence, command) {
    return el('div', 'empty', el('b', null, title), el('div', 'dim', sentence),
        command ? el('button', {class: 'cmd', title: 'Copy',
            onclick: () => copyText(command)}, command) : null);
}

/** An error: a title, a sentence, what still works, one button. */
export function failure(error, again, label = 'Try again') {
    return el('div', {class: 'fail', role: 'alert'}, icon('alarm'), el('div', 'grow',
        el('b', null, error.title || 'This cannot be shown'), el('div', null, error.message),
        error.rest ? el('div', null, error.rest) : null,
        again ? button({text: label, onclick: again}) : null));
}

/** Grey bars after 200 ms; the sentence and Cancel after 1 s. Removes itself. */
export function loading(promise, sentence, cancel) {
    const box = el('div', {class: 'load', aria: {busy: 'true'}});
    const timers = [
        setTimeout(() => box.append(el('i'), el('i'), el('i')), 200),
        setTimeout(() => box.append(el('div', 'row2', el('span', {class: 'grow',
            role: 'status'}, sentence), cancel ? button({text: 'Cancel', onclick: cancel}) :
            null)), 1000)];
    const end = () => {
        timers.forEach(clearTimeout);
        box.remove();
    };
    promise.then(end, end);
    return box;
}
