# SPDX-License-Identifier: BSD-3-Clause
"""Results as JSON: the one place that writes them, and the schema that what was written holds to; `base.shapes` reads them.

A result is a frozen dataclass. Its JSON has the names of its fields, the text of enums, `null` for what is not known or
infinite, and `schema_version`. A field that is no part of its text (`repr=False`) is none of its JSON; properties that are
named in the class variable `computed` are. The schema is made from the dataclasses themselves (JSON Schema, draft 2020-12).
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

#: Raised with every change after which a reader of the old JSON would be wrong.
SCHEMA_VERSION = 3
_HINTS: dict[Any, dict[str, Any]] = {}
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Path: {"type": "string"},
    type(None): {"type": "null"},
    Any: {},
}


def encode(result: Any, **written: Path | None) -> dict[str, Any]:
    """The JSON object of a result, with the paths of files that were `written` of it, by what they are.

    Raises TypeError for a value that is none of its kinds.
    """
    files = {name: path and str(path) for name, path in written.items()}
    return {"schema_version": SCHEMA_VERSION, **_fields(result), **files}


def _fields(value: Any) -> dict[str, Any]:
    return {name: _encoded(getattr(value, name)) for name in _names(type(value))}


def _names(kind: type) -> tuple[str, ...]:
    """The names that the JSON of a dataclass has."""
    return (*(f.name for f in dataclasses.fields(kind) if f.repr), *getattr(kind, "computed", ()))


def _type_of(kind: type, name: str) -> Any:
    if isinstance(computed := getattr(kind, name, None), property):
        return typing.get_type_hints(computed.fget)["return"]
    return _hints_of(kind)[name]


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
    raise TypeError(f"a result holds a {type(value).__name__}")


def _hints_of(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields, which take longer to find than to use."""
    if kind not in _HINTS:
        _HINTS[kind] = typing.get_type_hints(kind)
    return _HINTS[kind]


def schema_of(kind: type, written: Sequence[str] = (), version: tuple[str, int] | None = None) -> dict[str, Any]:
    """The schema of a result's JSON. Every field is there, and none besides but the paths of files that were `written`.

    `version` is the name and number of another version mark than `schema_version`.
    """
    definitions: dict[str, Any] = {}
    made = _object(kind, definitions)
    name, number = version or ("schema_version", SCHEMA_VERSION)
    files = {file: _schema(str | None, definitions) for file in written}
    made["properties"] = {name: {"const": number}, **made["properties"], **files}
    made["required"] = [name, *made["required"]]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": kind.__name__}
    return {**head, **made, "$defs": definitions}


def _object(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    properties = {name: _schema(_type_of(kind, name), definitions) for name in _names(kind)}
    # a first sentence may go on in the next line, and what follows a blank one is for whoever reads the code
    about = [" ".join(part.split()) for part in (kind.__doc__ or "").strip().split("\n\n")[:1] if part]
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
