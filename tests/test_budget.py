"""The count of processor time sees threads and children, and what is too dear fails."""

import os
import subprocess
import sys
import time

import pytest

from tests import budget

BURN = "import time\nwhile time.process_time() < 0.5: pass\n"
SUITE = f"""
import subprocess, sys, pytest
def test_short(): pass
def test_long(): {BURN.splitlines()[0]}; subprocess.run([sys.executable, "-c", {BURN!r}], check=True)
@pytest.mark.slow
def test_slow(): subprocess.run([sys.executable, "-c", {BURN!r}], check=True)
"""


def test_children_count_while_they_run_and_when_they_have_ended():
    if not os.path.exists("/proc/self/task"):  # noqa: PTH110 - as short as it is
        pytest.skip("only Linux tells of children that run")
    before = budget.taken()
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", BURN + "print(flush=True)\ninput()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    child.stdout.readline()
    during = budget.taken()
    child.communicate(b"\n")
    assert during - before > 0.4
    assert budget.taken() - during < during - before


def test_sleep_is_free():
    before = budget.taken()
    time.sleep(0.3)
    assert budget.taken() - before < 0.25


def test_what_is_too_dear_fails_unless_it_is_marked(tmp_path, monkeypatch):
    (tmp_path / "test_it.py").write_text(SUITE)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")
    (tmp_path / "conftest.py").write_text(
        "from tests.budget import Budget\ndef pytest_configure(config): config.pluginmanager.register(Budget(None))\n"
    )
    environment = {**os.environ, "DIFFJIT_TEST_LIMIT": str(0.3 / budget.LIMIT), "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
                           cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)  # fmt: skip
    assert "1 failed, 2 passed" in ended.stdout
    assert "FAILED test_it.py::test_long" in ended.stdout
    assert "of the processor, and a test of the short suite has 0.3" in ended.stdout


def test_the_list_of_slow_cases_names_cases(request):
    """Of the files that this run collects."""
    assert request.config.stash[budget.UNKNOWN] == []
    assert sorted(set(budget.LISTED)) == budget.LISTED


def test_no_test_takes_more_than_there_was(monkeypatch):
    start = budget.taken(), time.monotonic()
    monkeypatch.setattr(budget, "taken", lambda: start[0] + 1000.0)  # a child has been waited for that nobody saw
    assert budget.taken_since(start) < 100.0
