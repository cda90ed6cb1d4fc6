/* kept.js - choices that this browser keeps between visits. */

/** The kept text, or ''. */
export function kept(name) {
    try {
        return localStorage.getItem(`torchoscope-${name}`) || '';
    } catch {
        return '';
    }
}

export function keep(name, text) {
    try {
        localStorage.setItem(`torchoscope-${name}`, text);
    } catch { /* kept until the page is reloaded */ }
}
