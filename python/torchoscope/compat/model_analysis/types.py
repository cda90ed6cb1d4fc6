"""The entries of unique_modules.json and pytorch_ops.json."""

import dataclasses
from typing import Any, Dict, List, Optional


@dataclasses.dataclass
class ModuleInfo:
    """A unique module: all modules with the same class, shapes, dtypes, configuration
    and children. `module_path` is the first of its `occurrences`. `calls` is set only
    if the module was called with different shapes or dtypes: one dict for each."""

    id: str
    class_name: str
    module_path: str
    parent: Optional[str]
    input_shapes: List[str] = dataclasses.field(default_factory=list)
    output_shapes: List[str] = dataclasses.field(default_factory=list)
    input_dtypes: List[str] = dataclasses.field(default_factory=list)
    output_dtypes: List[str] = dataclasses.field(default_factory=list)
    parameters: Dict[str, Any] = dataclasses.field(default_factory=dict)
    occurrences: List[str] = dataclasses.field(default_factory=list)
    calls: Optional[List[Dict[str, Any]]] = None

    def to_dict(self) -> Dict[str, Any]:
        """The entry in unique_modules.json."""
        entry = dataclasses.asdict(self)
        if self.calls is None:
            del entry["calls"]
        return entry


@dataclasses.dataclass
class OpInfo:
    """A unique operation: all operations with the same name, attributes, shapes and
    dtypes. The source module is that of its first occurrence."""

    id: str
    op_name: str
    source_module_id: str
    source_module_class: str
    attributes: Dict[str, Any] = dataclasses.field(default_factory=dict)
    tensor_types: Dict[str, Dict[str, str]] = dataclasses.field(default_factory=dict)
    occurrences: List[Dict[str, str]] = dataclasses.field(default_factory=list)

    def to_dict(self) -> Dict[str, Any]:
        """The entry in pytorch_ops.json."""
        return dataclasses.asdict(self)
