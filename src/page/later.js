/* later.js - views in the second script, more.js, which is loaded on first use. */

import {failure, loading, put} from './dom.js';

/** A view whose `mount` is in the second script. Its part has `loaded`, a promise that
    resolves once it is shown. */
export const later = (view) => ({...view, mount(stage) {
    let part = null, closed = false;
    const script = import('./more.js');
    stage.append(loading(script, 'Loading the view'));
    const loaded = script.then((more) => {
        if (!closed) part = more[view.id](put(stage));
    }, () => closed || put(stage, failure({title: 'This view could not be loaded', message:
        'torchoscope does not answer, or it is of another version now.'}, () =>
        location.reload(), 'Load the page again')));
    return {loaded, state: (changed) => part?.state(changed), news: (file) => part?.news(file),
        close() {
            closed = true;
            part?.close();
        }};
}});
