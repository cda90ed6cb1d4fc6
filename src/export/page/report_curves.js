
/* --- Training: the charts. Their drawings are in the page; this adds the readout, the
   switch to a logarithmic axis, and the cursor that charts and heat maps share. */

let training = null; // the document of #history
let cursor = null; // the chosen step; null: the newest
const charts = [];

const isBad = (value) => typeof value === 'string'; // "NaN", "Infinity"

/** As the program writes numbers: %.4g with a drawn minus sign. */
function numberText(value, digits = 4) {
    if (value === null || value === undefined) return '\u2013';
    if (isBad(value)) return value === 'NaN' ? 'NaN' : value.replace('inity', '');
    let text = value.toPrecision(digits);
    const power = value === 0 ? 0 : Math.floor(Math.log10(Math.abs(Number(text))));
    if (power < -4 || power >= digits) {
        const [head, tail] = value.toExponential(digits - 1).split('e');
        const bare = head.includes('.') ? head.replace(/\.?0+$/, '') : head;
        text = `${bare}e${tail[0]}${tail.slice(1).padStart(2, '0')}`;
    } else if (text.includes('.')) {
        text = text.replace(/\.?0+$/, '');
    }
    return text.replaceAll('-', '\u2212');
}

function stepsText(columns, at) {
    const first = columns.first[at], last = columns.last[at];
    return first === last ? `step ${first}` : `steps ${first} to ${last}`;
}

/** The column that holds a step, or the nearest before it. */
function columnOf(columns, step) {
    let low = 0, high = columns.columns;
    while (low + 1 < high) {
        const middle = (low + high) >> 1;
        if (columns.first[middle] <= step) low = middle;
        else high = middle;
    }
    return low;
}

/** The nearest column with a value; -1: there is none. */
function nearestColumn(chart, step) {
    const at = columnOf(chart.columns, step), value = chart.scalar.value;
    for (let far = 0; far < value.length; far++) {
        if (value[at - far] !== undefined && value[at - far] !== null) return at - far;
        if (value[at + far] !== undefined && value[at + far] !== null) return at + far;
    }
    return -1;
}

const middleOf = (columns, at) => (columns.first[at] + columns.last[at]) / 2;

function stepPlace(step) {
    const {first, last} = training.range;
    return last > first ? (100 * (step - first)) / (last - first) : 50;
}

function placeLine(plot, className, step) {
    let line = plot.querySelector(`u.${className}`);
    if (step === null) {
        if (line) line.remove();
        return;
    }
    if (!line) plot.append(line = make('u', className));
    line.style.left = `${stepPlace(step)}%`;
}

/** The values of all charts at a step; null: those of the cursor. */
function readAt(step) {
    const asked = step ?? cursor;
    for (const chart of charts) {
        const at = asked === null ? -1 : nearestColumn(chart, asked);
        chart.at = at;
        const {value, min, max} = chart.scalar;
        let text = '';
        if (at >= 0) {
            text = `${stepsText(chart.columns, at)}: ${numberText(value[at])}`;
            if (min && min[at] !== max[at])
                text += ` (${numberText(min[at])} to ${numberText(max[at])})`;
        }
        chart.read.textContent = text;
        placeLine(chart.plot, 'hover',
            step === null || at < 0 ? null : middleOf(chart.columns, at));
    }
}

function moveReadout(chart, by) {
    const {value} = chart.scalar;
    let at = chart.at >= 0 ? chart.at : nearestColumn(chart, training.range.last);
    for (let left = Math.abs(by); left > 0;) {
        const next = at + Math.sign(by);
        if (next < 0 || next >= value.length) break;
        at = next;
        if (value[at] !== null) left--;
    }
    if (at >= 0 && value[at] !== null) readAt(middleOf(chart.columns, at));
}

function chartKeys(chart, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 10 : 1;
    const keys = {
        ArrowLeft: () => moveReadout(chart, -by),
        ArrowRight: () => moveReadout(chart, by),
        Enter: () => chart.at >= 0 && setCursor(middleOf(chart.columns, chart.at)),
        Escape: () => readAt(null),
        x: () => chart.toggle && chart.toggle(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
}

function stepUnder(plot, event) {
    const box = plot.getBoundingClientRect(), {first, last} = training.range;
    const share = (event.clientX - box.left) / box.width;
    return Math.round(first + share * (last - first));
}

function logButton(chart) {
    const {figure} = chart;
    if (!figure.querySelector('path.log:not(.grid)')) return;
    const element = button('log', () => chart.toggle());
    chart.toggle = () => {
        const log = figure.classList.toggle('is-log');
        element.ariaPressed = String(log);
    };
    element.ariaPressed = String(figure.classList.contains('is-log'));
    figure.querySelector('figcaption').append(element);
}

function makeChart(figure) {
    const {scalar: index, phase} = figure.dataset;
    const scalar = training.scalars.find((one) =>
        one.index === Number(index) && one.phase === phase);
    const columns = training.phases.find((one) => one.phase === phase).scalar_columns;
    const plot = figure.querySelector('.plot'), read = figure.querySelector('.read');
    if (!scalar) return;
    const chart = {figure, plot, read, scalar, columns, at: -1};
    charts.push(chart);
    logButton(chart);
    plot.tabIndex = 0;
    plot.setAttribute('role', 'application');
    plot.ariaLabel = `${scalar.name}: arrow keys read values, Enter puts the cursor`;
    plot.onpointermove = (event) => readAt(stepUnder(plot, event));
    plot.onpointerleave = () => readAt(null);
    plot.onclick = (event) => setCursor(stepUnder(plot, event));
    plot.onkeydown = (event) => chartKeys(chart, event);
    plot.onblur = () => readAt(null);
}

/** The step that charts, heat maps and panels show. */
function setCursor(step) {
    cursor = Math.round(step);
    for (const {plot} of charts) placeLine(plot, 'cursor', cursor);
    readAt(null);
    showCursor();
}

function makeCharts() {
    for (const figure of document.querySelectorAll('.chart')) makeChart(figure);
}
