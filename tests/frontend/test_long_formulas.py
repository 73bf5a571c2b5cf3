"""Formulas as computer algebra prints them: one expression of hundreds of terms."""

import importlib.util
import sys
import threading

import pytest

import diffjit as dj


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A module with such a formula, of so many terms."""

    def write(count):
        name = f"formula_of_{count}"
        file = tmp_path_factory.mktemp("formulas") / f"{name}.py"
        terms = " + ".join(f"{k + 1}.0*x**{k % 7}*y" for k in range(count))
        file.write_text(f"def formula(x, y):\n    return {terms}\n")
        spec = importlib.util.spec_from_file_location(name, file)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.formula

    return write


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_hundreds_of_terms(written, backend):
    formula, limit = written(500), sys.getrecursionlimit()
    slope = sum((k + 1.0) * (k % 7) * 0.9 ** (k % 7 - 1) * 0.5 for k in range(500))
    curvature = sum((k + 1.0) * (k % 7) * (k % 7 - 1) * 0.9 ** (k % 7 - 2) * 0.5 for k in range(500))
    assert dj.jit(formula, backend=backend)(0.9, 0.5) == formula(0.9, 0.5)
    assert dj.grad(formula, backend=backend)(0.9, 0.5) == pytest.approx(slope, rel=1e-13)
    assert dj.jvp(formula, (0.9, 0.5), (1.0, 0.0), backend=backend)[1] == pytest.approx(slope, rel=1e-13)
    product = dj.hvp(formula, (0.9, 0.5), (1.0, 0.0), argnums=(0, 1), backend=backend)
    assert product[0] == pytest.approx(curvature, rel=1e-13)
    assert sys.getrecursionlimit() == limit


def test_other_threads_refuse_them(written):
    formula, found = written(700), []

    def run():
        try:
            dj.grad(formula)(0.9, 0.5)
        except dj.DiffjitError as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert "DJ111" in str(found[0])
    assert "several statements" in str(found[0])
