"""Every known way to run something when a file is loaded, one small file each.

All names and commands are here to be read, never run; what a reader must say of each is
as in hostile.py. Where a scanner once missed it, the comment says which."""

import pickle

from safety.by_hand import (
    COMMAND,
    GOOD,
    ONES,
    SYSTEM,
    Entry,
    apply,
    archive,
    call,
    dictionary,
    made,
    named,
    number,
    raw,
    stack_named,
    storage,
    tensor,
    text,
    torch_zip,
    whole,
)

UNSAFE = {"verdict": ["unsafe"]}
NOT_SAFE = {"verdict": ["unsafe", "inconclusive"]}
UNKNOWN = {"verdict": ["needs code"]}
EMPTY = named("collections", "OrderedDict") + b")R"

# Functions that run, load or write something; no list of these is ever complete.
FUNCTIONS = [
    ("pip", "main"),  # CVE-2025-1716
    ("pip._internal", "main"),
    ("timeit", "timeit"),  # CVE-2025-71351
    ("pkgutil", "resolve_name"),  # GHSA-vvpj-8cmc-gx39
    ("importlib", "import_module"),
    ("uuid", "_get_command_stdout"),  # CVE-2026-56315, and the next five
    ("imaplib", "IMAP4_stream"),
    ("_pyrepl.pager", "pipe_pager"),
    ("_osx_support", "_read_output"),
    ("_osx_support", "_find_build_tool"),
    ("_aix_support", "_read_cmd_output"),
    ("logging", "FileHandler"),  # CVE-2026-56304
    ("asyncio.unix_events", "_UnixSubprocessTransport._start"),  # CVE-2025-10157
    ("torch.utils.bottleneck.__main__", "run_cprofile"),
    ("torch.utils.bottleneck.__main__", "run_autograd_prof"),
    ("torch._dynamo.guards", "GuardBuilder.get"),
    ("torch.fx.experimental.symbolic_shapes", "ShapeEnv.evaluate_guards_expression"),
    ("torch.utils.collect_env", "run"),
    ("torch.utils.data.datapipes.utils.decoder", "basichandlers"),
    ("torch.jit.unsupported_tensor_ops", "execWrapper"),
    ("torch.utils._config_module", "ConfigModule.load_config"),
    ("torch.library", "torch.utils.collect_env.run"),  # modelscan #338
    ("torch", "os.system"),
    ("torch", "load"),
    ("torch", "from_file"),
    ("multiprocessing.util", "spawnv_passfds"),
    ("pandas.io.parsers.readers", "read_csv"),
    ("mlflow.projects.backend.local", "_run_entry_point"),
    ("numpy.testing._private.utils", "runstring"),
    ("numpy.f2py.crackfortran", "getlincoef"),
    ("numpy", "load"),
    ("numpy", "core._internal.sys.modules.get"),
    ("zlib", "decompress"),
    ("base64", "b64decode"),
    ("marshal", "loads"),
    ("pickle", "loads"),  # modelscan #267
    ("_pickle", "loads"),
    ("types", "CodeType"),
    ("types", "FunctionType"),
    ("ctypes", "CDLL"),
    ("_posixsubprocess", "fork_exec"),
    ("_interpreters", "run_string"),  # GHSA-6ggj-6f2q-f7mx
    ("_xxsubinterpreters", "run_string"),
    ("runpy", "_run_code"),
    ("cProfile", "runctx"),
    ("profile", "Profile.run"),
    ("trace", "Trace.runctx"),
    ("bdb", "Bdb.run"),
    ("pdb", "run"),
    ("doctest", "debug_script"),
    ("lib2to3.pgen2.grammar", "Grammar.loads"),
    ("lib2to3.pgen2.pgen", "ParserGenerator.make_label"),
    ("idlelib.run", "Executive.runcode"),
    ("idlelib.pyshell", "ModifiedInterpreter.runcommand"),
    ("idlelib.autocomplete", "AutoComplete.get_entity"),
    ("idlelib.debugobj", "ObjectTreeItem.SetText"),
    ("idlelib.calltip", "get_entity"),
    ("code", "InteractiveInterpreter.runcode"),
    ("ensurepip", "_run_pip"),
    ("distutils.file_util", "write_file"),
    ("pty", "spawn"),
    ("pydoc", "pipepager"),
    ("functools", "reduce"),
    ("itertools", "starmap"),
    ("builtins", "map"),
    ("builtins", "type"),
    ("builtins", "exec"),
    ("builtins", "setattr"),
    ("operator", "methodcaller"),
    ("operator", "itemgetter"),
    ("_operator", "attrgetter"),
    ("collections", "_itemgetter"),
    ("webbrowser", "open"),
    ("urllib.request", "urlopen"),
    ("requests.api", "get"),
    ("shutil", "rmtree"),
    ("_io", "FileIO"),
    ("codecs", "open"),
    ("bz2", "open"),
    ("configparser", "RawConfigParser.read"),
    ("site", "main"),
    ("atexit", "register"),
    ("venv", "create"),
    ("weakref", "finalize"),
    ("cloudpickle.cloudpickle", "_make_function"),
    ("dill._dill", "_create_function"),
]


def function_calls():
    for module, name in FUNCTIONS:
        word = f"{module}.{name}".replace(".", "_")
        yield f"call_{word}", whole(call(module, name, text(COMMAND))), UNSAFE
    for module, name in FUNCTIONS[:12]:
        body = apply(stack_named(module, name), text(COMMAND))
        word = f"{module}.{name}".replace(".", "_")
        yield f"call4_{word}", b"\x80\x04" + body + b"0N.", UNSAFE


def hidden_names():
    """The name is not where a scanner looks for it."""
    four = b"\x80\x04"
    argument = text(COMMAND) + b"\x85R"
    # What PUT and MEMOIZE number by themselves is one memo (picklescan #14).
    memo = text("posix") + b"q\0" + text("system") + b"q\1" + text("torch._utils")
    memo += b"\x94" + text("_rebuild_tensor_v2") + b"\x94"
    yield "memo_mixed", four + memo + b"h\0h\1\x93" + argument + b".", UNSAFE
    # CVE-2025-71325: module and name come out of the memo in the other order.
    yield "memo_swapped", four + text("system") + b"\x940" + text("posix") + (
        b"h\0\x93" + argument + b"."
    ), UNSAFE
    after = {"findings": ["pickle-malformed"], "verdict": ["unsafe"]}
    yield "then_missing_memo", four + SYSTEM + b"h\x7f.", after
    parts = b"C\2os" + text("system")
    yield "then_bytes_name", four + SYSTEM + parts + b"\x93.", UNSAFE
    yield "then_int_name", four + SYSTEM + b"K*" + text("os") + b"\x93.", UNSAFE
    yield "bytearray_name", four + text("os") + b"\x96\6\0\0\0\0\0\0\0system" + (
        b"\x93" + argument + b"."
    ), UNSAFE
    yield "then_garbage", whole(SYSTEM)[:-1] + b"\xff" * 40, after
    yield "then_cut", whole(SYSTEM + text("x" * 60))[:-30], after
    yield "then_7z", whole(SYSTEM) + b"7z\xbc\xaf\x27\x1c" + bytes(40), UNSAFE
    yield "popped", whole(SYSTEM + b"0N"), UNSAFE
    yield "popped_mark", whole(b"(" + SYSTEM + b"1N"), UNSAFE
    yield "in_a_key", whole(b"}" + SYSTEM + b"Ns"), UNSAFE
    yield "in_a_state", whole(made("my", "Net") + SYSTEM + b"b"), UNSAFE
    yield "in_a_persistent_id", whole(SYSTEM + b"Q"), UNSAFE
    yield "extension_called", b"\x80\x02\x82\x07" + argument + b".", UNSAFE
    yield "python2", b"c__builtin__\napply\n(cos\nsystem\n(S'id'\nttR.", UNSAFE
    yield "inst", b"(S'id'\nios\nsystem\n.", UNSAFE
    yield "obj", b"(cpty\nspawn\nS'id'\no.", UNSAFE  # fickling #108
    yield "frames", four + b"\x95\1\0\0\0\0\0\0\0" + SYSTEM + b".", UNSAFE


def replaced_attributes():
    """BUILD, SETITEM and APPEND on a class or module change what its name means."""
    override = {"findings": ["pickle-override"], "verdict": ["unsafe"]}
    # modelscan #330: numpy.size.shape becomes numpy's builtins, by BUILD with slots.
    size, builtins = stack_named("numpy", "size"), stack_named("numpy", "__builtins__")
    slots = b"}}" + text("shape") + builtins + b"s\x86"
    body = size + slots + b"b0" + apply(size, size, text("eval"))
    yield "numpy_slots", b"\x80\x04" + body + text("1") + b"\x85R.", override
    # modelscan #85: attributes that are then used as module and name.
    prod = stack_named("numpy", "prod") + b"N}" + text("a") + text("posix")
    prod += b"s" + text("b") + text("system") + b"s\x86b0"
    parts = stack_named("numpy", "prod.a") + stack_named("numpy", "prod.b") + b"\x93"
    body = apply(parts, text(COMMAND))
    yield "numpy_attributes", b"\x80\x04" + prod + body + b".", override
    # modelscan #89: a dict of builtins, and a method to take from it.
    get = stack_named("builtins", "dict.get")
    found = apply(get, builtins, text("exec"))
    yield "numpy_builtins", b"\x80\x04" + apply(found, text("1")) + b".", UNSAFE
    # sys_module_override of picklescan: only allowed names are called after it.
    yield "module_override", whole(
        named("torch", "_utils")
        + dictionary(_rebuild_tensor_v2=named("builtins", "print"))
        + b"b0"
        + tensor()
    ), override
    yield "class_override", whole(
        named("collections", "OrderedDict")
        + dictionary(__reduce__=named("builtins", "print"))
        + b"b"
    ), override
    yield "modules_override", whole(
        named("sys", "modules") + text("torch") + named("os", "system") + b"s"
    ), override
    yield "append_override", whole(named("sys", "path") + text("/tmp") + b"a"), override
    through = call("torch.jit._pickle", "restore_type_tag", named("torch", "_utils"))
    yield "override_through_call", whole(through + dictionary(x=number(1)) + b"b"), (
        override
    )


def keeps(function):
    """An object whose method detach() is the function with our argument."""
    kept = call("functools", "partial", function)
    state = b"(" + function + b"(" + text(COMMAND) + b"t}Nt"
    return made("types", "SimpleNamespace") + b"}" + text("detach") + kept + (
        state + b"bsb"
    )


def calls_through_others():
    """Allowed names only, but one of them calls what it is given."""

    def parameter(function):
        rebuild = named("torch._utils", "_rebuild_parameter")
        return apply(rebuild, keeps(function), b"\x89", EMPTY)

    four = b"\x80\x04"
    reexported = {
        "eval": stack_named("torch._jit_internal", "builtins.eval"),
        "import": stack_named("torch.nn.functional", "importlib.import_module"),
        "popen": stack_named("torch.nn.modules.module", "torch.hub.subprocess.Popen"),
        "system": stack_named("collections", "_sys.modules.get"),
    }
    for word, function in reexported.items():
        yield f"method_{word}", four + parameter(function) + b".", UNSAFE
        body = apply(
            stack_named("torch._tensor", "_rebuild_from_type_v2"),
            function,
            stack_named("torch", "Tensor"),
            text(COMMAND) + b"\x85",
            b"}",
        )
        yield f"rebuild_{word}", four + body + b".", UNSAFE
    rebuild = ("torch._tensor", "_rebuild_from_type_v2")
    tensor_class = named("torch._tensor", "Tensor")
    for word, function in {
        "standard": named("statistics", "mean"),
        "torch": named("torch.utils.model_zoo", "load_url"),
        "partial": call("functools", "partial", named("statistics", "mean")),
    }.items():
        body = call(*rebuild, function, tensor_class, text("x") + b"\x85", b"}")
        yield f"rebuild_{word}", whole(body), UNSAFE
    random = ("numpy.random._pickle", "__randomstate_ctor")
    yield "random_ctor", whole(call(*random, text("x"), named("glob", "glob"))), UNSAFE
    generator = ("numpy.random._pickle", "__bit_generator_ctor")
    yield "random_class", whole(call(*generator, named("smtpd", "SMTPServer"))), UNSAFE
    rebuilt = ("copyreg", "_reconstructor")
    handler = named("logging", "StreamHandler")
    body = call(*rebuilt, named("my", "Handler"), handler, text("/tmp/x"))
    yield "reconstructor_base", whole(body), UNSAFE
    yield "reconstructor", whole(call(*rebuilt, handler, handler, text("x"))), UNSAFE
    yield "newobj", whole(call("copyreg", "__newobj__", handler)), UNSAFE
    yield "defaultdict_factory", whole(
        call("collections", "defaultdict", named("os", "getcwd"))
    ), UNSAFE
    yield "partial", whole(call("functools", "partial", named("glob", "glob"))), UNSAFE
    append = made("argparse", "Namespace") + dictionary(append=named("glob", "glob"))
    yield "append_method", whole(append + b"b" + text("/") + b"a"), UNSAFE
    yield "type_made", whole(
        call("builtins", "type", text("X"), b"(t", dictionary(a=number(1)))
    ), UNSAFE
    yield "metaclass", whole(
        made("torch.ao.quantization.observer", "ABCMeta", text("X"), b"(t", b"}")
    ), UNKNOWN
    graph = named("torch.ao.quantization.fx.convert", "Graph") + b")\x81}b"
    yield "graph", whole(graph), UNKNOWN
    wrapper = made(
        "torch.utils.data.datapipes.datapipe", "_IterDataPipeSerializationWrapper"
    )
    yield "datapipe", b"\x80\x03" + wrapper + raw(whole(SYSTEM)) + b"\x89\x86b.", UNSAFE
    yield "script_name", whole(made("__torch__.models", "Net") + b"}b"), UNKNOWN
    # CVE-2026-24747: items set on a tensor or a storage.
    yield "items_on_tensor", whole(tensor() + number(0) + number(1) + b"s"), UNSAFE
    yield "items_on_storage", whole(storage() + number(0) + number(1) + b"s"), UNSAFE


def attributes_reached():
    def getattr_of(owner, name):
        return call("builtins", "getattr", owner, text(name))

    array = call(
        "numpy.core.multiarray",
        "_reconstruct",
        named("numpy", "ndarray"),
        b"(K\0t",
        raw(b"b"),
    )
    functions = named("torch._C", "_VariableFunctions")
    module = made("torch.nn.modules.linear", "Linear")
    owners = {
        "array_tofile": (array, "tofile"),
        "module_apply": (module, "apply"),
        "torch_from_file": (functions, "from_file"),
        "path_touch": (call("pathlib", "PosixPath", text("/tmp/x")), "touch"),
        "path_class": (named("pathlib", "Path"), "write_text"),
        "globals": (named("my.models", "Net"), "__globals__"),
        "through_others": (getattr_of(named("yaml", "loader"), "os"), "system"),
        "str_format": (named("builtins", "str"), "format"),
        "of_a_call": (call("builtins", "__import__", text("os")), "system"),
    }
    for word, (owner, name) in owners.items():
        yield f"getattr_{word}", b"\x80\x03" + getattr_of(owner, name) + b".", UNSAFE
    called = apply(getattr_of(made("my", "Net"), "save"), text("/tmp/x"))
    yield "getattr_called_on_torch", b"\x80\x03" + apply(
        getattr_of(module, "_infer_parameters"), number(1)
    ) + b".", UNSAFE
    yield "method_of_own_class", whole(called), UNKNOWN
    dunders = "print.__class__.__base__.__subclasses__", "dict.__init__.__globals__"
    for name in dunders:
        body = stack_named("builtins", name)
        yield f"dunder_{name.count('.')}", b"\x80\x04" + body + b".", UNSAFE
    many = b"".join(getattr_of(named("my", "E"), f"A{i}") + b"0" for i in range(5000))
    yield "getattr_flood", whole(many + getattr_of(named("bdb", "Bdb"), "run")), UNSAFE


def legacy_file(body):
    info = {"protocol_version": 1001, "little_endian": True}
    front = [pickle.dumps(one, 2) for one in (0x1950A86A20F9469CFC6C, 1001, info)]
    return b"".join(front) + body + pickle.dumps([], 2)


def files_inside():
    """torch.storage._load_from_bytes(b) is torch.load() of a file in bytes."""

    def load(data):
        return named("torch.storage", "_load_from_bytes") + raw(data) + b"\x85R"

    def three(body):
        return b"\x80\x03" + body + b"."

    evil = whole(SYSTEM)
    kinds = {"bare": evil, "legacy": legacy_file(evil), "zip": torch_zip(evil)}
    for word, data in kinds.items():
        yield f"inside_{word}", three(load(data)), UNSAFE
        yield f"inside_{word}_popped", three(load(data) + b"0N"), UNSAFE
        twice = legacy_file(three(load(data) + b"0N"))
        yield f"inside_{word}_twice", three(load(twice) + b"0N"), UNSAFE
    deep = evil
    for _ in range(8):
        deep = legacy_file(three(load(deep) + b"0N"))
    yield "inside_deep", three(load(deep) + b"0N"), NOT_SAFE
    cut = legacy_file(evil)[:-20]
    yield "inside_cut", three(load(cut) + b"0N"), NOT_SAFE
    yield "inside_computed", three(
        call("torch.storage", "_load_from_bytes", call("my", "data")) + b"0N"
    ), NOT_SAFE
    yield "inside_junk", three(load(b"\xfe\xff" * 30) + b"0N"), NOT_SAFE
    yield "bytes_latin1", whole(
        call("_codecs", "encode", text(evil.decode("latin1")), text("latin1"))
    ), UNSAFE


def dill_calls():
    """dill writes imports and attributes as calls."""

    def imported(module):
        return call("dill._dill", "_import_module", text(module))

    def member(module, name):
        return call("dill._dill", "_get_attr", imported(module), text(name))

    yield "dill_system", whole(member("os", "system") + text(COMMAND) + b"\x85R"), UNSAFE
    yield "dill_through", whole(
        member("torch.os", "system") + text(COMMAND) + b"\x85R"
    ), UNSAFE
    yield "dill_dotted", whole(
        imported("posix.system") + text(COMMAND) + b"\x85R"
    ), UNSAFE
    yield "dill_own_called", whole(member("my", "run") + text("x") + b"\x85R"), UNSAFE


def floods():
    """So many names that no memory is left for the one that counts."""
    names = b"".join(b"cm\nf%d\n0" % i for i in range(300_000))
    yield "flood", whole(names + SYSTEM + b"0N"), NOT_SAFE
    classes = b"".join(b"ctorch.nn.modules.m%d\nN\n0" % i for i in range(150_000))
    yield "flood_of_known", whole(classes + SYSTEM + b"0N"), NOT_SAFE
    many = b"".join(raw(whole(named("m", f"f{i}") + b"0N")) for i in range(100))
    yield "flood_of_pickles", b"\x80\x03(" + many + raw(whole(SYSTEM)) + b"l.", NOT_SAFE


def techniques():
    """(name, bytes, expectation): pickles that run something, or might."""
    yield from function_calls()
    yield from hidden_names()
    yield from replaced_attributes()
    yield from calls_through_others()
    yield from attributes_reached()
    yield from files_inside()
    yield from dill_calls()
    yield from floods()


def zip_techniques():
    """(name, bytes, expectation): zips that hide such a pickle from a scanner."""
    evil, ones = whole(SYSTEM), Entry("a/data/0", ONES)
    good, version = Entry("a/data.pkl", GOOD), Entry("a/version", b"3\n")

    def data(**odd):
        return [Entry("a/data.pkl", evil, **odd), ones, version]

    yield "evil_crc", archive(data(crc=1)), UNSAFE  # CVE-2025-10156
    yield "evil_deflated", archive(data(method=8)), UNSAFE
    yield "evil_flag_local", archive(data(local_flags=1)), UNSAFE  # CVE-2025-1945
    for bit in (0, 5, 6):
        # torch refuses these as well.
        refused = {**NOT_SAFE, "refused": True}
        yield f"evil_flag_{bit}", archive(data(flags=1 << bit)), refused
    other = [Entry("a/data.pkl", evil), Entry("a/data/0", ONES, flags=1), version]
    yield "evil_other_flag", archive(other), UNSAFE
    named_else = data(local_name=b"a/note.txt")
    yield "evil_local_name", archive(named_else), UNSAFE  # CVE-2025-1944
    yield "evil_case", archive([Entry("a/DATA.PKL", evil), ones, version]), UNSAFE
    hidden = [good, ones, version, Entry("a/config.p", evil)]
    yield "evil_extension", archive(hidden), UNSAFE  # CVE-2025-1889
    hidden = [good, ones, version, Entry("a/weights/model.bin", evil)]
    yield "evil_folder", archive(hidden), UNSAFE
    bad_first = [Entry("a/x", b"x", at=7), Entry("a/y", b"y", method=93)]
    bad_first += [Entry("a/z", b"z", flags=1), Entry("a/w", b"w" * 9, crc=3)]
    yield "evil_behind_bad", archive([*bad_first, *data()]), UNSAFE  # modelscan #354
    yield "evil_cut", archive(data())[:-60], NOT_SAFE
    yield "evil_before", archive(data(), before=b"#!/bin/sh\nexit\n"), NOT_SAFE
    yield "evil_pickle_before", evil + torch_zip(), NOT_SAFE
    yield "evil_behind_stop", torch_zip(GOOD + evil), UNSAFE
    yield "evil_broken", torch_zip(evil[:-1] + b"\xff\xff"), UNSAFE
    yield "evil_shared", archive(
        [good, Entry("b/data.pkl", evil), ones, Entry("c/data.pkl", evil, shares=1)]
    ), NOT_SAFE
    yield "evil_backslash", archive([good, ones, Entry("a\\data.pkl", evil)]), UNSAFE
    yield "only_encrypted", archive(
        [Entry("a/data.pkl", GOOD, flags=1), ones, version]
    ), {"verdict": ["inconclusive"], "refused": True}
