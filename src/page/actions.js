/* actions.js - what can be copied and exported now: the views register their items. */

const copies = [], exports = [];

function register(list, make) {
    list.push(make);
    return () => list.splice(list.indexOf(make), 1);
}

/** make() returns a list of {text, detail, value: () => text or a promise of it}. */
export const copyable = (make) => register(copies, make);

/** make() returns a list of {text, detail, run}. */
export const exportable = (make) => register(exports, make);

export const copyItems = () => copies.flatMap((make) => make());
export const exportItems = () => exports.flatMap((make) => make());
