/* more.js - the views that never are the first one: a script of its own, which later.js loads
   when one of them is opened. */

export {compare} from './compare.js';
export {curves} from './curves.js';
export {details} from './details.js';
export {safety} from './safety.js';
export {timeline} from './timeline.js';
