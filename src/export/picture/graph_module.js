
export {mountGraph};
