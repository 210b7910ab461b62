# SPDX-License-Identifier: BSD-3-Clause
"""Verdicts as JSON: the one place that writes them, and the schema that what was written holds to.

A verdict is a frozen dataclass. Its JSON has the names of its fields, the text of enums, `null` for what is not known or
infinite, and `schema_version`. The schema is made from the dataclasses themselves (JSON Schema, draft 2020-12).
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

#: Raised with every change after which a reader of the old JSON would be wrong.
SCHEMA_VERSION = 2
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Path: {"type": "string"},
    type(None): {"type": "null"},
    Any: {},
}


def encode(verdict: Any) -> dict[str, Any]:
    """The JSON object of a verdict. Raises TypeError for a value that is none of its kinds."""
    return {"schema_version": SCHEMA_VERSION, **_fields(verdict)}


def _fields(value: Any) -> dict[str, Any]:
    return {f.name: _encoded(getattr(value, f.name)) for f in dataclasses.fields(value)}


def _encoded(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return _fields(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _encoded(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_encoded(v) for v in value]
    raise TypeError(f"a verdict holds a {type(value).__name__}")


def schema_of(kind: type) -> dict[str, Any]:
    """The schema of a verdict's JSON. Every field is there, and none besides."""
    definitions: dict[str, Any] = {}
    made = _object(kind, definitions)
    made["properties"] = {"schema_version": {"const": SCHEMA_VERSION}, **made["properties"]}
    made["required"] = ["schema_version", *made["required"]]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind.__name__}
    return {**head, **made, "$defs": definitions}


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    properties = {f.name: _schema(hints[f.name], definitions) for f in dataclasses.fields(kind)}
    about = (kind.__doc__ or "").strip().splitlines()[:1]
    return {
        "type": "object",
        **({"description": about[0]} if about else {}),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    if hint in _PLAIN:
        return dict(_PLAIN[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_schema(a, definitions) for a in arguments]}
    if origin is tuple and arguments[1:] == (...,):
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    if origin is tuple:
        items = [_schema(a, definitions) for a in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    raise TypeError(f"no schema for {hint}")
