"""Settings of the test run that must be in place before NumPy and JAX are imported."""

import gc
import itertools
import os
import sys

from hypothesis import HealthCheck, settings

from tests.budget import Budget

# The oracle computes in double precision, on the CPU, without asking for accelerators.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")

# Each pass leaves a program that is well formed, or fails here: a third of the time goes into it, so it is asked of the
# corpus and of random programs, and of all tests where the variable says so (`.ci/nightly`).
VERIFIED = ("test_corpus", "test_fuzz", "test_validation", "aliases", "arrays", "containers", "golden", "ir")

# Tests run the code that most calls run; that of first calls, which has the same bits, has tests of its own, and a part
# of the corpus (`.ci/run`). It takes a third less to make, so what asks what programs mean, and not how they are
# optimised, runs it, unless the variable says otherwise (`.ci/nightly`).
QUICK = (
    "containers", "count", "errors", "frontend", "labelled", "options", "primitives", "scipy", "solvers", "streams",
    "test_docs",
)  # fmt: skip
QUICKLY = "DIFFJIT_TIERS" not in os.environ
os.environ.setdefault("DIFFJIT_TIERS", "0")

# How many files a worker has been through.
FILES = itertools.count(1)

# One process per worker is parallel enough: BLAS threads on top only compete.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# No deadlines: the first call of a program compiles it. `ci` draws the same examples each time and is the default, so
# that a failure is always one's own; `HYPOTHESIS_PROFILE=dev` explores, `nightly` explores at length.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("ci", derandomize=True, max_examples=50, print_blob=True, **COMMON)
settings.register_profile("dev", max_examples=50, **COMMON)
settings.register_profile("nightly", max_examples=5000, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser):
    """`--update-golden` rewrites the files that tests compare with."""
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files instead of comparing")
    parser.addoption(
        "--times", metavar="FILE", help="add a line to FILE for each test: its processor seconds, its name"
    )


def pytest_configure(config):
    """Processor time is counted and limited."""
    config.pluginmanager.register(Budget(None if hasattr(config, "workerinput") else config.getoption("times")))


def pytest_runtest_setup(item):
    """No test finds what another one has made."""
    place = item.nodeid.removeprefix("tests/")
    if "diffjit.settings" in sys.modules and "DIFFJIT_VERIFY_PASSES" not in os.environ:
        sys.modules["diffjit.settings"].settings.verify_passes = place.startswith(VERIFIED)
    if "diffjit.settings" in sys.modules and QUICKLY:
        sys.modules["diffjit.settings"].settings.tiers = "light" if place.startswith(QUICK) else False
    if "diffjit.api.engine.shared" in sys.modules:
        sys.modules["diffjit.api.engine.shared"].forget()


def pytest_runtest_teardown(item, nextitem):
    """Between files, let go of what JAX has compiled: a worker that runs all of them would hold gigabytes."""
    if nextitem is not None and nextitem.path == item.path:
        return
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    if next(FILES) % 16 == 0:  # looking through all that a worker holds takes a second, a sixth of what most files take
        gc.collect()
