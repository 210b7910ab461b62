# SPDX-License-Identifier: BSD-3-Clause
"""The catalogue of knobs, and programs and machines that it is asked about."""

from dataclasses import replace

from nodewise.machine.sources import load_machine
from nodewise.runner.loaded import Loaded
from nodewise.tuning.catalogue.choose import (
    knobs_for,
)
from nodewise.tuning.catalogue.priority import prioritize_knobs
from nodewise.tuning.catalogue.read import load_catalogue

CATALOGUE = load_catalogue()
KNOBS = {knob.name: knob for library in CATALOGUE for knob in library.knobs}
AVX512 = ("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512cd")


def machine(*flags, vendor="AuthenticAMD", text="synthetic:core:4 pu:2"):
    made = load_machine(text)
    processor = replace(made.processor, model="Imaginary 9000", vendor=vendor, flags=tuple(flags))
    return replace(made, processor=processor)


def loading(*names, **fields):
    return Loaded("/app", "dynamic", mapped=tuple(f"/lib/{n}" for n in names), **fields)


def offered(loaded, here, environment=None, answers=None):
    return {k.name: k for k in knobs_for(loaded, here, environment or {}, CATALOGUE, answers)}


def tried(knobs, **known):
    return [w.knob.name for w in prioritize_knobs(knobs.values(), CATALOGUE, **known) if w.tried]


OPENBLAS = "libscipy_openblas64_-32a4b2a6.so"
