"""`sparse_jacobian`, `sparse_hessian` and `sparsity`: matrices of derivatives that are mostly zeros.

The pattern comes from a run of the program on index sets (`sparsity.index_sets`) or from the caller; columns that no
row shows together have one colour, and one tangent gives all columns of a colour (`api.coloring`). One more tangent, in
a direction of its own, tests the pattern: an entry that it lacks must not become a wrong number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any

import numpy as np
import optree

from diffjit.api.coloring import column_colors, star_colors
from diffjit.api.engine.composed import certain
from diffjit.api.engine.derived import Derived, resolve, selected, verb
from diffjit.api.engine.engine import executable, is_compiled
from diffjit.api.engine.programs import Arguments, Building, Compiled, flatten_call
from diffjit.api.engine.repeated import refuse_streams
from diffjit.api.engine.tracebacks import boundary
from diffjit.api.grad import grad
from diffjit.api.gradients import differentiated, not_holomorphic, place, spec_tree, without_extras
from diffjit.api.matrices import silence
from diffjit.api.patterns.compressed import Coloring, Products, block_of, lanes_for
from diffjit.api.patterns.found import Patterns
from diffjit.dataclass import dataclass
from diffjit.errors import TypeProblem, UsageError
from diffjit.frontend.entry.outputs import Out, RecordOut, is_made_text, rebuild
from diffjit.frontend.entry.program import Program
from diffjit.frontend.entry.results import in_words
from diffjit.garbage import no_garbage_collection
from diffjit.ir.types import Array, Scalar
from diffjit.ir.walk import walk
from diffjit.labels import Constant, Labels
from diffjit.transforms.pipeline import finish, tangents
from diffjit.transforms.prepare import own_copy
from diffjit.tree import parts_class

_DOUBLE, _SINGLE = 1e-9, 2e-3
"""How far a product with the derivative and a tangent may be apart, beside the sizes of what is added up."""


@dataclass(slots=True, eq=False)
class Made:
    """What is known of a function for one structure of its arguments."""

    program: Program
    which: list[int | str]
    wrt: list[int]  # the leaves of the arguments that columns belong to
    rows: list[int | None]  # the position of each result; None: a constant
    positions: list[int | None]  # and of each result's tangent
    tree: Any  # the results' tree, with numbers of rows as leaves
    aux: Any
    speaks: Compiled | None  # the program itself, where it prints
    patterns: Patterns
    products: dict[int, Products] | None  # by the number of directions at once; None: one by one, as text
    colored: list[Coloring] = field(default_factory=list["Coloring"])


class Sparse(Derived):
    """The Jacobian of a function as sparse matrices, or, with `only`, its pattern."""

    def __init__(
        self,
        function: Any,
        argnums: Any,
        *,
        has_aux: bool,
        backend: str | None,
        pattern: Any = None,
        symmetric: bool = False,
        only: bool = False,
    ) -> None:
        super().__init__(function, backend)
        self.argnums = selected(argnums)
        self.has_aux = has_aux
        self.given = pattern
        self.symmetric = symmetric
        self.only = only

    def build(self, program: Program, call: Arguments) -> tuple[Compiled, Made]:
        """The program of one tangent, and where its results belong."""
        refuse_streams(program.streams, "a sparse matrix of derivatives")
        which = resolve(self.function, self.argnums, call)
        wrt = differentiated(program, which, call, real="a sparse matrix of derivatives")
        value = program.result
        if self.has_aux:
            value = without_extras(program)
        value = certain(program, value, "returned None: there is nothing to differentiate [DJ320]")
        rows: list[int | None] = []
        spec = scan(program, value, "the result", rows)
        order = [row.number for row in _in_order(spec)]
        rows = [rows[k] for k in order]
        spec = _mapped(spec, lambda k: Row(order.index(k)))
        function, positions = tangents(program.function, wrt, compiled=is_compiled(self.backend))
        silence(function)
        compiled = executable(program, function, self.backend, unchanged=True)
        speaks = None
        if any(op.row.once for op in walk(program.function.body)) and not self.only:
            speaks = executable(program, finish(own_copy(program.function), "prints"), self.backend, unchanged=True)
        found = [None if r is None else positions[r] for r in rows]
        aux = program.result[1] if self.has_aux else None
        by_machine = is_compiled(None if self.only else self.backend)
        patterns = Patterns(program.function, wrt, [r for r in rows if r is not None], compiled=bool(by_machine))
        products = dict[int, Products]() if wrt and is_compiled(self.backend) and not self.only else None
        return compiled, Made(program, which, wrt, rows, found, spec, aux, speaks, patterns, products)

    def inputs(self, compiled: Compiled, finish: Made, call: Arguments) -> list[Any]:
        """The arguments, and a tangent for each of those that it differentiates by."""
        return [*super().inputs(compiled, finish, call), *(call.leaves[k] for k in finish.wrt)]

    @boundary
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The matrices for these arguments."""
        call = flatten_call(args, kwargs)
        compiled, made = self.lookup(call, args, kwargs)
        inputs = [*call.leaves, *(getter() for getter in compiled.captures)]
        if compiled.mutated:
            compiled.check_memory(inputs)
        one = Call(self, compiled, made, call, inputs)
        if self.only:
            whole = one.found()
            return one.tree(lambda rows, columns: block_of(whole, rows, columns), whole)
        if made.speaks is not None:
            made.speaks(call.leaves)
        return one.matrices()

    def __diffjit_inline__(self, interpreter: Any, args: list[Any], kwargs: dict[str, Any], node: Any) -> Any:
        del interpreter, args, kwargs, node
        raise UsageError(
            "DJ520",
            "sparse derivatives are made by calls from Python: a program has no sparse matrices",
            cure="use `jacobian` or `hessian` inside programs and under other verbs",
        )


class Call:
    """One call: sizes of the arguments, the pattern, and the evaluation."""

    def __init__(self, verb: Sparse, compiled: Compiled, made: Made, call: Arguments, inputs: list[Any]) -> None:
        self.verb, self.compiled, self.made, self.call, self.inputs = verb, compiled, made, call, inputs
        self.columns = [int(np.size(call.leaves[k])) for k in made.wrt]
        self.heights: list[int] = []

    # Patterns

    def found(self) -> Any:
        """The pattern at this point, of all results by all inputs."""
        indices, starts, heights = self.made.patterns.at(self.inputs)
        given = iter(heights)
        self.heights = [1 if r is None else next(given) for r in self.made.rows]
        if None in self.made.rows:  # a constant is a row without entries
            counts = iter(np.split(np.diff(starts), np.cumsum(heights)[:-1]))
            parts = [np.zeros(1, np.intp) if r is None else next(counts) for r in self.made.rows]
            starts = np.cumsum(np.concatenate([[0], *parts]))
        width = np.int32 if indices.size < np.iinfo(np.int32).max else np.int64  # SciPy looks through mixed ones
        entries = np.ones(indices.size, bool), indices.astype(width, copy=False), starts.astype(width, copy=False)
        return self.csr(entries, (sum(self.heights), sum(self.columns)))

    def pattern(self) -> Any:
        """The pattern that the caller gave, or the one at this point."""
        given = self.verb.given
        if given is None:
            return self.found()
        import scipy.sparse

        flat = list(matrices(given))
        wanted = len(self.made.rows) * len(self.columns)
        if len(flat) != wanted:
            raise UsageError(
                "DJ521",
                f"the derivative has {wanted} matrices, the pattern has {len(flat)}",
                cure="give what `sparsity(f)` returns for such arguments",
            )
        table = [flat[k : k + len(self.columns)] for k in range(0, wanted, len(self.columns))]
        self.heights = [row[0].shape[0] for row in table]
        for height, row in zip(self.heights, table, strict=True):
            for width, block in zip(self.columns, row, strict=True):
                if block.shape != (height, width):
                    raise UsageError(
                        "DJ521",
                        f"the pattern has shape {block.shape}, the derivative has {width} columns",
                        cure="there is a row for each number of the result, a column for each of the argument",
                    )
        whole = scipy.sparse.csr_matrix(scipy.sparse.block_array(table, format="csr"))
        whole.sum_duplicates()
        return whole.astype(bool)

    def coloring(self) -> Coloring:
        """The pattern and its colours; those of a pattern that was met before are known."""
        pattern = self.pattern()
        symmetric = self.verb.symmetric and self.heights == self.columns
        if symmetric:
            pattern = self.csr(pattern + pattern.T, pattern.shape)
        return self.colored(pattern, symmetric=symmetric)

    def colored(self, pattern: Any, *, symmetric: bool = False) -> Coloring:
        """The colours of a pattern."""
        pattern.sort_indices()
        for known in self.made.colored:
            p = known.pattern
            if np.array_equal(p.indptr, pattern.indptr) and np.array_equal(p.indices, pattern.indices):
                return known
        colors = star_colors(pattern) if symmetric else column_colors(pattern)
        coloring = Coloring(pattern, colors)
        self.made.colored[:] = [*self.made.colored[-3:], coloring]
        return coloring

    @staticmethod
    def csr(entries: Any, shape: tuple[int, int]) -> Any:
        """A matrix in compressed rows."""
        import scipy.sparse

        return scipy.sparse.csr_matrix(entries, shape=shape)

    # Values

    def matrices(self) -> Any:
        """The derivative, entry by entry from the tangents of all colours."""
        coloring = self.coloring()
        found, wanted = self.evaluate(coloring)
        wrong = self.missed(coloring, found, wanted)
        if wrong.size and self.verb.given is not None:
            raise UsageError(
                "DJ522",
                f"the pattern misses entries in row {wrong[0]}: the derivative would be wrong",
                cure="take the pattern from `sparsity(f)`; where branches change it, add those of several points",
            )
        if wrong.size:  # compiled code rounds otherwise than the run on sets, and took another branch
            coloring = self.colored(self.csr(np.ones(found.shape, bool), found.shape))
            found, _ = self.evaluate(coloring)
        tree = self.tree(lambda rows, columns: coloring.block(found, rows, columns), found)
        return (tree, rebuild(self.made.aux, self.call.results(self.run(coloring.test)))) if self.verb.has_aux else tree

    def evaluate(self, coloring: Coloring) -> tuple[Any, np.ndarray]:
        """The matrix from one tangent for each colour, and the tangent along the direction that tests it."""
        if self.made.products is None:
            every = coloring.directions(0, coloring.count + 1)
            table = np.stack([self.tangent(direction) for direction in every])
        else:
            table, sizes = self.products(coloring).table(self.inputs, coloring, self.heights)
            self.fits(sizes)
        return coloring.matrix(table), table[-1]

    def products(self, coloring: Coloring) -> Products:
        """The program of the tangents of all colours."""
        made = self.made
        assert made.products is not None
        function = made.program.function
        lanes = lanes_for(function, made.wrt, coloring.count + 1)
        if lanes not in made.products:
            with Building.lock, no_garbage_collection():
                made.products[lanes] = Products(function, made.wrt, made.rows, lanes)
        return made.products[lanes]

    def run(self, direction: np.ndarray) -> tuple[Any, ...]:
        """The program's results and tangents in one direction."""
        dots: list[Any] = []
        start = 0
        for k, size in zip(self.made.wrt, self.columns, strict=True):
            leaf, part = self.call.leaves[k], direction[start : start + size]
            start += size
            if isinstance(leaf, np.ndarray):
                dot = np.empty_like(leaf, subok=False)
                dot[...] = part.reshape(leaf.shape)
                dots.append(dot)
            else:
                dots.append(type(leaf)(part[0]))
        return self.compiled.run(*self.inputs, *dots)

    def tangent(self, direction: np.ndarray) -> np.ndarray:
        """The tangents of all results as one vector."""
        made, outs = self.made, self.run(direction)
        parts = []
        for r, p in zip(made.rows, made.positions, strict=True):
            source = outs[p] if p is not None else 0.0 if r is None else np.zeros_like(outs[r])
            parts.append(np.ravel(source))
        self.fits([int(p.size) for p in parts])
        return np.concatenate(parts)

    def fits(self, sizes: list[int]) -> None:
        """Refuse a pattern with other numbers of rows than the results have."""
        if sizes != self.heights:
            raise UsageError(
                "DJ521",
                f"the pattern has {sum(self.heights)} rows, the derivative has {sum(sizes)}",
                cure="there is a row for each number of the result, a column for each of the argument",
            )

    def missed(self, coloring: Coloring, found: Any, wanted: np.ndarray) -> np.ndarray:
        """Rows with entries that the pattern lacks, which would be added to others: more tangents show them.

        One goes along all columns. Rows that have no finite entry in some are seen by one that leaves these out.
        """
        rows = self.beside(found, coloring.test, wanted)
        infinite = found.indices[~np.isfinite(found.data)]
        if infinite.size:
            direction = coloring.test.copy()
            direction[infinite] = 0.0
            finite = found.copy()
            finite.data[~np.isfinite(found.data)] = 0.0
            rows = np.union1d(rows, self.beside(finite, direction, self.tangent(direction)))
        return rows

    def beside(self, found: Any, direction: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Rows whose product with a direction is not the program's tangent."""
        single = any(np.asarray(self.call.leaves[k]).dtype.itemsize < np.dtype(float).itemsize for k in self.made.wrt)
        with np.errstate(all="ignore"):
            sizes = self.csr((np.abs(found.data), found.indices, found.indptr), found.shape)
            scale = sizes @ np.abs(direction) + np.abs(wanted)
            gap = np.abs(found @ direction - wanted)
            return np.flatnonzero(np.isfinite(gap) & (gap > (_SINGLE if single else _DOUBLE) * scale))

    # Trees

    def tree(self, part: Callable[[slice, slice], Any], whole: Any) -> Any:
        """A tree of results, each a tree of inputs, with parts of a matrix as leaves."""
        tops, lefts = (np.cumsum([0, *sizes]) for sizes in (self.heights, self.columns))
        single = len(self.heights) == 1 and len(self.columns) == 1
        call, made = self.call, self.made

        def block(r: int, k: int) -> Any:
            if k not in made.wrt:
                return 0
            at = made.wrt.index(k)
            return whole if single else part(slice(tops[r], tops[r + 1]), slice(lefts[at], lefts[at + 1]))

        def below(r: int) -> Any:
            trees = [
                rebuild(spec_tree(call.structure(a), iter([block(r, k) for k in call.leaf_range(a)])), call.results(()))
                for a in made.which
            ]
            return trees[0] if isinstance(self.verb.argnums, (int, str)) else tuple(trees)

        return _mapped(made.tree, below, call.results(()))


@dataclass(frozen=True, slots=True)
class Row:
    """The place of a result's matrices in a tree."""

    number: int


def scan(program: Program, spec: Any, name: str, rows: list[int | None]) -> Any:
    """The tree of results, with a `Row` for each; appends where each stands among the program's results."""
    name_of = name.removeprefix("the ")
    match spec:
        case Out():
            ty = program.function.results[spec.index].type
            if not isinstance(ty, (Scalar, Array)) or ty.dtype.kind not in "fc":
                what = "a growing list" if not isinstance(ty, (Scalar, Array)) else f"of type {ty.dtype}"
                raise refused(program, name, what)
            if ty.dtype.kind == "c":
                problem = f"a sparse matrix of derivatives of {name} of `{program.function.name}`, which is complex"
                raise not_holomorphic(program, problem, "return the real and imaginary parts")
            rows.append(spec.index)
            return Row(len(rows) - 1)
        case RecordOut() if not is_made_text(spec):
            return RecordOut(
                parts_class(spec.cls), {n: scan(program, v, f"{name_of}.{n}", rows) for n, v in spec.fields.items()}
            )
        case tuple():
            items = [scan(program, v, f"{name_of}[{k}]", rows) for k, v in enumerate(spec)]
            return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
        case list():
            return [scan(program, v, f"{name_of}[{k}]", rows) for k, v in enumerate(spec)]
        case dict():
            return {k: scan(program, v, f"{name_of}[{k!r}]", rows) for k, v in spec.items()}
        case None | Labels() | Constant():
            return spec
        case float() | np.floating():
            rows.append(None)
            return Row(len(rows) - 1)
        case _:
            raise refused(program, name, in_words(spec))


def refused(program: Program, name: str, what: str) -> TypeProblem:
    """The error for a result without a derivative."""
    return TypeProblem(
        "DJ322",
        f"{name} of `{program.function.name}` is {what}: it has no Jacobian",
        loc=place(program),
        cure="return floats and arrays of floats, and all else as extras: `return value, aux` with has_aux=True",
    )


def _in_order(spec: Any) -> Iterator[Row]:
    """The rows of a tree in the order of the leaves of arguments, which is that of a pattern's matrices."""
    for item in optree.tree_leaves(spec):
        if isinstance(item, Row):
            yield item
        elif isinstance(item, RecordOut):
            yield from _in_order(tuple(item.fields.values()))


def _mapped(spec: Any, leaf: Callable[[int], Any], outs: list[Any] | None = None) -> Any:
    """A tree with something else in the place of each row; `outs` says that objects are made, and of which labels."""
    match spec:
        case Row():
            return leaf(spec.number)
        case RecordOut():
            made = RecordOut(spec.cls, {n: _mapped(v, leaf, outs) for n, v in spec.fields.items()})
            return made if outs is None else rebuild(made, outs)
        case tuple():
            items = [_mapped(v, leaf, outs) for v in spec]
            return type(spec)(*items) if hasattr(spec, "_fields") else tuple(items)
        case list():
            return [_mapped(v, leaf, outs) for v in spec]
        case dict():
            return {k: _mapped(v, leaf, outs) for k, v in spec.items()}
        case _:
            return spec


def matrices(pattern: Any) -> Iterator[Any]:
    """The matrices of a pattern, sparse or dense, in the order of its tree."""
    import scipy.sparse

    for item in optree.tree_leaves(pattern):
        if scipy.sparse.issparse(item):
            yield scipy.sparse.csr_matrix(item != 0)
        elif np.ndim(item) == 2:
            yield scipy.sparse.csr_matrix(np.asarray(item) != 0)
        elif hasattr(item, "__dict__"):
            yield from matrices(tuple(vars(item).values()))


def _made(fun: Any, make: Callable[[Any], Any]) -> Any:
    return make if fun is None else make(fun)


@verb
def sparse_jacobian(
    fun: Any = None, argnums: Any = 0, has_aux: bool = False, *, pattern: Any = None, backend: str | None = None
) -> Any:
    """The Jacobian as a sparse matrix, from one tangent for each colour of its columns.

    fun       the function; without it, a decorator with arguments
    argnums   position or name of the argument to differentiate by, or a sequence of them
    has_aux   the function returns (value, aux); the result is then (Jacobian, aux)
    pattern   where entries may be: a sparse or dense matrix, or a tree of them, as `sparsity(fun)` returns
    backend   "numba" (compiled), "cuda" (with kernels for a GPU) or "python" (readable text)

    Without a pattern, the program is run on index sets at each call. The result is a `scipy.sparse.csr_matrix` with a
    row for each number of the function's result and a column for each number of the argument, both in C order; for
    trees, a tree of such matrices with the structure of `jacobian`'s.
    """

    def make(f: Any) -> Sparse:
        return Sparse(f, argnums, has_aux=has_aux, backend=backend, pattern=pattern)

    return _made(fun, make)


@verb
def sparse_hessian(
    fun: Any = None, argnums: Any = 0, has_aux: bool = False, *, pattern: Any = None, backend: str | None = None
) -> Any:
    """The matrix of second derivatives of a scalar function as a sparse matrix, from one `hvp` for each colour.

    Parameters as for `sparse_jacobian`; the pattern is that of `grad(fun)`: `sparsity(grad(fun))`. Its symmetry is used
    to need fewer colours.
    """

    def make(f: Any) -> Sparse:
        rows = grad(f, argnums, has_aux, backend=backend)
        return Sparse(rows, argnums, has_aux=has_aux, backend=backend, pattern=pattern, symmetric=True)

    return _made(fun, make)


@verb
def sparsity(fun: Any = None, argnums: Any = 0, has_aux: bool = False) -> Any:
    """Where the Jacobian may have entries at a point: boolean sparse matrices in the structure of `sparse_jacobian`.

    Parameters as for `sparse_jacobian`. The pattern holds for the way that the program takes through its branches at
    this point; it may hold entries that are zero, and misses none.
    """

    def make(f: Any) -> Sparse:
        return Sparse(f, argnums, has_aux=has_aux, backend="python", only=True)

    return _made(fun, make)
