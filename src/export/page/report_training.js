
/* --- Training: the heat map of modules over steps, the panel of a module, alarms */

const FIRST_MODULES = 24;
const KINDS = ['input', 'output', 'grad_output', 'grad_input', 'param', 'grad_param',
    'update'];
let byModule = new Map(); // module -> its series
let heatRows = []; // {module, line, numbers}
let heatTable = null, modulesShown = FIRST_MODULES;
const openModules = new Set();

function seriesColumns(phase) {
    return training.phases.find((one) => one.phase === phase).series_columns;
}

/* --- The table */

function heatHead(scales) {
    const head = make('thead'), line = make('tr'), name = make('th', 'w-name');
    const n = training.modules.length;
    name.append(make('b', '', 'module'), ` ${n} with parameters or dead units`);
    line.append(name);
    scales.forEach((scale, i) => {
        const cell = make('th', `map-${i}`);
        cell.append(legendElement(scale));
        line.append(cell);
    });
    scales.forEach((scale, i) =>
        line.append(make('th', `num w-num map-${i}`, scale.head)));
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
        const box = canvas.getBoundingClientRect(), {first, last} = training.range;
        const share = (event.clientX - box.left) / box.width;
        return columnOf(columns, first + share * (last - first + 1));
    };
    canvas.onpointermove = (event) => {
        const at = under(event), value = values && bad.has(at) ? 'NaN' : values && values[at];
        canvas.title = `${module.name || '(root)'}, ${stepsText(columns, at)}: ` +
            `${scale.name} ${numberText(value)}`;
    };
    canvas.onclick = (event) => {
        event.stopPropagation();
        setCursor(columns.last[under(event)]);
    };
    const cell = make('div', 'cells');
    cell.append(canvas, make('u'));
    return cell;
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
    const cells = scales.map((scale, i) => {
        const cell = make('td', `map-${i}`);
        cell.append(cellCanvas(module, scale));
        return cell;
    });
    const numbers = scales.map(() => make('td'));
    line.append(...cells, ...numbers);
    if (openModules.has(module.name)) line.className = 'open';
    line.onclick = () => !String(getSelection()) && toggleModule(module.name);
    return {module, line, numbers, scales};
}

function showNumbers({module, line, numbers, scales}) {
    const columns = seriesColumns(training.modules_phase);
    const at = cursor === null ? columns.columns - 1 : columnOf(columns, cursor);
    for (const mark of line.querySelectorAll('.cells u')) placeCursor(mark, columns, at);
    scales.forEach((scale, i) => {
        const values = module[scale.key], bad = values && module.bad.includes(at);
        const value = bad ? 'NaN' : values ? values[at] : null;
        const word = scale.word && !bad && value !== null ? scale.word(value) : '';
        numbers[i].className = `num map-${i}${bad ? ' bad' : ''}`;
        numbers[i].replaceChildren(make('span', word, word ? `${word} ` : ''),
            scale.key === 'dead' && value !== null && !bad
                ? `${Math.round(100 * value)}%` : numberText(value));
    });
}

function showCursor() {
    const columns = seriesColumns(training.modules_phase), at = cursor === null
        ? columns.columns - 1 : columnOf(columns, cursor);
    const where = heatTable && heatTable.querySelector('.axis .num');
    if (where && at >= 0) where.textContent = `at ${stepsText(columns, at)}`;
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

/** The step axis, once below all rows. */
function axisLine(scales) {
    const line = make('tr', 'axis'), {first, last} = training.range;
    line.append(make('td', 'dim', 'x: step'));
    for (let i = 0; i < scales.length; i++) {
        const cell = make('td', `map-${i}`), ends = make('div', 'ends');
        ends.append(make('span', '', first), make('span', '', last));
        cell.append(ends);
        line.append(cell);
    }
    const at = make('td', 'num');
    at.colSpan = scales.length;
    line.append(at);
    return line;
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
        cell.colSpan = shownColumns(heatTable);
        cell.append(panel);
        line.append(cell);
        parts.push(line);
    }
    parts.push(axisLine(scales));
    body.replaceChildren(...parts);
    showCursor();
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

/** A narrow page shows one heat map at a time. */
function mapTabs(scales) {
    const tabs = make('div', 'tabs'), choose = (chosen) => {
        heatTable.dataset.map = chosen;
        [...tabs.children].forEach((tab, i) => {
            tab.ariaPressed = String(i === chosen);
        });
        renderHeat();
    };
    scales.forEach((scale, i) => tabs.append(button(scale.name, () => choose(i))));
    tabs.choose = choose;
    return tabs;
}

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
    const tabs = mapTabs(scales);
    place.append(make('h3', '', 'Modules over steps'), tabs, box);
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
    tabs.choose(0);
    matchMedia('(max-width:719px)').addEventListener('change', renderHeat);
}

function startTraining() {
    const place = document.getElementById('history');
    if (!place) return;
    training = JSON.parse(place.textContent);
    const ends = training.phases.map((one) => one.scalar_columns)
        .filter((one) => one.columns > 0);
    if (!ends.length) return; // no step yet
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
