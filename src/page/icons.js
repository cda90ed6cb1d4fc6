/* icons.js - paths of the icons, in a square of 14. Chevrons, triangles and crosses are
   always paths, never characters. */

export const icons = {
    overview: 'M3 2h8a1.5 1.5 0 0 1 1.5 1.5v7A1.5 1.5 0 0 1 11 12H3a1.5 1.5 0 0 1-1.5-1.5v-7' +
        'A1.5 1.5 0 0 1 3 2zM1.5 5.3h11M1.5 8.7h11M6 2v10',
    graph: 'M5.5 1.5h3a1 1 0 0 1 1 1V4a1 1 0 0 1-1 1h-3a1 1 0 0 1-1-1V2.5a1 1 0 0 1 1-1z' +
        'M2 9h3a1 1 0 0 1 1 1v1.5a1 1 0 0 1-1 1H2a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1z' +
        'M9 9h3a1 1 0 0 1 1 1v1.5a1 1 0 0 1-1 1H9a1 1 0 0 1-1-1V10a1 1 0 0 1 1-1z' +
        'M7 5v2M3.5 9V7h7v2',
    table: 'M2 3h10M5 7h7M5 11h7',
    curves: 'M1.5 2v10h11M4 4.5c1.5 4 3.5 4.5 8 5',
    timeline: 'M1.5 3h7M4 7h8M3 11h5',
    compare: 'M1.5 2.5h4v9h-4zM8.5 2.5h4v9h-4z',
    details: 'M2 2.5h10v9H2zM4.5 5.5h5M4.5 8.5h3',
    safety: 'M7 1.5l5 2v3.5c0 2.5-2 4.5-5 5.5-3-1-5-3-5-5.5V3.5z',
    tensor: 'M2 2h10v10H2zM2 5.3h10M2 8.7h10M5.3 2v10M8.7 2v10',
    panels: 'M1.5 2h3v10h-3zM5.5 2h3v10h-3zM9.5 2h3v10h-3z',
    more: 'M3 7h.1M7 7h.1M11 7h.1',
    search: 'M10 6a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM9 9l4 4',
    down: 'M3.5 5.5L7 9l3.5-3.5',
    right: 'M5.5 3.5L9 7l-3.5 3.5',
    alarm: 'M7 2l5.5 10h-11zM7 6v2.6M7 10.4v.1',
    copy: 'M6 8l2-2M5.5 5L7.5 3a2.5 2.5 0 0 1 3.5 3.5L9 8.5' +
        'M8.5 9l-2 2A2.5 2.5 0 0 1 3 7.5L5 5.5',
    export: 'M7 9V2M4.5 4.5L7 2l2.5 2.5M2.5 8v4h9V8',
    dark: 'M11.5 8.5A5 5 0 1 1 5.5 2.5a4 4 0 0 0 6 6z',
    light: 'M9.5 7a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0zM7 1v1.2M7 11.8V13M1 7h1.2' +
        'M11.8 7H13M2.8 2.8l.8.8M10.4 10.4l.8.8M2.8 11.2l.8-.8M10.4 3.6l.8-.8',
    help: 'M13 7A6 6 0 1 1 1 7a6 6 0 0 1 12 0zM5.2 5.4a1.8 1.8 0 1 1 2.4 1.9' +
        'c-.5.2-.6.5-.6 1M7 10.4v.1',
    play: 'M4.5 3l6 4-6 4z',
    pause: 'M5 3v8M9 3v8',
    close: 'M3 3l8 8M11 3l-8 8',
    target: 'M10.5 7a3.5 3.5 0 1 1-7 0 3.5 3.5 0 0 1 7 0zM7 1v3M7 10v3M1 7h3M10 7h3',
    check: 'M2.5 7.5l3 3 6-7',
    cross: 'M3.5 3.5l7 7M10.5 3.5l-7 7',
    bang: 'M7 2.5v6M7 11.5v.1',
    question: 'M4.8 4.5a2.2 2.2 0 1 1 3 2.2c-.6.3-.8.7-.8 1.5M7 11.5v.1',
};
