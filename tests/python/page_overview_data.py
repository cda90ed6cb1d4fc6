"""For page_overview_test.py: the documents of a synthetic training of GPT-2. A gradient
explodes in h.7 and becomes NaN at step 11940; units of h.11 die."""

import functools
import math
import random

import page_server

NEWEST, BAD, FIRST, LAST = 12480, 11940, 11930, 11943
LAYERS = (("ln_1", "LayerNorm"), ("attn", "GPT2Attention"), ("ln_2", "LayerNorm"))
MAKER = "transformer.h.7.attn"


class Leaf:
    """Numbers by time from 0 to 1."""

    def __init__(self, gradient, ratio=None, dead=None, blow=0.0, dies=0.0, seed=0):
        self.at, self.blow, self.dies = (gradient, ratio, dead), blow, dies
        noise = random.Random(seed)
        self.noise = [noise.gauss(0, 0.1) for _ in range(400)]

    def gradient(self, t):
        if self.at[0] is None:
            return None
        grows = self.blow * max(0, (t - 0.82) / 0.137) ** 1.7
        start = 0.75 * math.exp(-t / 0.03) + 0.28 * math.exp(-t / 0.25)
        return self.at[0] * 10 ** (start + grows + self.noise[int(t * 399)])

    def ratio(self, t):
        if self.at[1] is None:
            return None
        return self.at[1] * max(0.004, min(1, t / 0.04) * (1 - 0.8 * t)) * (
            10 ** (self.noise[int(t * 399)] + self.blow * max(0, (t - 0.82) / 0.137) ** 1.5))

    def dead(self, t):
        if self.at[2] is None:
            return None
        gone = self.dies / (1 + math.exp(-(t - 0.665) / 0.028))
        return max(0, self.at[2] * (1 - 0.75 * math.exp(-t / 0.1)) + gone)


class Made:
    def __init__(self):
        self.rows = page_server.Rows()
        self.leaves, self.names, self.classes, self.inside = {}, {}, {}, {}

    def add(self, parent, name, klass, params=0, flags=0, leaf=None):
        place = self.rows.add(parent, name, klass, params, flags)
        above = self.names.get(parent, "")
        self.names[place] = f"{above}.{name}" if above else name if parent >= 0 else ""
        self.classes[place] = klass
        if leaf:
            self.leaves[place] = leaf
        return place


def model():
    made = Made()
    root = made.add(-1, "", "GPT2LMHeadModel", flags=2)
    body = made.add(root, "transformer", "GPT2Model", flags=2)
    made.add(body, "wte", "Embedding", 38597376, leaf=Leaf(0.42, 1.6e-4, seed=1))
    made.add(body, "wpe", "Embedding", 786432, leaf=Leaf(0.05, 4.2e-5, seed=2))
    made.add(body, "drop", "Dropout")
    blocks = made.add(body, "h", "ModuleList", flags=2)
    for i in range(12):
        bad, dies = i == 7, i == 11
        size, seed = 0.8**i * (1 + 0.5 * ((i * 5) % 3 - 1)), 10 * i + 10
        flags = 2 if bad else 4 if dies else 0
        one = made.add(blocks, str(i), "GPT2Block", flags=flags)
        if i == 0:
            made.rows.runs.append([one, 12])
        made.add(one, "ln_1", "LayerNorm", 1536, leaf=Leaf(
            0.028 * size, 3e-4 if dies else 8e-4, blow=bad * 2.1, seed=seed))
        attn = made.add(one, "attn", "GPT2Attention", flags=2 * bad)
        made.add(attn, "c_attn", "Conv1D", 1771776, leaf=Leaf(
            0.16 * size, 1.3e-3, blow=bad * 3.2, seed=seed + 1))
        made.add(attn, "c_proj", "Conv1D", 590592, leaf=Leaf(
            0.11 * size, 1.7e-3, blow=bad * 1.6, seed=seed + 2))
        made.add(one, "ln_2", "LayerNorm", 1536, leaf=Leaf(0.02 * size, 7e-4, seed=seed + 3))
        mlp = made.add(one, "mlp", "GPT2MLP", flags=4 * dies)
        made.add(mlp, "c_fc", "Conv1D", 2362368, leaf=Leaf(0.15 * size, 1.2e-3, seed=seed + 4))
        made.add(mlp, "act", "NewGELU", flags=4 * dies, leaf=Leaf(
            None, None, 0.012 + 0.0028 * i, dies=dies * 0.094, seed=seed + 5))
        made.add(mlp, "c_proj", "Conv1D", 2360064, leaf=Leaf(
            0.14 * size, 1.6e-3, seed=seed + 6))
        made.add(mlp, "dropout", "Dropout")
    made.add(body, "ln_f", "LayerNorm", 1536, leaf=Leaf(0.035, 6e-4, seed=3))
    made.add(root, "lm_head", "Linear", 38597376, flags=64, leaf=Leaf(0.42, 1.6e-4, seed=1))
    return made


@functools.cache
def leaf_numbers(leaf, t):
    return leaf.gradient(t), leaf.ratio(t), leaf.dead(t)


def kinds(made, place, end, t):
    """Numbers of a module: of all leaves in it."""
    if place not in made.inside:
        inside = [leaf for at, leaf in made.leaves.items() if place <= at < end]
        made.inside[place] = inside
    numbers = [leaf_numbers(leaf, t) for leaf in made.inside[place]]
    gradient, ratio, dead = (
        [one[k] for one in numbers if one[k] is not None] for k in range(3)
    )
    return {
        "gradient": math.sqrt(sum(g * g for g in gradient)) if gradient else None,
        "ratio": math.exp(sum(map(math.log, ratio)) / len(ratio)) if ratio else None,
        "dead": sum(dead) / len(dead) if dead else None,
    }


def spoilt(name):
    """Is it not finite in the step BAD?"""
    parts = name.split(".")
    if name in ("", "transformer", "transformer.h", "lm_head"):
        return True
    if parts[1] in ("wte", "wpe"):
        return True
    return parts[1] == "h" and (int(parts[2]) < 7 or parts[2] == "7" and (
        len(parts) == 3 or parts[3] == "ln_1" or name in (MAKER, f"{MAKER}.c_attn")))


def grid(first, last, n, width):
    begin = [first + i * width for i in range(n)]
    end = [at + width - 1 for at in begin[:-1]] + [last]
    return {"columns": n, "first": begin, "last": end, "steps": [b - a + 1 for a, b in
            zip(begin, end)], "width": width}


def empty(kind):
    """Before the first step."""
    columns = {"columns": 0, "first": [], "last": [], "steps": []}
    made = {"kind": kind, "newest": None, "columns": columns, "phase": "train"}
    made |= {"first_bad": None, "close_up": None, "modules": [], "alarms": [], "scalars": []}
    made |= {"phases": [{"phase": "train", "steps": 0, "columns": columns}]}
    return made | {"verdict": None, "text": "no step", "place": []}


def modules(made, document, args, newest=NEWEST, logged=("gradient", "ratio", "dead")):
    first = int(args.get("from", 0))
    last = min(newest, int(args.get("to", 0)) or newest)
    most, width = int(args.get("columns", 120)), 1
    while (last - first) / width >= most:
        width *= 2
    columns = grid(first, last, (last - first) // width + 1, width)
    near = {"first": list(range(FIRST, LAST + 1)), "last": list(range(FIRST, LAST + 1))}
    listed, short = [], lambda x: None if x is None else float(f"{x:.3g}")
    for place, name in made.names.items():
        found = [kinds(made, place, document["end"][place], (a + b) / 2 / NEWEST) for a, b in
                 zip(columns["first"], columns["last"])]
        one = {"name": name, "place": place, "class": made.classes[place]}
        if name == "lm_head":
            one["tied"] = "transformer.wte"
        bad = [i for i, at in enumerate(columns["last"]) if at >= BAD]
        for kind in logged:
            values = [short(cell[kind]) for cell in found]
            if any(value is not None for value in values):
                one[kind] = [None if i in bad else v for i, v in enumerate(values)]
                if "rank" in args:
                    continue
                one[f"{kind}_rank"] = [2] * len(values)
                one[f"{kind}_least"] = [v and short(v * 0.83) for v in one[kind]]
                one[f"{kind}_least_rank"] = [0] * len(values)
        if not set(one) & {"gradient", "ratio", "dead"}:
            continue
        one["bad"], one["bad_share"] = bad, [1.0] * len(bad)
        at = BAD if spoilt(name) else BAD + 1
        one["close_up"] = "".join("1" if step >= at else "0" for step in near["first"])
        listed.append(one)
    if "since" in args:
        cut = columns["first"].index(max(f for f in columns["first"]
                                         if f <= int(args["since"])))
        for one in listed:
            one["bad"] = [i - cut for i in one["bad"] if i >= cut]
            for key, value in one.items():
                if isinstance(value, list) and not key.startswith("bad"):
                    one[key] = value[cut:]
        for key in ("first", "last", "steps"):
            columns[key] = columns[key][cut:]
        columns["columns"] = len(columns["first"])
    return {"kind": "modules", "newest": newest, "phase": "train", "columns": columns,
            "first_bad": BAD if newest >= BAD else None,
            "close_up": near if newest >= BAD else None,
            "ranks": [0, 1, 2, 3], "modules": listed}


def step(made, document, args, newest=NEWEST):
    at = int(args.get("step", newest))
    places, lists = [], {k: [] for k in ("gradient_norm", "update_ratio", "dead_share",
                                         "bad_share")}
    for place, name in made.names.items():
        found = kinds(made, place, document["end"][place], at / NEWEST)
        if not any(value is not None for value in found.values()):
            continue
        bad = at > BAD or (at == BAD and spoilt(name))
        places.append(place)
        for key, kind in (("gradient_norm", "gradient"), ("update_ratio", "ratio"),
                          ("dead_share", "dead")):
            none = found[kind] is None
            lists[key].append(None if none else "NaN" if bad and kind != "dead" else
                              found[kind])
        lists["bad_share"].append(0.57 if bad else 0)
    return {"kind": "step", "newest": newest, "text": f"step {at}", "first": at, "last": at,
            "place": places, **lists}


def training(made, newest=NEWEST):
    columns = grid(0, newest, newest // 32 + 1, 32)
    ts = [at / NEWEST for at in columns["first"]]
    loss = [2.86 + 3.4 * math.exp(-t / 0.035) + 1.5 * math.exp(-t / 0.2) +
            0.05 * math.sin(i * 7) for i, t in enumerate(ts)]
    rate = [6e-4 * min(t / 0.04, 0.1 + 0.45 * (1 + math.cos(math.pi * (t - 0.04) / 1.2)))
            for t in ts]
    loss = ["NaN" if at + 31 >= BAD else value for at, value in zip(columns["first"], loss)]
    healthy = newest < BAD
    places = {name: place for place, name in made.names.items()}
    texts = [
        (BAD, "alarm", "NaN", MAKER, "gradient of its input; 589,824 of 1,572,864 values"),
        (11230, "warning", "exploding", f"{MAKER}.c_attn",
         "gradient norm 0.9599, 21 times its median"),
        (8860, "warning", "dead", "transformer.h.11.mlp.act",
         "412 of 3,072 units never above 0 in 500 steps"),
    ]
    keys = ("step", "severity", "kind", "name", "text")
    alarms = [dict(zip(keys, one)) | {"place": places[one[3]]} for one in texts]
    alarms = [one for one in alarms if one["step"] <= newest]
    verdict = {"role": "alarm", "name": MAKER, "step": BAD}
    verdict["lead"] = f"healthy until step 8859, finite until step {BAD - 1}"
    verdict["text"] = f"NaN first produced by h.7.attn, backward, step {BAD}; 89 calls after"
    if healthy:
        verdict = {"role": "good", "text": f"healthy in {newest + 1} logged steps"}
    return {
        "kind": "training", "newest": newest, "phases": [
            {"phase": "train", "steps": newest, "columns": columns}],
        "segments": [], "alarms": alarms, "loss": "loss", "first_bad": BAD,
        "verdict": verdict,
        "scalars": [
            {"name": "loss", "phase": "train", "newest": "NaN", "value": loss},
            {"name": "lr/0", "phase": "train", "newest": rate[-1], "value": rate},
            {"name": "lr/1", "phase": "train", "newest": rate[-1], "value": rate}],
    }


RUN = {"file": "1", "name": "gpt2-small.scope", "path": "gpt2-small.scope", "format": "run"}
RUN |= {"live": True, "newest_step": NEWEST, "alarms": 3, "version": 1, "model": 1, "loss": "NaN"}
RUN |= {"has": ["graph", "history", "values"]}


def serve(port=0):
    """A server with this one run. edits: {"training": a function that changes it}."""
    made = model()
    document = made.rows.document()
    server = page_server.Server(port)
    server.files = [dict(RUN)]
    server.newest, server.logged = NEWEST, ("gradient", "ratio", "dead")
    none = {"columns": 0, "first": [], "last": [], "steps": []}
    server.documents = {
        "rows 1": document,
        "series 1": {"kind": "series", "columns": none, "series": []},
        "training 1": lambda args: (
            training(made, server.newest) if server.newest else empty("training")
        ),
        "modules 1": lambda args: (
            modules(made, document, args, server.newest, server.logged)
            if server.newest
            else empty("modules")
        ),
        "step 1": lambda args: (
            step(made, document, args, server.newest) if server.newest else empty("step")
        ),
    }
    server.edits = {}
    server.documents |= {name: edited(server, name, document) for name, document in
                         server.documents.items() if callable(document)}
    return server


def edited(server, name, make):
    def answer(args):
        document = make(args)
        server.edits.get(name.split()[0], lambda document: None)(document)
        return document

    return answer


if __name__ == "__main__":
    import sys

    served = serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
    print(served.url, flush=True)
    served.serve_forever()
