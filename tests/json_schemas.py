# SPDX-License-Identifier: BSD-3-Clause
"""Holding what was written as JSON to the published schemas."""

import json
from functools import cache
from typing import Any

import jsonschema

from tools.schemas import path_of


@cache
def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(path_of(name).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check_json(name: str, data: Any) -> None:
    """Fails where `data`, or the text of it, does not hold to its published schema."""
    _validator(name).validate(json.loads(data) if isinstance(data, str) else data)
