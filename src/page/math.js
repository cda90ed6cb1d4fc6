/* math.js - functions of Math under short names, which a minifier can make shorter still. */

export const {abs, ceil, floor, log10, max, min, round, sign} = Math;
