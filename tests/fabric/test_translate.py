# SPDX-License-Identifier: BSD-3-Clause
"""Settings of OFA, DAPL and TMI, and what takes their place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.fabric.translate import Translation, settings_in, translate

#: A job script of 2014, made up from the reference manual of its time.
SCRIPT = """#!/bin/csh
#SBATCH -N 4
# setenv I_MPI_FABRICS tcp
setenv I_MPI_FABRICS shm:ofa
export I_MPI_OFA_NUM_PORTS="2"; I_MPI_OFA_NUM_ADAPTERS=2 mpirun -genv I_MPI_FALLBACK disable -n 8 ./app
"""


def of(*words: str) -> Translation:
    return translate([tuple(word.split("=", 1)) for word in words])  # type: ignore[misc]


@pytest.mark.parametrize(
    ("given_words", "exports"),
    [
        (["I_MPI_FABRICS=shm:tmi"], ["I_MPI_FABRICS=shm:ofi", "FI_PROVIDER=psm"]),
        (["I_MPI_FABRICS=tmi", "I_MPI_TMI_PROVIDER=psm2"], ["I_MPI_FABRICS=ofi", "FI_PROVIDER=psm2"]),
        (["I_MPI_TMI_PROVIDER=psm2", "I_MPI_FABRICS=tmi"], ["I_MPI_FABRICS=ofi", "FI_PROVIDER=psm2"]),
        (["I_MPI_FABRICS=shm:dapl"], ["I_MPI_FABRICS=shm:ofi", "FI_PROVIDER=verbs"]),
        (["I_MPI_FABRICS=ofa"], ["I_MPI_FABRICS=ofi", "FI_PROVIDER=verbs"]),
        (["I_MPI_FABRICS=shm:tcp"], ["I_MPI_FABRICS=shm:ofi", "FI_PROVIDER=tcp"]),
        (["I_MPI_FABRICS=shm"], ["I_MPI_FABRICS=shm"]),
        (["I_MPI_DEVICE=rdssm:OpenIB-cma"], ["I_MPI_FABRICS=shm:ofi", "FI_PROVIDER=verbs"]),
        (["I_MPI_OFI_PROVIDER=psm2"], ["FI_PROVIDER=psm2"]),
        (["I_MPI_DAPL_PROVIDER=ofa-v2-mlx4_0-1u"], ["FI_PROVIDER=verbs", "FI_VERBS_DEVICE_NAME=mlx4_0"]),
        (["I_MPI_DAPL_UD=enable"], []),
        (["I_MPI_TMI_PROVIDER=mx"], []),
        (["I_MPI_OFA_NUM_ADAPTERS=2"], ["I_MPI_MULTIRAIL=1"]),
        (["I_MPI_OFA_NUM_PORTS=1"], []),
        (["I_MPI_OFA_USE_XRC=1", "I_MPI_FALLBACK=0"], []),
        (["I_MPI_OFA_ADAPTER_NAME=a", "I_MPI_OFA_ADAPTER_NAME=b"], []),
    ],
)
def test_a_setting_of_then_is_one_of_now(given_words: list[str], exports: list[str]) -> None:
    made = of(*given_words)
    assert sorted(made.exports) == sorted(f"export {e}" for e in exports)
    assert len(made.settings) == len(given_words) and all(one.note for one in made.settings)


def test_dapl_ud_has_no_equivalent() -> None:
    assert of("I_MPI_DAPL_UD=enable").settings[0].note.startswith("no equivalent")
    assert of("I_MPI_DAPL_UD_PROVIDER=x").settings[0].note.startswith("no equivalent")
    assert "leave it out" in of("I_MPI_DAPL_UD=0").settings[0].note


def test_two_adapters_of_two_ports_are_four_cables() -> None:
    rails = translate(settings_in(SCRIPT)).rails
    assert rails is not None and (rails.adapters, rails.ports, rails.cables) == (2, 2, 4)
    assert of("I_MPI_OFA_NUM_PORTS=1").rails is None


def test_an_adapter_for_each_set_of_ranks() -> None:
    line = "mpiexec -n 2 -env I_MPI_OFA_ADAPTER_NAME adap1 ./a : -n 2 -env I_MPI_OFA_ADAPTER_NAME adap2 ./a"
    made = translate(settings_in(line))
    assert made.rails is not None and (made.rails.names, made.rails.cables) == (("adap1", "adap2"), 2)
    assert [s.becomes for s in made.settings] == [("FI_VERBS_DEVICE_NAME=adap1",), ("FI_VERBS_DEVICE_NAME=adap2",)]


def test_a_script_is_read_in_either_shell_and_its_comments_are_not() -> None:
    assert settings_in(SCRIPT) == [
        ("I_MPI_FABRICS", "shm:ofa"),
        ("I_MPI_OFA_NUM_PORTS", "2"),
        ("I_MPI_OFA_NUM_ADAPTERS", "2"),
        ("I_MPI_FALLBACK", "disable"),
    ]


def test_what_is_no_setting_of_a_fabric_is_named() -> None:
    assert of("I_MPI_PIN=1", "MV2_IBA_HCA=mlx4_0").unknown == ("I_MPI_PIN=1", "MV2_IBA_HCA=mlx4_0")


@given(st.text(max_size=200))
def test_any_script_is_read_without_failing(text: str) -> None:
    translate(settings_in(text))
    translate(settings_in(f"I_MPI_FABRICS={text}\nsetenv I_MPI_DEVICE {text}"))


@given(st.text("0123456789²٣", max_size=6), st.text("0123456789²٣", max_size=6))
def test_any_number_of_rails_is_read(adapters: str, ports: str) -> None:
    of(f"I_MPI_OFA_NUM_ADAPTERS={adapters}", f"I_MPI_OFA_NUM_PORTS={ports}")
