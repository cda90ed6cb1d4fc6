/* attributes.js - the attributes of an object as foldable rows; nested ones are requested
   when a row is opened. */

import {ask} from './api.js';
import {div, el, link, put, span} from './dom.js';
import {go} from './state.js';
import {commas, plural} from './text.js';

const FEW = 9; // rows that need no folding
const EMPTY = /^(None|False|\{\}|\[\]|\(\)|""|set\(\))$/;

const folded = (head, fill) => {
    const inside = div('atinner'), box = el('details', {ontoggle: () => {
        if (!inside.firstChild) fill(inside);
    }}, el('summary', null, head), inside);
    return box;
};

/** A row; `path` is its number below those above it: '3.0'. */
function row(one, path, asked, model) {
    const words = [span('atname', one.name), one.to === undefined ? span('mono', one.text) :
        link(one.text, () => go({at: model.full(one.to)})),
    one.property && span('dim3', 'not read'), one.raised && span('bad', 'raised')];
    return one.folds && !one.property ? folded(words, async (inside) => {
        try {
            put(inside, rows(await ask('attributes', {...asked, open: path}), `${path}.`, asked,
                model));
        } catch (error) {
            put(inside, el('p', 'dim', error.message));
        }
    }) : div('atrow', words);
}

/** Groups many attributes without information into one row. */
function rows(answer, before, asked, model) {
    const list = answer.attributes || [], quiet = [], made = [];
    list.forEach((one, i) => {
        const empty = list.length > FEW && EMPTY.test(one.text) && !one.property;
        (empty ? quiet : made).push(row(one, before + i, asked, model));
    });
    if (quiet.length > 2) made.push(folded(span('dim', `${plural(quiet.length, 'attribute')
    } that are None, False or empty`), (inside) =>
        put(inside, quiet)));
    else made.push(...quiet);
    return [made, answer.left_out && el('p', 'dim', `and ${commas(answer.left_out)} more`)];
}

/** Returns null if there are no attributes. */
export function attributesCard(answer, asked, model) {
    const list = rows(answer, '', {file: asked.file, place: asked.place}, model);
    return list[0].length ? el('section', 'dtcard', el('h2', null, 'Attributes'), div(null, list)) :
        null;
}
