/* more.js - views that are never shown first. A separate script, which later.js loads on
   first use. */

export {compare} from './compare.js';
export {curves} from './curves.js';
export {details} from './details.js';
export {safety} from './safety.js';
export {timeline} from './timeline.js';
