"""Small programs are compiled for processors that are not this one, and run where this one has the instructions."""

import pytest

from tests import processors


@pytest.mark.slow
@pytest.mark.skipif(not processors.here(), reason="these are x86-64 processors")
@pytest.mark.parametrize("name", processors.PROCESSORS)
def test_programs_for_a_processor(name):
    if not processors.known(name):
        pytest.skip("this LLVM does not know it")
    assert processors.survey(name) == []


CHILD = """
import os, sys
programs = ["fine", "aborts", "wrong", "fine_too"]
for k, name in enumerate(programs[int(sys.argv[1]):], int(sys.argv[1])):
    print("some other line")
    print(f"::begin {k} {name} grad", flush=True)
    if name == "aborts":
        sys.stderr.write("LLVM ERROR: Cannot select: f64 = fmaximum")
        sys.stderr.flush()
        os.abort()
    if name == "wrong":
        print("::wrong 'a wrong number'")
print("::end")
"""


def test_a_survey_names_what_fails_and_goes_on():
    found = processors.survey("generic", command=("-c", CHILD))
    assert [program for program, _ in found] == ["aborts grad", "wrong grad"]
    assert "the process ended with -6: LLVM ERROR: Cannot select" in found[0][1]
    assert found[1][1] == "'a wrong number'"


def test_a_survey_that_cannot_begin_says_so():
    ((program, what),) = processors.survey("generic", command=("-c", "import a_module_that_is_not_there"))
    assert program == "before the first program"
    assert "ModuleNotFoundError" in what
