/* minimap.js - the whole graph in a corner, from 60 boxes on; a click goes there. */

import {paints} from './draw_canvas.js';
import {make} from './elements.js';
import {box} from './graph_data.js';
import {stopMoving} from './motion.js';
import {scene} from './scene.js';
import {holdView, paintLater, view, viewOf, visibleArea} from './view.js';

const MAP_BOXES = 60, MAP_W = 86, MAP_H = 94, MAP_PAD = 5;

let map, mapPen, mapImage = null, mapScale = 1, mapLeft = 0, mapTop = 0;

export function makeMinimap() {
    map = make('canvas', 'map');
    map.setAttribute('aria-hidden', 'true');
    mapPen = map.getContext('2d');
    map.onpointerdown = (event) => {
        map.setPointerCapture(event.pointerId);
        moveByMap(event);
        event.stopPropagation();
    };
    map.onpointermove = (event) => event.buttons && moveByMap(event);
    return map;
}

function moveByMap(event) {
    const rect = map.getBoundingClientRect();
    const x = (event.clientX - rect.left - mapLeft) / mapScale;
    const y = (event.clientY - rect.top - mapTop) / mapScale;
    stopMoving();
    Object.assign(view, viewOf(x, y, 0, 0, view.zoom));
    holdView();
    paintLater();
}

/** The boxes, once for a scene and a theme. */
export function drawMinimap() {
    const ratio = devicePixelRatio || 1, {width, height, nodes} = scene;
    map.hidden = nodes.length < MAP_BOXES;
    if (map.hidden) return;
    mapScale = Math.min((MAP_W - 2 * MAP_PAD) / width, (MAP_H - 2 * MAP_PAD) / height);
    mapLeft = (MAP_W - width * mapScale) / 2;
    mapTop = (MAP_H - height * mapScale) / 2;
    map.width = MAP_W * ratio;
    map.height = MAP_H * ratio;
    const taken = new Set(), least = 1 / ratio;
    mapImage = document.createElement('canvas');
    mapImage.width = map.width;
    mapImage.height = map.height;
    const pen = mapImage.getContext('2d');
    pen.scale(ratio, ratio);
    pen.fillStyle = paints.nodeline;
    for (const b of nodes) {
        const x = mapLeft + box.x[b] * mapScale, y = mapTop + box.y[b] * mapScale;
        const key = Math.floor(y * 2) * 1024 + Math.floor(x * 2);
        if (taken.has(key)) continue;
        taken.add(key);
        pen.fillRect(x, y, Math.max(least, box.w[b] * mapScale),
            Math.max(least, box.h[b] * mapScale));
    }
}

export function paintMinimap() {
    if (map.hidden) return;
    const ratio = devicePixelRatio || 1, area = visibleArea();
    const clampX = (x) => Math.max(0, Math.min(MAP_W, mapLeft + x * mapScale));
    const clampY = (y) => Math.max(0, Math.min(MAP_H, mapTop + y * mapScale));
    const x = clampX(area.left), y = clampY(area.top);
    mapPen.setTransform(1, 0, 0, 1, 0, 0);
    mapPen.clearRect(0, 0, map.width, map.height);
    mapPen.drawImage(mapImage, 0, 0);
    mapPen.scale(ratio, ratio);
    mapPen.lineWidth = 1.5;
    mapPen.strokeStyle = mapPen.fillStyle = paints.accent;
    const w = Math.max(3, clampX(area.right) - x);
    const h = Math.max(3, clampY(area.bottom) - y);
    mapPen.globalAlpha = 0.15;
    mapPen.fillRect(x, y, w, h);
    mapPen.globalAlpha = 1;
    mapPen.strokeRect(x, y, w, h);
}
