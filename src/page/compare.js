export const compareView = null;
