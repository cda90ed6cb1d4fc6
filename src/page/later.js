/* later.js - views of the second script, more.js: it is loaded when one of them is opened. */

import {failure, loading, put} from './dom.js';

/** A view of app.js, of which `mount` is in the second script. Its part has `loaded`, a
    promise that it is shown. */
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
