
/* The tree of rows, their order, the search, and the lines of the table. */

function makeTree() {
    const stack = [];
    rows = data.rows;
    above = new Int32Array(rows.length).fill(-1);
    ends = new Int32Array(rows.length).fill(rows.length);
    rows.forEach((row, i) => {
        while (stack.length > row[0]) ends[stack.pop()] = i;
        if (stack.length) above[i] = stack[stack.length - 1];
        stack.push(i);
    });
    open = treeOpen = new Uint8Array(rows.length);
}

function below(row) {
    const list = [];
    for (let at = row + 1; at < ends[row]; at = ends[at]) list.push(at);
    return list;
}

/** Open level by level while few rows are visible, and the first alarms. */
function openFirst() {
    const queue = [0];
    let count = 1;
    while (queue.length) {
        const row = queue.shift();
        const list = flag(row, RUN) ? [] : below(row);
        if (!list.length || (row > 0 && count + list.length > FEW)) continue;
        open[row] = 1;
        count += list.length;
        queue.push(...list);
    }
    rows.filter((row) => row[1] & ALARM).slice(0, 5).forEach((row) => {
        for (let at = above[rows.indexOf(row)]; at >= 0; at = above[at]) open[at] = 1;
    });
}

/* --- Order */

const names = new Intl.Collator('en', {numeric: true});

function compare(a, b) {
    const at = CELLS + 2 * sorted.column;
    let order;
    if (sorted.column < 0) order = names.compare(text(a, 3), text(b, 3));
    else if (sorted.number) order = rows[a][at + 1] - rows[b][at + 1];
    else order = names.compare(text(a, at), text(b, at));
    return (sorted.down ? -order : order) || a - b;
}

function ordered(row) {
    if (!sorted) return below(row);
    if (!orders.has(row)) orders.set(row, below(row).sort(compare));
    return orders.get(row);
}

/** Each click: descending, ascending, model order; names ascending first. */
function sortBy(head) {
    const column = Number(head.dataset.sort), number = head.classList.contains('num');
    const first = !sorted || sorted.column !== column;
    if (first) sorted = {column, number, down: number};
    else if (sorted.down === number) sorted.down = !number;
    else sorted = null;
    orders = new Map();
    for (const one of table.tHead.querySelectorAll('th'))
        one.removeAttribute('aria-sort');
    if (sorted) head.ariaSort = sorted.down ? 'descending' : 'ascending';
    render();
}

/* --- Search */

/** Rows whose name or class contains the text; with a dot, the full name. */
function search() {
    const wanted = field.value.trim().toLowerCase();
    limit = AT_ONCE;
    keep = hits = null;
    open = treeOpen;
    found.textContent = '';
    if (wanted) {
        mark(wanted);
        const n = hits.reduce((sum, hit) => sum + hit, 0);
        found.textContent = n === 1 ? '1 match' : `${n} matches`;
    }
    current = 0;
    render();
}

function mark(wanted) {
    const full = wanted.includes('.');
    hits = new Uint8Array(rows.length);
    keep = new Uint8Array(rows.length);
    open = new Uint8Array(rows.length);
    const paths = new Array(full ? rows.length : 0);
    for (let i = 0; i < rows.length; i++) {
        const name = text(i, 3);
        if (full) {
            const up = i > 0 ? paths[above[i]] : '';
            paths[i] = i === 0 || flag(i, RUN) ? up : up ? `${up}.${name}` : name;
        }
        const where = full ? paths[i] : `${name} ${text(i, 4)}`;
        hits[i] = !flag(i, RUN) && where.toLowerCase().includes(wanted);
        keep[i] = hits[i] || (i > 0 && keep[above[i]]);
    }
    for (let i = rows.length - 1; i > 0; i--)
        if (hits[i] || open[i]) keep[above[i]] = open[above[i]] = 1;
}

/* --- Rows */

/** The visible rows, in order. */
function visible() {
    const list = [], stack = [0];
    while (stack.length) {
        const row = stack.pop();
        if (keep && !keep[row]) continue;
        list.push(row);
        if (!open[row]) continue;
        const children = ordered(row);
        for (let i = children.length - 1; i >= 0; i--) stack.push(children[i]);
    }
    return list;
}

function nameCell(row) {
    const cell = make('td', 'name');
    const family = data.families[rows[row][2]];
    const chevron = make('span', 'ch');
    const step = innerWidth < 720 ? 10 : 16, deepest = innerWidth < 720 ? 6 : 14;
    cell.style.paddingLeft = `${6 + step * Math.min(rows[row][0], deepest)}px`;
    if (hasBelow(row))
        chevron.append(
            icon('i', open[row] ? 'M3.5 5.5L7 9l3.5-3.5' : 'M5.5 3.5L9 7l-3.5 3.5'));
    const swatch = make('i', 'sw');
    if (family && !flag(row, RUN)) swatch.style.background = `var(--f-${family})`;
    cell.append(chevron, swatch);
    if (flag(row, ALARM | WARN))
        cell.append(icon(`i mk ${flag(row, ALARM) ? 'alarm' : 'warn'}`,
            'M7 2l5.5 10h-11z', 'M7 6v2.6M7 10.4v.1'));
    const [what, bad] = text(row, 4).split(/ {2}(?=NaN |Inf )/);
    cell.append(make('b', '', text(row, 3)), ' ', make('span', 'dim', what));
    if (bad) {
        if (!flag(row, ALARM)) cell.append(make('span', 'dot'));
        cell.append(' ', make('span', 'bad', bad));
    }
    cell.title = `${path(row)} ${text(row, 4)}`.trim();
    return cell;
}

function rowElement(row) {
    const line = make('tr', flag(row, DIM) ? 'off' : '');
    line.dataset.row = row;
    line.tabIndex = row === current ? 0 : -1;
    line.ariaLevel = rows[row][0] + 1;
    if (hasBelow(row)) line.ariaExpanded = open[row] === 1;
    if (hits && hits[row]) line.classList.add('hit');
    line.append(nameCell(row));
    data.columns.forEach((column, c) => {
        const head = table.tHead.querySelector(`th[data-sort="${c}"]`);
        const cell = make('td', head.className, text(row, CELLS + 2 * c));
        if (!column.number) cell.title = cell.textContent;
        line.append(cell);
        if (!column.bar) return;
        const bar = make('td', `bar wide${column.id === 'time' ? ' t' : ''}`);
        const amount = rows[row][CELLS + 2 * c + 1];
        if (amount > 0) {
            const share = make('u');
            share.style.width = `${Math.min(100, 100 * amount / column.whole)}%`;
            bar.append(share);
        }
        line.append(bar);
    });
    return line;
}

/** A line that is not a row of the tree. */
function wideElement(className, content) {
    const line = make('tr', className), cell = make('td');
    cell.colSpan = shownColumns(table);
    cell.append(content);
    line.append(cell);
    return line;
}

function moreElement() {
    const left = (shown.length - limit).toLocaleString('en');
    return wideElement('more', button(`Show 1,000 more (${left} not shown)`, () => {
        limit += AT_ONCE;
        render();
    }));
}

function render() {
    const parts = [];
    shown = visible();
    if (!shown.includes(current)) current = 0;
    for (const row of shown.slice(0, limit)) {
        parts.push(rowElement(row));
        if (details.has(row)) parts.push(detailElement(row));
    }
    if (shown.length > limit) parts.push(moreElement());
    if (!shown.length) {
        const where = field.value.includes('.') ? 'full name' : 'name or class';
        parts.push(wideElement('more',
            `No ${where} has \u201c${field.value.trim()}\u201d in it.`));
    }
    body.replaceChildren(...parts);
    document.body.dataset.ready = shown.length;
}

/** The number of visible columns: phones show fewer. */
function shownColumns(of) {
    return [...of.tHead.rows[0].cells].filter((cell) => cell.offsetWidth > 0).length;
}
