
/* --- Training: the heat map of modules over steps, the panel of a module, alarms */

const FIRST_MODULES = 24;
const KINDS = ['input', 'output', 'grad_output', 'grad_input', 'param', 'grad_param',
    'update'];
const HEALTHY = [1e-4, 1e-2]; // update / weight
let byModule = new Map(); // module -> its series
let heatRows = []; // {module, line, numbers}
let heatTable = null, modulesShown = FIRST_MODULES;
const openModules = new Set();

function seriesColumns(phase) {
    return training.phases.find((one) => one.phase === phase).series_columns;
}

/* --- The three scales: each column has its own ramp */

/** Log from the smallest to the largest value, at most five decades. */
function gradientScale() {
    const all = training.modules.flatMap((one) => one.gradient ?? [])
        .filter((one) => one > 0);
    const high = all.length ? all.reduce((a, b) => Math.max(a, b)) : 1;
    const least = all.length ? all.reduce((a, b) => Math.min(a, b)) : 0.1;
    const low = Math.max(least, high / 1e5), cut = least < low ? '\u2264 ' : '';
    const range = Math.log10(high / low) || 1;
    return {
        name: 'gradient norm', key: 'gradient', head: 'gradient', note: 'of its parameters, log',
        missing: "not logged: log=['params_grad']",
        ends: [cut + numberText(low, 3), numberText(high, 3)],
        colour: (stops) => (value) =>
            rampColour(stops, value > 0 ? Math.log10(value / low) / range : 0),
        stops: () => rampStops('heat', 9),
        legend: (place) => low * 10 ** (place * range),
    };
}

/** The middle of the ramp is healthy; below it blue, above it orange. */
function ratioScale() {
    const place = (value) => {
        if (!(value > 0)) return 0;
        const power = Math.log10(value); // -6 to 0
        if (value >= HEALTHY[0] && value <= HEALTHY[1]) return 0.5;
        return value < HEALTHY[0] ? 0.4 * Math.max(0, power + 6) / 2
            : 0.6 + 0.4 * Math.min(2, power + 2) / 2;
    };
    return {
        name: 'update \u00f7 weight', key: 'ratio', head: 'update \u00f7 w',
        note: 'log; 1e\u221204 to 0.01 is usual',
        missing: 'not logged: no optimizer step was seen',
        ends: ['1e\u221206', '1'],
        colour: (stops) => (value) => rampColour(stops, place(value)),
        stops: () => rampStops('div', 11),
        legend: (at) => 10 ** (6 * at - 6),
        word: (value) => (value < HEALTHY[0] ? 'low' : value > HEALTHY[1] ? 'high' : ''),
    };
}

function deadScale() {
    return {
        name: 'dead units', key: 'dead', head: 'dead', note: 'share of units', missing: 'not logged',
        ends: ['0', '\u2265 20%'],
        colour: (stops) => (value) => rampColour(stops, value / 0.2),
        stops: () => rampStops('density', 9),
        legend: (place) => 0.2 * place,
    };
}

/* --- The table */

function legendElement(scale) {
    const box = make('div');
    box.append(make('b', '', scale.name), ' ', scale.note);
    box.append(heatCanvas(`legend of ${scale.name}`, (context, width, height) => {
        const colour = scale.colour(scale.stops());
        for (let x = 0; x < width; x++) {
            context.fillStyle = cssColour(colour(scale.legend(x / width)));
            context.fillRect(x, 0, 1, height);
        }
    }));
    const ends = make('div', 'ends');
    ends.append(make('span', '', scale.ends[0]), make('span', '', scale.ends[1]));
    box.append(ends);
    return box;
}

function heatHead(scales) {
    const head = make('thead'), line = make('tr'), name = make('th', 'w-name');
    const n = training.modules.length;
    name.append(make('b', '', 'module'), ` ${n} with parameters`);
    line.append(name);
    for (const scale of scales) {
        const cell = make('th', 'wide');
        cell.append(legendElement(scale));
        line.append(cell);
    }
    for (const scale of scales) line.append(make('th', 'num w-num', scale.head));
    head.append(line);
    return head;
}

function cellCanvas(module, scale) {
    const columns = seriesColumns(training.modules_phase), values = module[scale.key];
    const bad = new Set(module.bad);
    if (!values && !bad.size) return make('span', 'dim', scale.missing);
    const canvas = heatCanvas(`${scale.name} of ${module.name}`,
        (context, width, height) => drawRow(context, width, height, columns,
            values ?? [], bad, scale.colour(scale.stops())));
    const under = (event) => {
        const box = canvas.getBoundingClientRect();
        const first = columns.first[0], last = columns.last[columns.columns - 1];
        const share = (event.clientX - box.left) / box.width;
        return columnOf(columns, first + share * (last - first + 1));
    };
    canvas.onpointermove = (event) => {
        const at = under(event), value = bad.has(at) ? 'NaN' : values && values[at];
        canvas.title = `${module.name || '(root)'}, ${stepsText(columns, at)}: ` +
            `${scale.name} ${numberText(value)}`;
    };
    canvas.onclick = (event) => {
        event.stopPropagation();
        setCursor(columns.last[under(event)]);
    };
    return canvas;
}

function moduleLine(module, scales, number) {
    const line = make('tr'), name = make('td', 'name');
    const alarms = training.alarms.filter((one) => one.name === module.name &&
        one.severity !== 'note');
    const alarm = alarms.find((one) => one.severity === 'alarm') ?? alarms[0];
    line.tabIndex = number === 0 ? 0 : -1;
    line.ariaExpanded = String(openModules.has(module.name));
    if (alarm) name.append(icon(`i mk ${alarm.severity === 'alarm' ? 'alarm' : 'warn'}`,
        'M7 2l5.5 10h-11z', 'M7 6v2.6M7 10.4v.1'));
    name.append(make('b', '', module.name || '(root)'), ' ',
        make('span', 'dim', module.class));
    name.title = `${module.name} ${module.class}`;
    if (module.bad.length && !alarm) name.append(make('span', 'dot'));
    line.append(name);
    const cells = scales.map((scale) => {
        const cell = make('td', 'wide');
        cell.append(cellCanvas(module, scale));
        return cell;
    });
    const numbers = scales.map(() => make('td', 'num'));
    line.append(...cells, ...numbers);
    if (openModules.has(module.name)) line.className = 'open';
    line.onclick = () => !String(getSelection()) && toggleModule(module.name);
    return {module, line, numbers, scales};
}

function showNumbers({module, numbers, scales}) {
    const columns = seriesColumns(training.modules_phase);
    const at = cursor === null ? columns.columns - 1 : columnOf(columns, cursor);
    scales.forEach((scale, i) => {
        const values = module[scale.key], bad = module.bad.includes(at);
        const value = bad ? 'NaN' : values ? values[at] : null;
        const word = scale.word && !bad && value !== null ? scale.word(value) : '';
        numbers[i].className = `num${bad ? ' bad' : ''}`;
        numbers[i].replaceChildren(make('span', word, word ? `${word} ` : ''),
            scale.key === 'dead' && value !== null && !bad
                ? `${Math.round(100 * value)}%` : numberText(value));
    });
}

function showCursor() {
    heatRows.forEach(showNumbers);
    for (const figure of document.querySelectorAll('.histogram')) figure.showCursor();
}

/** All histograms of a module; null: nothing of it was logged. */
function panelElement(module) {
    const list = byModule.get(module);
    if (!list) return null;
    const panel = make('div', 'panel'), order = (one) => KINDS.indexOf(one.kind);
    panel.append(make('h4', '', `${module || '(root)'} over steps`));
    for (const series of [...list].sort((a, b) => order(a) - order(b)))
        panel.append(histogramElement(series));
    return panel;
}

function renderHeat() {
    const body = heatTable.tBodies[0], scales = heatTable.scales;
    const focus = heatRows.findIndex((row) => row.line === document.activeElement);
    const rows = training.modules.filter((one, i) => i < modulesShown ||
        openModules.has(one.name) || training.alarms.some((a) => a.name === one.name));
    heatRows = rows.map((module, i) => moduleLine(module, scales, i));
    const parts = [];
    for (const row of heatRows) {
        showNumbers(row);
        parts.push(row.line);
        const panel = openModules.has(row.module.name) && panelElement(row.module.name);
        if (!panel) continue;
        const line = make('tr', 'detail'), cell = make('td');
        cell.colSpan = 1 + 2 * scales.length;
        cell.append(panel);
        line.append(cell);
        parts.push(line);
    }
    body.replaceChildren(...parts);
    if (focus >= 0 && heatRows[focus]) focusRow(focus);
}

function toggleModule(name) {
    if (!openModules.delete(name)) openModules.add(name);
    renderHeat();
}

/* --- Keys */

function focusRow(number) {
    heatRows.forEach((row, i) => { row.line.tabIndex = i === number ? 0 : -1; });
    heatRows[number].line.focus();
}

function moveCursor(by) {
    const columns = seriesColumns(training.modules_phase);
    const at = cursor === null ? columns.columns - 1 : columnOf(columns, cursor);
    setCursor(columns.last[Math.max(0, Math.min(columns.columns - 1, at + by))]);
}

function heatKeys(event) {
    const at = heatRows.findIndex((row) => row.line === event.target);
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = event.shiftKey ? 10 : 1, last = heatRows.length - 1;
    const keys = {
        ArrowDown: () => focusRow(Math.min(at + 1, last)),
        ArrowUp: () => focusRow(Math.max(at - 1, 0)),
        Home: () => focusRow(0),
        End: () => focusRow(last),
        ArrowLeft: () => moveCursor(-by),
        ArrowRight: () => moveCursor(by),
        Enter: () => toggleModule(heatRows[at].module.name),
        ' ': () => toggleModule(heatRows[at].module.name),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
}

/* --- Alarms */

/** Put the cursor at a step and open the module, or the nearest one around it. */
function goToAlarm(alarm) {
    let name = alarm.name;
    while (name && !byModule.has(name))
        name = name.slice(0, Math.max(0, name.lastIndexOf('.')));
    setCursor(alarm.step);
    if (!training.modules.some((one) => one.name === name)) return;
    openModules.add(name);
    renderHeat();
    const at = heatRows.findIndex((row) => row.module.name === name);
    focusRow(at);
    heatRows[at].line.scrollIntoView({block: 'center'});
}

function makeAlarms() {
    training.alarms.forEach((alarm, i) => {
        const line = document.getElementById(`alarm-${i}`);
        if (line) line.lastElementChild.append(button('Go to', () => goToAlarm(alarm)));
    });
}

/* --- All of it */

function makeHeat() {
    const place = document.getElementById('heat'), scales = [gradientScale(), ratioScale()];
    if (!training.modules.length) return;
    if (training.modules.some((one) => one.dead)) scales.push(deadScale());
    heatTable = make('table', 'heat');
    heatTable.scales = scales;
    heatTable.setAttribute('role', 'grid');
    heatTable.append(heatHead(scales), make('tbody'));
    heatTable.onkeydown = heatKeys;
    const box = make('div', 'scroll'), more = training.modules.length - modulesShown;
    box.append(heatTable);
    place.append(make('h3', '', 'Modules over steps'), box);
    place.append(make('p', 'dim', 'A click on a row, or Enter, shows histograms over ' +
        'steps; one on a cell, or the arrow keys, chooses the step.'));
    if (more > 0) {
        const all = button(`Show ${more} more`, () => {
            modulesShown = Infinity;
            all.remove();
            renderHeat();
        });
        place.append(all);
    }
    if (training.series_left_out)
        place.append(make('p', 'dim', `${training.series_left_out} series are left ` +
            'out: the page has a limit. torchoscope run.scope shows all of them.'));
    renderHeat();
}

function startTraining() {
    const place = document.getElementById('history');
    if (!place) return;
    training = JSON.parse(place.textContent);
    const ends = training.phases.map((one) => one.scalar_columns)
        .filter((one) => one.columns > 0);
    training.range = {
        first: Math.min(...ends.map((one) => one.first[0])),
        last: Math.max(...ends.map((one) => one.last.reduce((a, b) => Math.max(a, b)))),
    };
    for (const series of training.series) {
        if (!byModule.has(series.module)) byModule.set(series.module, []);
        byModule.get(series.module).push(series);
    }
    makeCharts();
    makeAlarms();
    makeHeat();
    addEventListener('resize', () => requestAnimationFrame(drawHeatMaps));
}
