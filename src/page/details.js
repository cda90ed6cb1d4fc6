/* details.js - the selected place. */

import {breadcrumb} from './breadcrumb.js';
import {el, failure, loading} from './dom.js';
import {places} from './model.js';
import {go, state} from './state.js';

export const details = {
    id: 'details', title: 'Details', icon: 'details',
    fits: () => true,
    mount(stage) {
        let closed = false;
        async function draw() {
            const promise = places(state.file), wait = loading(promise, 'Reading');
            if (!stage.firstChild) stage.append(wait);
            try {
                const model = await promise, at = Math.max(0, model.find(state.at));
                if (closed) return;
                stage.replaceChildren(el('div', 'viewbar', breadcrumb(model, at, (name) =>
                    go({at: name}))), el('dl', 'facts', model.columns.flatMap((column) =>
                    !model.cell(column, at) ? [] : [el('dt', null, column.title),
                        el('dd', null, model.cell(column, at))])));
            } catch (error) {
                if (!closed) stage.replaceChildren(failure(error, draw));
            }
        }
        draw();
        return {
            state: (changed) => (changed.has('at') || changed.has('file')) && draw(),
            news: draw,
            close: () => { closed = true; },
        };
    },
};
