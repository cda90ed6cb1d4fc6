"""Unique modules and operations of a model, with the interface and files of
tt-model-analysis. See docs/python.md, "From tt-model-analysis"."""

__all__ = ["ModuleInfo", "OpInfo", "extract_pytorch_ops", "extract_unique_modules"]

# Imported on first use: torch takes seconds to import, and may be missing.
_LATER = {
    "ModuleInfo": "types",
    "OpInfo": "types",
    "extract_pytorch_ops": "ops_extractor",
    "extract_unique_modules": "module_extractor",
}


def __getattr__(name):
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    module = importlib.import_module(f"{__name__}.{_LATER[name]}")
    return globals().setdefault(name, getattr(module, name))


def __dir__():
    return sorted({*globals(), *__all__})
