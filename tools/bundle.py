#!/usr/bin/env python3
"""bundle.py [MODULE:]FILE[+FILE...]... - ES modules as one script, or its sizes.

A module is one file, or several that share one scope (graph:a.js+b.js). Each becomes a
function that returns its exports; named imports become variables. Comments, indentation
and blanks between signs are dropped. Imports that cannot be resolved, cycles, default
exports, exports that change and dynamic imports are errors, with a sentence each."""

import re
import sys
from pathlib import Path

WORD = re.compile(r"[\w$\u0080-\uffff]+")
BLANK = re.compile(r"\s+")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
STRING = re.compile(r"'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"", re.S)
REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
TEMPLATE = re.compile(r"(?:[^`\\$]|\\.|\$(?!\{))*(?:`|\$\{)", re.S)
# A slash behind one of these words starts a regular expression.
BEFORE_REGEX = set(
    "return typeof case in of delete void throw new else do instanceof yield".split()
)
OPENS, CLOSES = "([{", ")]}"


class Refused(Exception):
    """A sentence about what is wrong with a module."""


class Token:
    """kind: word, sign, string, template, regex; `line` of the file; `gap` before it:
    nothing, a blank or a new line; `depth` of brackets around it."""

    def __init__(self, kind, text, line, gap, depth):
        self.kind, self.text, self.line, self.gap = kind, text, line, gap
        self.depth = depth


class Scanner:
    """The tokens of one file, without comments."""

    def __init__(self, text, file):
        self.text, self.file = text, file
        self.at, self.line, self.gap = 0, 1, ""
        self.tokens = []
        self.open = []  # brackets: "(", "if(", "[", "{", "${"
        self.after_head = False  # was the last ")" the end of if (...)?

    def refuse(self, sentence):
        raise Refused(f"{self.file}:{self.line}: {sentence}")

    def take(self, pattern, what):
        found = pattern.match(self.text, self.at)
        if not found:
            self.refuse(f"{what} does not end")
        self.at = found.end()
        return found[0]

    def add(self, kind, text):
        token = Token(kind, text, self.line, self.gap, len(self.open))
        self.tokens.append(token)
        self.line += text.count("\n")
        self.gap = ""

    def skip(self):
        """Blanks and comments."""
        found = BLANK.match(self.text, self.at) or COMMENT.match(self.text, self.at)
        if not found:
            return False
        self.at = found.end()
        self.line += found[0].count("\n")
        self.gap = "\n" if "\n" in found[0] or self.gap == "\n" else " "
        return True

    def regex_follows(self):
        if not self.tokens:
            return True
        last = self.tokens[-1]
        if last.kind == "word":
            return last.text in BEFORE_REGEX
        if last.kind != "sign":
            return False
        if last.text == "}":
            self.refuse("a slash behind } can mean two things: use brackets")
        if last.text == ")":
            return self.after_head
        if last.text in "+-" and len(self.tokens) > 1 and not last.gap:
            return self.tokens[-2].text != last.text  # i++ / 2
        return last.text != "]"

    def template(self, start):
        """From ` or from the } that ends what is put in."""
        self.at += 1
        text = start + self.take(TEMPLATE, "a template")
        self.add("template", text)
        if text.endswith("${"):
            self.open.append("${")

    def sign(self, sign):
        if sign in OPENS:
            last = self.tokens[-1].text if self.tokens else ""
            head = sign == "(" and last in ("if", "while", "for")
            self.add("sign", sign)
            self.open.append("if(" if head else sign)
            return
        if sign in CLOSES:
            if not self.open:
                self.refuse(f"{sign} closes nothing")
            opened = self.open.pop()
            if opened[-1] != OPENS[CLOSES.index(sign)]:
                self.refuse(f"{sign} closes {opened}")
            self.after_head = opened == "if("
            if opened == "${":
                self.at -= 1
                self.gap = ""
                self.template("}")
                return
        self.add("sign", sign)

    def scan(self):
        while self.at < len(self.text):
            if self.skip():
                continue
            char = self.text[self.at]
            if WORD.match(char):
                self.add("word", self.take(WORD, "a word"))
            elif char in "'\"":
                self.add("string", self.take(STRING, "a string"))
            elif char == "`":
                self.template("`")
            elif char == "/" and self.regex_follows():
                self.add("regex", self.take(REGEX, "a regular expression"))
            else:
                self.at += 1
                self.sign(char)
        if self.open:
            self.refuse(f"{self.open[-1]} is never closed")
        return self.tokens


def glue(before, token):
    """What stays between two tokens."""
    if not token.gap or not before:
        return ""
    a, b = before.text[-1], token.text[0]
    if token.gap == "\n":
        dropped = before.kind == "sign" and a in "{([,"
        dropped = dropped or (token.kind == "sign" and b in ")]}.")
        return "" if dropped else "\n"
    word = WORD.match(a) and before.kind in ("word", "regex")
    if word and (WORD.match(b) and token.kind == "word" or b == "."):
        return " "
    return " " if (a in "+-/" and a == b) or b == "." else ""


def write(tokens):
    parts, before = [], None
    for token in tokens:
        parts += [glue(before, token), token.text]
        before = token
    return "".join(parts)


def strip_script(text, file="script"):
    return write(Scanner(text, file).scan())


def strip_style(text):
    """CSS without comments, indentation and line ends."""
    strings = r"(\"[^\"]*\"|'[^']*'|url\([^)]*\))|/\*.*?\*/|\s*\n\s*"
    text = re.sub(strings, lambda found: found[1] or "", text, flags=re.S)
    strings = r"(\"[^\"]*\"|'[^']*'|url\([^)]*\))|\s*([{};,>])\s*"
    text = re.sub(strings, lambda found: found[1] or found[2], text, flags=re.S)
    return text.replace(";}", "}") + "\n"


class Module:
    def __init__(self, argument):
        name, _, files = argument.rpartition(":")
        self.files = files.split("+")
        self.name = name or Path(self.files[0]).stem
        self.imports = {}  # module: {name there: name here}
        self.exports = {}  # name outside: name inside
        self.where = {}  # module: file and line that imports it
        self.body = []
        for path in self.files:
            self.file = Path(path).name
            tokens = Scanner(Path(path).read_text("utf-8"), self.file).scan()
            if tokens:
                tokens[0].gap = "\n"
            self.read(tokens)

    def refuse(self, token, sentence):
        raise Refused(f"{self.file}:{token.line}: {sentence}")

    def read(self, tokens):
        i = 0
        while i < len(tokens):
            token = tokens[i]
            here = token.kind == "word" and (i == 0 or tokens[i - 1].text != ".")
            after = tokens[i + 1].text if i + 1 < len(tokens) else ""
            if here and token.text == "import" and after != ":":
                i = self.read_import(tokens, i)
            elif here and token.text == "export" and token.depth == 0:
                i = self.read_export(tokens, i)
            elif here and token.text == "await" and token.depth == 0:
                self.refuse(token, "await at the top level cannot be bundled")
            else:
                self.body.append(token)
                i += 1

    def names(self, tokens, i):
        """{a, b as c} from i on: pairs, and the index behind it."""
        pairs, i = [], i + 1
        while tokens[i].text != "}":
            name = tokens[i].text
            as_name = name
            if tokens[i + 1].text == "as":
                as_name = tokens[i + 2].text
                i += 2
            if "default" in (name, as_name):
                self.refuse(tokens[i], "there are no default exports: name it")
            pairs.append((name, as_name))
            i += 1
            if tokens[i].text == ",":
                i += 1
        return pairs, i + 1

    def read_import(self, tokens, i):
        first = tokens[i]
        if tokens[i + 1].text in ("(", "."):
            self.refuse(first, "dynamic import and import.meta cannot be bundled")
        if tokens[i + 1].text != "{":
            self.refuse(first, "only named imports: import {name} from './file.js'")
        pairs, i = self.names(tokens, i + 1)
        path = tokens[i + 1].text[1:-1]
        found = re.fullmatch(r"\./(\w+)\.js", path)
        if not found:
            self.refuse(first, f"imports {path}: only ./name.js of this page")
        module = self.imports.setdefault(found[1], {})
        module.update({here: there for there, here in pairs})
        self.where.setdefault(found[1], f"{self.file}:{first.line}")
        return self.behind(tokens, i + 2)

    @staticmethod
    def behind(tokens, i):
        """Behind the semicolon, if there is one."""
        return i + 1 if i < len(tokens) and tokens[i].text == ";" else i

    def read_export(self, tokens, i):
        first, kind = tokens[i], tokens[i + 1].text
        if kind == "default":
            self.refuse(first, "there are no default exports: name it")
        if kind in ("let", "var"):
            self.refuse(first, "an exported binding never changes: export a const")
        if kind == "{":
            pairs, i = self.names(tokens, i + 1)
            if i < len(tokens) and tokens[i].text == "from":
                self.refuse(first, "a module does not export names of another")
            self.exports.update({there: here for here, there in pairs})
            return self.behind(tokens, i)
        if kind not in ("const", "function", "async", "class"):
            self.refuse(first, f"export {kind} is not known")
        at = i + 2 + (kind == "async")
        at += tokens[at].text == "*"
        if tokens[at].kind != "word":
            self.refuse(first, "export one name with each const")
        if kind == "const":
            self.check_one(tokens, at)
        self.exports[tokens[at].text] = tokens[at].text
        tokens[i + 1].gap = first.gap
        return i + 1

    def check_one(self, tokens, at):
        for token in tokens[at:]:
            if token.depth == 0 and token.text == ";":
                return
            if token.depth == 0 and token.text == "," and token.kind == "sign":
                self.refuse(token, "export one name with each const")

    def check(self, modules):
        for name, wanted in self.imports.items():
            if name not in modules:
                raise Refused(f"{self.where[name]}: {name}.js is not in the list")
            for there in wanted.values():
                if there not in modules[name].exports:
                    raise Refused(f"{self.where[name]}: {name}.js has no export {there}")

    def write(self):
        lines = []
        for name, wanted in self.imports.items():
            pairs = [
                here if here == there else f"{there}:{here}"
                for here, there in wanted.items()
            ]
            if pairs:
                lines.append(f"const{{{','.join(pairs)}}}=${name};")
        head = "".join(lines)
        body = write(self.body).strip()
        pairs = [
            there if here == there else f"{there}:{here}"
            for there, here in self.exports.items()
        ]
        tail = f"\nreturn{{{','.join(pairs)}}};" if pairs else ""
        name = f"const ${self.name}=" if pairs else ""
        return f"{name}(()=>{{{head}\n{body}{tail}\n}})();\n"


def check_order(modules):
    """The modules, each behind those it imports."""
    state, path, ordered = {}, [], []

    def visit(name):
        if state.get(name) == "done":
            return
        path.append(name)
        if name in state:
            ring = " -> ".join(path[path.index(name) :])
            raise Refused(f"these modules import each other: {ring}")
        state[name] = "open"
        for other in modules[name].imports:
            visit(other)
        state[name] = "done"
        path.pop()
        ordered.append(modules[name])

    for name in modules:
        visit(name)
    return ordered


def bundle(arguments):
    """The script, and the size of each module in it."""
    modules = {}
    for argument in arguments:
        module = Module(argument)
        if module.name in modules:
            raise Refused(f"there are two modules {module.name}")
        modules[module.name] = module
    for module in modules.values():
        module.check(modules)
    parts = [(module.name, module.write()) for module in check_order(modules)]
    script = "(()=>{'use strict';\n" + "".join(text for _, text in parts) + "})();\n"
    return script, {name: len(text.encode()) for name, text in parts}


def main():
    script, sizes = bundle(sys.argv[1:])
    for name, size in sizes.items():
        print(f"{size:7} {name}")
    print(f"{len(script.encode()):7} bytes")


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(str(refused))
