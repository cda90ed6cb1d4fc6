/* elements.js - elements of HTML and SVG. Names and texts come from models: they are
   set with textContent, never as HTML. */

export const SVG = 'http://www.w3.org/2000/svg';

export function shape(tag, className, attributes, parent) {
    const element = document.createElementNS(SVG, tag);
    if (className) element.setAttribute('class', className);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (parent) parent.append(element);
    return element;
}

export function make(tag, className, text) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    if (text !== undefined) element.textContent = text;
    return element;
}

export function icon(d) {
    const svgIcon = shape('svg', 'i', {viewBox: '0 0 14 14', 'aria-hidden': 'true'});
    shape('path', '', {d}, svgIcon);
    return svgIcon;
}

export function button(label, content, onclick) {
    const element = make('button', 'btn');
    element.type = 'button';
    element.setAttribute('aria-label', label);
    element.title = label;
    element.append(content);
    element.onclick = onclick;
    return element;
}
