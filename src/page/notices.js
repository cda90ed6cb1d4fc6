/* notices.js - states without a view: nothing open, waiting, connection lost, token
   missing, ended. */

import {isStatic, setToken} from './api.js';
import {button, div, el, emptyState, failure, icon, span} from './dom.js';
import {connection, retryNow, startLive} from './live.js';
import {ceil, max} from './math.js';

/** No file is served, or the requested file does not exist. */
export function nothingOpen(id) {
    if (id) return failure({title: 'This file is not here', message:
        'The file in the address is not served.',
    rest: 'Select another file at the top.'});
    return emptyState('Open a model or a recording', 'Start with',
        'torchoscope serve model.safetensors');
}

export function waiting(file) {
    return emptyState('No step recorded yet', `Watching ${file.name}. The graph appears after ` +
        'the first forward pass, histograms after the first logged step.');
}

/** A field for the address that the server printed. */
export function tokenMissing() {
    const field = el('input', {type: 'text', class: 'field', autocomplete: 'off',
        spellcheck: false, placeholder: 'http://localhost:8080/?token=\u2026',
        aria: {label: 'Address with token'}});
    return el('form', {class: 'empty', onsubmit(event) {
        event.preventDefault();
        setToken(field.value);
        startLive();
    }}, el('b', null, 'This page needs its token'), div('dim',
        'torchoscope printed an address that ends in ?token=\u2026 Paste it here.'),
    div('row2', field, button({text: 'Open', type: 'submit'})));
}

/** The banner while the connection is lost or for a saved page; or null. */
export function connectionBanner() {
    if (isStatic || connection.status !== 'lost') return null;
    const left = span({class: 'left'});
    const box = div({class: 'banner warn', role: 'status'}, icon('alarm'),
        span('grow', el('b', null, 'Not connected'), ' ', left,
            ' Received data stay usable. The training is not affected.'),
        button({text: 'Try now', onclick: retryNow}));
    const tick = () => {
        if (!box.isConnected && tick.begun) return;
        tick.begun = true;
        const seconds = max(0, ceil((connection.retry - Date.now()) / 1000));
        left.textContent = seconds ? `Trying again in ${seconds}s.` : 'Trying again.';
        setTimeout(tick, 250);
    };
    left.ariaHidden = 'true';
    setTimeout(tick, 0);
    return box;
}
