/* math.js - functions that every file needs. */

export const {abs, ceil, floor, max, min, round} = Math;
