
/* --- Heat maps on canvases: colours, hatches, rows over steps, histograms over steps */

const heatMaps = new Set(); // functions that draw one canvas again

function colourBytes(name) {
    const style = getComputedStyle(document.documentElement);
    const hex = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
    return [hex >> 16, (hex >> 8) & 255, hex & 255];
}

function rampStops(name, count) {
    return Array.from({length: count}, (_, i) => colourBytes(`--${name}-${i}`));
}

/** The colour at 0 to 1, as bytes; linear in sRGB between the stops. */
function rampColour(stops, place) {
    const at = Math.min(1, Math.max(0, place)) * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(at));
    return stops[i].map((one, k) => one + (stops[i + 1][k] - one) * (at - i));
}

const cssColour = (bytes) => `rgb(${bytes.map(Math.round).join(',')})`;

/** Hatched at 45 degrees: not finite. */
function hatch(context) {
    const tile = document.createElement('canvas');
    tile.width = tile.height = 5;
    const on = tile.getContext('2d');
    on.fillStyle = cssColour(colourBytes('--alarm-soft'));
    on.fillRect(0, 0, 5, 5);
    on.fillStyle = cssColour(colourBytes('--alarm'));
    for (let i = 0; i < 5; i++) on.fillRect(i, 4 - i, 2, 1);
    on.fillRect(0, 4, 1, 1);
    return context.createPattern(tile, 'repeat');
}

/** A canvas as large as it is shown; draws it now and whenever colours or sizes change. */
function heatCanvas(label, draw) {
    const canvas = make('canvas');
    canvas.setAttribute('role', 'img');
    canvas.ariaLabel = label;
    const again = () => {
        if (!canvas.isConnected) {
            heatMaps.delete(again);
            return;
        }
        const scale = devicePixelRatio || 1;
        canvas.width = Math.max(1, Math.round(canvas.clientWidth * scale));
        canvas.height = Math.max(1, Math.round(canvas.clientHeight * scale));
        draw(canvas.getContext('2d'), canvas.width, canvas.height);
    };
    heatMaps.add(again);
    requestAnimationFrame(again);
    return canvas;
}

function drawHeatMaps() {
    for (const again of [...heatMaps]) again();
}

/** All heat maps have the axis of the charts: 0 to 1, with room for the last cell. */
function cellPlace(step) {
    const {first, last} = training.range;
    return (step - first) / (last - first + 1);
}

/** Where a column begins and how wide it is on a canvas: up to the next one. */
function columnSpans(columns, width) {
    const n = columns.columns, place = (step) => Math.round(width * cellPlace(step));
    return Array.from({length: n}, (_, i) => {
        const next = i + 1 < n ? columns.first[i + 1] : columns.last[i] + 1;
        const left = place(columns.first[i]);
        return {left, wide: Math.max(1, place(next) - left)};
    });
}

/** Steps that are missing before a run was resumed stay empty. */
function clearGaps(context, width, height) {
    for (const {first, gap_steps: gap} of training.segments) {
        if (gap <= 0) continue;
        const left = width * cellPlace(first - gap);
        context.clearRect(left, 0, width * cellPlace(first) - left, height);
    }
}

/** One row of cells; colour(value) gives bytes, or null for none. */
function drawRow(context, width, height, columns, values, bad, colour) {
    const pattern = hatch(context);
    columnSpans(columns, width).forEach(({left, wide}, i) => {
        if (bad.has(i)) {
            context.fillStyle = pattern;
        } else {
            const bytes = values[i] === null || values[i] === undefined
                ? null : colour(values[i]);
            if (!bytes) return;
            context.fillStyle = cssColour(bytes);
        }
        context.fillRect(left, 0, wide, height);
    });
    clearGaps(context, width, height);
}

/** Shares of elements; one scale for the whole histogram. */
function drawShades(context, width, height, series, columns, bytes) {
    const stops = rampStops('density', 9), {rows} = series.histogram;
    const pattern = hatch(context), n = columns.columns;
    columnSpans(columns, width).forEach(({left, wide}, x) => {
        for (let y = 0; y < rows; y++) {
            const code = bytes[y * n + x];
            if (!code) continue;
            const share = (code / 255) ** 2; // of the largest
            const top = Math.round((y * height) / rows);
            context.fillStyle =
                cssColour(rampColour(stops, 0.04 + 0.96 * share ** 0.7));
            context.fillRect(left, top, wide,
                Math.round(((y + 1) * height) / rows) - top);
        }
        if (series.bad && series.bad[x]) {
            context.fillStyle = pattern;
            context.fillRect(left, 0, wide, height);
        }
    });
    clearGaps(context, width, height);
}

const KIND_WORDS = {
    input: 'input', output: 'output', grad_input: 'gradient of input',
    grad_output: 'gradient of output', param: 'value', grad_param: 'gradient',
    update: 'update',
};

function seriesTitle(series) {
    const own = KIND_WORDS[series.kind];
    const param = series.kind === 'param' || series.kind === 'grad_param' ||
        series.kind === 'update';
    const part = param ? series.name.slice(series.name.lastIndexOf('.') + 1) : '';
    const words = [part, own, series.path].filter(Boolean).join(' ');
    const call = series.call > 0 ? `, call ${series.call + 1}` : '';
    return words + call + (series.phase === 'eval' ? ', evaluation' : '');
}

/** The statistics of one column. */
function seriesNumbers(series, columns, at) {
    if (series.norm[at] === null) return `${stepsText(columns, at)}: not logged`;
    const words = ['mean', 'std', 'min', 'max', 'norm'].filter((key) =>
        typeof series[key][at] === 'number').map((key) =>
        `${key} ${numberText(series[key][at])}`);
    if (series.ratio && series.ratio[at] !== null)
        words.push(`update \u00f7 weight ${numberText(series.ratio[at])}`);
    if (series.bad && series.bad[at])
        words.unshift(`NaN, Inf ${Math.max(1, Math.round(100 * series.bad[at]))}%`);
    return `${stepsText(columns, at)}: ${words.join(', ')}`;
}

function histogramArea(series, columns, title) {
    const area = make('div', 'area'), {histogram} = series;
    const bytes = Uint8Array.from(atob(histogram.codes), (c) => c.charCodeAt(0));
    area.append(heatCanvas(`${title} over steps`, (context, width, height) =>
        drawShades(context, width, height, series, columns, bytes)));
    const label = (value, top) => {
        const element = make('span', '', numberText(value, 3));
        element.style.top = top;
        area.append(element);
    };
    label(histogram.high, '0');
    label(histogram.low, 'calc(100% - 12px)');
    if (histogram.zero > 0 && histogram.zero < 1) {
        const line = make('s');
        line.style.top = `${100 * (1 - histogram.zero)}%`;
        area.append(line);
        if (histogram.zero > 0.18 && histogram.zero < 0.82)
            label(0, `calc(${100 * (1 - histogram.zero)}% - 6px)`);
    }
    area.append(make('u'));
    return area;
}

function placeCursor(line, columns, at) {
    line.style.left = `${100 * cellPlace(middleOf(columns, at) + 0.5)}%`;
}

/** A series as a histogram over steps, with the numbers of the cursor's step. */
function histogramElement(series) {
    const columns = seriesColumns(series.phase), title = seriesTitle(series);
    const figure = make('figure', 'histogram'), caption = make('figcaption');
    const log = series.histogram && series.histogram.least > 0 ? ' log' : '';
    caption.append(make('b', '', title), make('span', 'dim', log));
    figure.append(caption);
    if (series.histogram && columns.columns) figure.append(histogramArea(series, columns, title));
    else figure.append(make('div', 'none', 'no finite value, or no histogram'));
    const numbers = make('p');
    figure.append(numbers);
    figure.showCursor = () => {
        const at = cursor === null ? columns.columns - 1 : columnOf(columns, cursor);
        const line = figure.querySelector('.area u');
        if (!columns.columns) return;
        numbers.textContent = seriesNumbers(series, columns, at);
        if (line) placeCursor(line, columns, at);
    };
    figure.showCursor();
    return figure;
}
