"""`explain`: a program beside its derivative, as text and as a page."""

import io
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

import diffjit as dj


def damp(u):
    return np.exp(-u * u) * u


def model(u0, k, n):
    u = u0.copy()
    for _ in range(n):
        for i in range(1, u.size - 1):
            u[i] = u[i] + k * np.sin(u[i - 1]) * u[i + 1]
    w = damp(u)
    s = 0.0
    while s < 3.0:
        s = s + np.sin(s + k) + np.sum(w)
    return np.sum(w) * s if k < 7 and "<b>" else 0.0


ARGS = (np.linspace(0.1, 1.0, 40), 0.1, 7)
START = model.__code__.co_firstlineno


def lines(e, name):
    return {n.number: n for part in e.parts if part.name == name for n in part.lines}


@pytest.mark.parametrize("backend", ["python", "numba"])
def test_lines_of_the_program_with_their_records(backend):
    g = dj.grad(model, backend=backend)
    e = dj.explain(g, *ARGS)
    assert e.tape == dj.memory(g, *ARGS)
    own = lines(e, "model")
    assert own[START].text == "def model(u0, k, n):"
    assert min(own) == START
    assert own[START + 4].bytes == 7 * 38 * 8
    assert own[START + 8].bytes is None
    called = lines(e, "damp")
    assert called[damp.__code__.co_firstlineno].text == "def damp(u):"
    shown = sum(n.bytes or 0 for part in e.parts for n in part.lines)
    assert shown == e.tape.known


def test_the_way_back_stands_beside_its_line():
    own = lines(dj.explain(dj.grad(model), *ARGS), "model")
    assert any(text.startswith("u_bar[i - 1] +=") for text in own[START + 4].back)
    assert own[START + 6].back == []


def test_the_whole_derivative_is_there():
    g = dj.grad(model)
    text = dj.source(g, *ARGS)
    e = dj.explain(g, *ARGS)
    for made in e.derivative:
        if "=" in made.text and len(made.text) < 60:
            assert made.text in text
    assert e.derivative[0].text == "def model_grad(u0, k, n):"
    back = [made.back for made in e.derivative]
    assert back == sorted(back)


def test_a_plain_function_is_shown_with_its_pullback():
    e = dj.explain(model, *ARGS)
    assert [m.text for m in e.derivative if m.text.startswith("def ")][1].startswith("def model_pullback(")
    assert e.tape == dj.memory(model, *ARGS)


@pytest.mark.parametrize("width", [80, 120])
def test_text_fits_the_terminal(width):
    out = io.StringIO()
    Console(file=out, width=width).print(dj.explain(dj.grad(model), *ARGS))
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= width
    assert f"{7 * 38 * 8:,}" in text
    assert "not known before the run" in text
    assert ("program, and its way back" in text) == (width < 110)


def test_print(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    text = str(dj.explain(dj.grad(model), *ARGS))
    assert "def model(u0, k, n):" in text
    assert max(map(len, text.splitlines())) <= 120


class Page(HTMLParser):
    """Checks that elements close in order, and collects the text of cells and the links between lines."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.lines, self.text, self.loads = [], [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.loads += [given[k] for k in ("src", "href") if k in given]
        if "data-line" in given:
            self.lines.append(given["data-line"])
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_page(tmp_path):
    e = dj.explain(dj.grad(model), *ARGS)
    path = e.to_html(tmp_path / "page.html")
    content = path.read_text(encoding="utf-8")
    page = Page()
    page.feed(content)
    assert page.open == []
    assert page.loads == []  # it needs no other file
    assert "<b>" not in content.replace("&lt;b&gt;", "")
    assert '"<b>"' in "".join(page.text)
    written = {f"0:{n}" for n in lines(e, "model")}
    assert written <= set(page.lines)
    assert len(page.lines) > len(written)  # lines of the derivative refer to them
    assert f"0:{START + 4}" in page.lines[len(written) :]


def test_notebooks_show_the_page():
    html = dj.explain(dj.grad(model), *ARGS)._repr_html_()
    page = Page()
    page.feed(html)
    assert page.open == []
    assert page.tags[0] == "div"
    assert "html" not in page.tags
