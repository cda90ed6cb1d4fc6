
/* --- The scales of the heat map of modules: each column has its own ramp */

const HEALTHY = [1e-4, 1e-2]; // update / weight

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
        note: 'log, per step',
        missing: 'not logged: no optimizer step was seen',
        ends: ['1e\u221206', '1e\u221204 usual 0.01', '1'],
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
    ends.append(...scale.ends.map((one) => make('span', '', one)));
    box.append(ends);
    return box;
}
