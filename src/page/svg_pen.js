/* svg_pen.js - a canvas-like pen that writes SVG, so one function draws both. */

import {svgEl} from './dom.js';
import {SANS} from './draw.js';
import {round} from './math.js';

const near = (x) => round(x * 100) / 100;

export class SvgPen {
    constructor(width, height) {
        this.defs = svgEl('defs');
        this.to = this.root = svgEl('svg', {xmlns: 'http://www.w3.org/2000/svg', width, height,
            viewBox: `0 0 ${width} ${height}`, 'font-family': SANS}, this.defs);
        this.kept = [];
        Object.assign(this, {d: '', dash: [], globalAlpha: 1, lineWidth: 1, font: ''});
    }

    beginPath() { this.d = ''; }
    moveTo(x, y) { this.d += `M${near(x)} ${near(y)}`; }
    lineTo(x, y) { this.d += `L${near(x)} ${near(y)}`; }
    closePath() { this.d += 'Z'; }
    rect(x, y, w, h) { this.d += `M${near(x)} ${near(y)}h${near(w)}v${near(h)}h${near(-w)}Z`; }
    setLineDash(list) { this.dash = list; }
    save() { this.kept.push(this.to); }
    restore() { this.to = this.kept.pop(); }

    clip() {
        const id = `c${this.defs.childNodes.length}`, inside = svgEl('g',
            {'clip-path': `url(#${id})`});
        this.defs.append(svgEl('clipPath', {id}, svgEl('path', {d: this.d})));
        this.to.append(inside);
        this.to = inside;
    }

    /** The only pattern is the hatch of draw.js. */
    createPattern(tile) {
        this.defs.append(svgEl('pattern', {id: 'h', width: 5, height: 5, patternUnits:
            'userSpaceOnUse'}, svgEl('image', {href: tile.toDataURL(), width: 5, height: 5})));
        return {setTransform() {}, toString: () => 'url(#h)'};
    }

    path(props) {
        this.to.append(svgEl('path', {d: this.d, opacity: this.globalAlpha < 1 ?
            this.globalAlpha : null, ...props}));
    }

    fill() { this.path({fill: this.fillStyle}); }

    stroke() {
        this.path({fill: 'none', stroke: this.strokeStyle, 'stroke-width': this.lineWidth,
            'stroke-linejoin': 'round', 'stroke-dasharray': this.dash.join(' ') || null});
    }

    fillRect(x, y, w, h) {
        this.beginPath();
        this.rect(x, y, w, h);
        this.fill();
    }

    fillText(text, x, y) {
        const bold = this.font.startsWith('bold'), size = /(\d+)px/.exec(this.font)[1];
        this.to.append(svgEl('text', {x: near(x), y: near(y), fill: this.fillStyle,
            'font-size': size, 'font-weight': bold ? 'bold' : null, 'text-anchor':
                {center: 'middle', right: 'end'}[this.textAlign] || null}, text));
    }

    toString() {
        return new XMLSerializer().serializeToString(this.root);
    }
}
