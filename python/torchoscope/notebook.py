"""Notebooks: HTML output, and %load_ext torchoscope."""

MOST_LINES = 200  # of the text stored with the HTML


class Displayed:
    """Shows str() as text, and `_notebook()`, if any, as HTML without scripts."""

    __slots__ = ()

    def _repr_mimebundle_(self, include=None, exclude=None):
        html = self._notebook()
        if html is None:
            return {"text/plain": repr(self)}
        return {"text/plain": few_lines(str(self)), "text/html": html}


def few_lines(text):
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        left = len(lines) - MOST_LINES
        lines[MOST_LINES:] = [f"… {left:,} more lines: print() shows them all"]
    return "\n".join(lines)


def load(ipython):
    """Add the magic %explore to an IPython shell."""

    def explore(line):
        """%explore [expression]: explore a model, a recording or a path, with inputs
        after commas. Without an expression: the last result."""
        from torchoscope.explorer import explore as show

        line = line.strip()
        found = ipython.ev(line) if line else ipython.user_ns.get("_")
        if not line and (found is None or isinstance(found, str) and not found):
            from IPython.core.error import UsageError

            raise UsageError("no last result; use %explore EXPRESSION")
        show(*found) if isinstance(found, tuple) else show(found)

    ipython.register_magic_function(explore, "line", "explore")
