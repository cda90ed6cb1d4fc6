"""to_pandas(): tables of a model or a recording as data frames."""

from json import loads


def frame(core, table, tables):
    """The DataFrame of a table of a _core.Model or _core.Run."""
    if table not in tables:
        raise ValueError(f"table must be one of {', '.join(tables)}, not {table!r}")
    return data_frame(_ROWS[table](core))


def data_frame(rows):
    """A DataFrame of dicts. Columns are in the order of first occurrence."""
    try:
        import pandas
    except ImportError as error:
        text = "to_pandas() needs pandas, which is not installed: pip install pandas"
        raise ImportError(text, name="pandas") from error
    rows = list(rows)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return pandas.DataFrame(rows, columns=columns)


def _listed(name):
    return lambda core: loads(core.json("tree"))[name]


def _calls(core):
    return [_call(row) for row in core.calls(None)]


def _call(row):
    """A call in one row, with statistics of the first argument and result."""
    lists = ("inputs", "outputs", "grad_inputs", "grad_outputs")
    flat = {key: value for key, value in row.items() if key not in lists}
    for key, prefix in (("inputs", "in_"), ("outputs", "out_")):
        first = (row.get(key) or [{}])[0]
        flat[prefix + "shape"] = first.get("shape")
        for name in ("mean", "std", "min", "max", "nan"):
            flat[prefix + name] = (first.get("stats") or {}).get(name)
    return flat


def _parameters(core):
    rows = []
    for row in core.params():
        stats = row.get("stats") or {}
        rows.append({**{k: v for k, v in row.items() if k != "stats"}, **stats})
    return rows


_ROWS = {
    "tensors": _listed("tensors"),
    "modules": _listed("modules"),
    "calls": _calls,
    "parameters": _parameters,
}
