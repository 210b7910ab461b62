# SPDX-License-Identifier: BSD-3-Clause
"""Why a value is tried, in sentences."""

import pytest

from nodewise.tuning.catalogue.choose import (
    Answers,
)
from nodewise.tuning.catalogue.knob import Knob
from nodewise.tuning.catalogue.why import Facts, facts_of, why
from tests.catalogue import AVX512, CATALOGUE, KNOBS, OPENBLAS, loading, machine, offered


def test_the_reason_says_what_the_library_took_and_what_the_processor_has():
    here = machine("avx2", "fma", *AVX512)
    answers = Answers({"openblas-core-type": "Haswell"}, {}, {"openblas": "0.3.31"})
    knob = offered(loading(OPENBLAS), here, answers=answers)["openblas-core-type"]
    said = why(knob, "SkylakeX", facts_of(here, answers))
    assert "OpenBLAS 0.3.31 takes Haswell here by itself." in said
    assert (
        "This processor (Imaginary 9000) has avx512f, avx512dq, avx512bw, avx512vl and avx512cd, which SkylakeX uses"
        in said
    )
    assert "and Haswell does not" in said and "results change in the last bits" in said
    assert why(knob, "default", facts_of(here, answers)) == ""


def test_the_reason_names_the_users_own_variable():
    here = machine("avx2", "fma", *AVX512)
    answers = Answers({"openblas-core-type": "SkylakeX"}, {}, {})
    knob = offered(loading(OPENBLAS), here, {"OPENBLAS_CORETYPE": "Haswell"}, answers)["openblas-core-type"]
    said = why(knob, "SkylakeX", facts_of(here, answers))
    assert said.startswith(
        "OPENBLAS_CORETYPE is set to Haswell in your environment. Left to itself, OpenBLAS takes SkylakeX"
    )


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS)
def test_every_value_has_a_reason_in_sentences(knob: Knob):
    for choice in knob.choices:
        said = why(knob, choice.name, Facts())
        assert said.endswith(".") and ".." not in said and "  " not in said
        assert knob.helps_by(choice.name)[1:] in said and knob.risk_of(choice.name) in said


def test_a_value_that_differs_in_kind_has_its_own_reason_and_risk() -> None:
    knobs = {k.name: k for library in CATALOGUE for k in library.knobs}
    cache = knobs["malloc-thread-cache"]
    assert "takes a lock" in why(cache, "0", Facts()) and "more memory" not in why(cache, "0", Facts())
    assert "may hold more memory" in why(cache, "127", Facts()) and "takes a lock" not in why(cache, "127", Facts())
    assert "busy waiting hurts" not in why(knobs["wait"], "passive", Facts())
