# SPDX-License-Identifier: BSD-3-Clause
"""Which lines have machine code in a loop, from listings as objdump writes them."""

from hypothesis import given
from hypothesis import strategies as st

from nodewise.runner.compilers.object_code import code_of, read_listing

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
    assert lines == {3: False, 4: True, 6: False, 7: False}
    assert read_listing(ARM.splitlines(), lambda name: True) == {4: True, 5: False}
    assert code_of(lines, range(3, 5)) == (True, True)
    assert code_of(lines, range(6, 8)) == (True, False)
    assert code_of(lines, range(8, 20)) == (False, False)


@given(st.lists(st.sampled_from(X86.splitlines()) | st.text(max_size=20), max_size=30))
def test_no_listing_is_too_odd(listing: list[str]) -> None:
    assert all(line > 0 for line in read_listing(listing, lambda name: True))
