
/* --- Details of one row: facts, statistics, pictures of what was kept */

const HEADS = ['', 'shape', 'dtype', 'min', 'max', 'mean', 'std', 'zeros', 'NaN, Inf'];
const SHEET = 8; // channels side by side
const BAD = 255, ZERO = 127; // as in report_picture.c
const pictures = new Set(); // drawn ones: [canvas, picture]

function factsElement(row, facts) {
    const list = make('dl');
    const add = (name, value) =>
        list.append(make('dt', '', name), make('dd', '', value));
    if (path(row)) add('name', path(row));
    for (let i = 0; i < facts.length; i += 2)
        add(data.texts[facts[i]], data.texts[facts[i + 1]]);
    return list;
}

function valuesElement(values) {
    const box = make('div', 'scroll'), list = make('table', 'values');
    const head = make('tr');
    HEADS.forEach((one, i) => head.append(make('th', i > 2 ? 'num' : '', one)));
    list.append(head);
    for (let i = 0; i < values.length; i += HEADS.length) {
        const line = make('tr');
        for (let k = 0; k < HEADS.length; k++) {
            const bad = Array.isArray(values[i + k]); // NaN or Inf
            const at = bad ? values[i + k][0] : values[i + k];
            const value = typeof at === 'string' ? at : data.texts[at];
            line.append(make('td', `${k > 2 ? 'num' : ''}${bad ? ' bad' : ''}`, value));
        }
        list.append(line);
    }
    box.append(list);
    return box;
}

function colourBytes(name) {
    const style = getComputedStyle(document.documentElement);
    const hex = parseInt(style.getPropertyValue(name).trim().slice(1), 16);
    return [hex >> 16, (hex >> 8) & 255, hex & 255];
}

/** The colour at 0 to 1, as bytes; linear in sRGB between the stops. */
function rampColour(stops, place) {
    const at = Math.min(1, Math.max(0, place)) * (stops.length - 1);
    const i = Math.min(stops.length - 2, Math.floor(at));
    return stops[i].map((one, k) => one + (stops[i + 1][k] - one) * (at - i));
}

/** The signed ramp as 255 colours. */
function rampColours() {
    const stops = Array.from({length: 11}, (_, i) => colourBytes(`--div-${i}`));
    const colours = Array.from({length: 2 * ZERO + 1}, (_, code) =>
        rampColour(stops, code / (2 * ZERO)));
    return {colours, ground: colourBytes('--surface'), bad: colourBytes('--alarm'),
        badGround: colourBytes('--alarm-soft')};
}

/** One canvas: a heat map, or the channels side by side with a line between them. */
function draw(canvas, picture) {
    const {n, height, width} = picture;
    const points = Uint8Array.from(atob(picture.points), (c) => c.charCodeAt(0));
    const across = Math.min(n, SHEET), side = n > 1 ? 72 : 512;
    const scale = Math.max(1, Math.min(16, Math.floor(side / width)));
    const tall = height * scale < 16 ? Math.ceil(16 / height) : scale;
    const stepX = width * scale + 2, stepY = height * tall + 2;
    canvas.width = across * stepX - 2;
    canvas.height = Math.ceil(n / across) * stepY - 2;
    const ramp = rampColours();
    const image = new ImageData(canvas.width, canvas.height);
    for (let y = 0; y < canvas.height; y++) {
        for (let x = 0; x < canvas.width; x++) {
            const plane = Math.floor(y / stepY) * across + Math.floor(x / stepX);
            const px = Math.floor((x % stepX) / scale);
            const py = Math.floor((y % stepY) / tall);
            let colour = ramp.ground;
            if (plane < n && px < width && py < height) {
                const code = points[(plane * height + py) * width + px];
                const hatched = (x + y) % 5 < 2; // at 45 degrees
                if (code !== BAD) colour = ramp.colours[code];
                else colour = hatched ? ramp.bad : ramp.badGround;
            }
            image.data.set(colour, 4 * (y * canvas.width + x));
            image.data[4 * (y * canvas.width + x) + 3] = 255;
        }
    }
    canvas.getContext('2d').putImageData(image, 0, 0);
}

function gridElement(picture) {
    const list = make('table', 'grid');
    for (const values of picture.grid) {
        const line = make('tr');
        for (const value of values)
            line.append(make('td', Array.isArray(value) ? 'nan' : '', value));
        list.append(line);
    }
    return list;
}

function pictureElement(name, picture) {
    const figure = make('figure'), canvas = make('canvas'), ramp = make('div', 'ramp');
    const box = make('div', 'scroll');
    const caption = make('figcaption');
    caption.append(make('b', '', name), ` kept: ${picture.note}`);
    canvas.setAttribute('role', 'img');
    canvas.ariaLabel = `${name}: ${picture.note}`;
    draw(canvas, picture);
    pictures.add([canvas, picture]);
    ramp.append(`\u2212${picture.most}`, make('i'), picture.most);
    if (atob(picture.points).includes(String.fromCharCode(BAD)))
        ramp.append(make('span', 'bad', 'hatched: NaN or Inf'));
    box.append(gridElement(picture));
    figure.append(caption, canvas, ramp);
    if (picture.more) figure.append(make('p', 'dim', 'The first values:'));
    figure.append(box);
    return figure;
}

function detailElement(row) {
    const parts = make('div');
    const at = CELLS + 2 * data.columns.length;
    const [facts, values, kept] = rows[row].slice(at);
    parts.append(factsElement(row, facts));
    if (values.length) parts.append(valuesElement(values));
    for (let i = 0; kept && i < kept.length; i += 2)
        parts.append(pictureElement(data.texts[kept[i]], data.pictures[kept[i + 1]]));
    return wideElement('detail', parts);
}

/** Redraw pictures in light colours for printing, and back. */
function lightPictures(printing) {
    const theme = document.documentElement.dataset.theme;
    if (printing) {
        lightPictures.theme = theme;
        setTheme('light');
    } else {
        setTheme(lightPictures.theme);
    }
    for (const [canvas, picture] of pictures)
        if (canvas.isConnected) draw(canvas, picture);
}
