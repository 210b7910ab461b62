# SPDX-License-Identifier: BSD-3-Clause
"""Which lines have machine code in a loop, from listings as objdump writes them."""

from hypothesis import given
from hypothesis import strategies as st

from nodewise.runner.compilers.object_code import LineCode, code_of, read_listing

X86 = """\
0000000000000000 <f>:
f():
/w/a.c:3
   0:\ttest   %esi,%esi
   2:\tjle    20 <f+0x20>
/w/a.c:4 (discriminator 3)
   8:\tvaddpd (%rdi),%ymm0,%ymm1
   c:\tjne    8 <f+0x8>
/w/other.h:9
  10:\tcall   0 <g>
/w/a.c:6
  20:\tret

0000000000000030 <g>:
/w/a.c:7
  30:\tjmp    8 <f+0x8>
  34:\tret
"""
ARM = "0000000000000000 <f>:\na.c:4\n   0:\tfadd\tv0.2d, v0.2d, v1.2d\n   4:\tb.ne\t0 <f>  // b.any\na.c:5\n   8:\tbl\t0 <f>\n"


def test_lines_in_and_outside_of_loops() -> None:
    lines = read_listing(X86.splitlines(), lambda name: name.endswith("a.c"))
    assert {n: one.in_loop for n, one in lines.items()} == {3: False, 4: True, 6: False, 7: False}
    arm = read_listing(ARM.splitlines(), lambda name: True)
    assert arm == {4: LineCode(in_loop=True), 5: LineCode(in_loop=False)}
    assert code_of(lines, range(3, 5)) == (True, True)
    assert code_of(lines, range(6, 8)) == (True, False)
    assert code_of(lines, range(8, 20)) == (False, False)


WIDENING = """\
0000000000000000 <f>:
/w/a.c:3
   0:\tvaddps (%rdi),%ymm0,%ymm1
/w/a.c:4
   8:\tvmulpd %ymm1,%ymm1,%ymm1
/usr/include/c++/12/cmath:418
   c:\tvcvtps2pd %ymm1,%zmm1
/w/a.c:4
  10:\tjne    8 <f+0x8>
/w/a.c:5
  14:\tvmovups %ymm1,(%rsi)
  18:\tjne    0 <f>
"""


def test_what_an_inlined_function_widens_counts_for_the_innermost_loop() -> None:
    lines = read_listing(WIDENING.splitlines(), lambda name: name.endswith("a.c"))
    assert lines == {3: LineCode(True), 4: LineCode(True, widens=True), 5: LineCode(True)}
    scalar = "0000 <f>:\na.c:4\n   0:\tfcvt\td0, s1\n   4:\tfcvt\ts0, d1\n   8:\tb.ne\t0 <f>\n"
    assert read_listing(scalar.splitlines(), lambda name: True)[4].widens
    narrowing = scalar.replace("d0, s1", "s2, d1")
    assert not read_listing(narrowing.splitlines(), lambda name: True)[4].widens


@given(st.lists(st.sampled_from(X86.splitlines()) | st.text(max_size=20), max_size=30))
def test_no_listing_is_too_odd(listing: list[str]) -> None:
    assert all(line > 0 for line in read_listing(listing, lambda name: True))
