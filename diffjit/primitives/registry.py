"""How a primitive is declared. One declaration serves forward mode, reverse mode and every order.

`elementwise("sin(x)", "cos(x)")`
    an operation applied element by element, and its partial derivative by each parameter, written in Python with bare
    NumPy names; `out` is the result. A partial may be "0" (no derivative), or None (refused with an error).
`rule("cumsum", "a")`
    declares a structural primitive with the names of its inputs; `@cumsum.jvp` and `@cumsum.vjp` attach rules, which
    are plain NumPy functions. A rule asks by parameter name for what it reads: inputs, `out`, `<input>_dot`, `out_bar`,
    and the operation's attributes as keyword-only parameters. `linear=True` says that the tangent is the operation
    applied to the tangents. Rules are parsed by the same frontend as users' code, so they are differentiable again.
    What they do to complex numbers is said by `numbers=` (see `Rule`); without it these are refused.
`@implements(np.var)`
    a NumPy function written with others, in plain Python; it is inlined where users call it.
`constant(scipy.signal.butter)`
    a function that is called while a program is specialised, so that what it gives are numbers there.
"""

from __future__ import annotations

import ast
import dis
import functools
import inspect
from collections.abc import Callable
from dataclasses import field
from typing import Any

from diffjit.dataclass import dataclass
from diffjit.ir.ops import Cost, Raises, Row
from diffjit.ir.ops import declare as declare_row
from diffjit.ir.ops.schema import COMPARING
from diffjit.primitives.semantics import SCALAR_SEMANTICS, Semantics

ELEMENTWISE: dict[str, Elementwise] = {}
RULES: dict[str, Rule] = {}
COMPOSITES: dict[Any, Callable[..., Any]] = {}  # NumPy's (or math's) function -> the same function in plain Python
BOXING: set[Any] = set()  # plain versions that give an array without dimensions for numbers, as NumPy's function does
STATELESS: set[type] = set()  # classes of SciPy whose objects are fixed: their methods are read as programs
REAL: set[Any] = set()  # ufuncs of SciPy with a plain version for all real arguments, not only for ints in front
PLANE: set[Any] = set()  # ufuncs of SciPy with a plain version for all numbers, complex ones too
COMPLEX: dict[Any, Callable[..., Any]] = {}  # ufunc of SciPy -> its plain version for complex numbers alone
CONSTANT: set[Any] = set()  # functions that are called while a program is specialised, with constants
FUNCTIONS: dict[Any, str] = {}  # NumPy's (or math's) function -> elementwise kind
HOLOMORPHIC: set[str] = set()  # elementwise kinds whose partial derivatives hold for complex parameters
PLANAR: dict[str, tuple[tuple[str, str], ...]] = {}  # elementwise kind -> derivatives by complex parameters
TRUTHS = COMPARING | {"and", "or", "not"}  # operators that give True or False
_count = {"declared": 0, "own": 0}


def settle() -> None:
    """What is declared by now is diffjit's own."""
    _count["own"] = _count["declared"]


def extended() -> int:
    """How much was declared beyond diffjit's own."""
    return _count["declared"] - _count["own"]


@dataclass(frozen=True, slots=True)
class Elementwise:
    """An elementwise primitive: its parameters and its partial derivatives as expressions."""

    kind: str
    params: tuple[str, ...]
    partials: tuple[str | None, ...]
    guarded: bool = False  # a partial can be non-finite: a zero cotangent must still contribute zero
    overflows: bool = False  # and only where the value itself is not finite
    finite: bool = False  # guarded, but of finite numbers the value is finite
    ufunc: Any = None  # decides the result's dtype


@dataclass(slots=True)
class Rule:
    """A structural primitive and its rules."""

    kind: str
    params: tuple[str, ...]
    linear: bool = False
    bilinear: bool = False  # linear in each of its operands: the product rule is its forward rule
    jvp_rule: Callable[..., Any] | None = None
    vjp_rule: Callable[..., Any] | None = None
    code: Callable[..., Any] | None = None
    variadic: bool = field(default=False)
    # What the reverse rule is for complex inputs. "" refuses them. "real": a linear map with real coefficients.
    # "holomorphic": the transpose, without conjugates. "adjoint": the adjoint, its conjugates are written out.
    numbers: str = ""

    def jvp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the forward rule."""
        self.jvp_rule = function
        _count["declared"] += 1
        return function

    def program(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the operation in plain Python, which Taylor mode expands in place of the rule of `jvp`.

        For rules that are not well expanded: they read the result in a loop, or need the operation itself.
        """
        self.code = function
        _count["declared"] += 1
        return function

    def vjp(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Attach the reverse rule: one cotangent per input, None for an input without derivative."""
        self.vjp_rule = function
        _count["declared"] += 1
        return function


def elementwise(
    signature: str,
    *partials: str | None,
    numpy: Any = None,
    also: tuple[Any, ...] = (),
    guarded: bool = False,
    overflows: bool = False,
    finite: bool = False,
    about: str = "",
    raises: Raises = Raises.NUMBERS,
    exact: bool = False,
    fails: bool = False,
    boolean: bool = False,
    kink: bool = False,
    joins: bool = False,
    cost: Cost | None = None,
    along: str = "",
    operator: str = "",
    math: str = "",
    total: bool = False,
    name: str | None = None,
    size: int | None = None,
    scalar: Callable[..., Any] | None = None,
    library: str = "",
    integer: bool = False,
) -> Elementwise:
    """Declare an elementwise primitive, e.g. `elementwise("sin(x)", "cos(x)", numpy=np.sin, also=(math.sin,))`.

    What follows `finite` goes into its row (`diffjit.ir.ops.schema.Row` says what it means). What NumPy does not have
    is given as a `scalar` function in plain Python, which is compiled as it is; `library` is what text calls in its
    place, and `integer` says that its first parameter is an int.
    """
    call = ast.parse(signature, mode="eval").body
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    params = tuple(a.id for a in call.args if isinstance(a, ast.Name))
    assert len(partials) in (0, len(params)), f"{signature}: one partial per parameter"
    entry = Elementwise(
        call.func.id, params, partials or ("0",) * len(params), guarded or overflows or finite, overflows, finite, numpy
    )
    boolean = boolean or operator in TRUTHS
    if operator:
        cost = Cost.CHEAP if cost is None else cost
        name = ("test" if boolean else "") if name is None else name
    declare_row(
        Row(
            entry.kind,
            " ".join(params),
            about or f"{signature}, element by element",
            by_element=True,
            shared=True,
            raises=raises,
            exact=exact,
            fails=fails,
            boolean=boolean,
            kink=kink,
            joins=joins,
            cost=Cost.DEAR if cost is None else cost,
            along=along,
            operator=operator,
            math=math,
            total=total or bool(math),
            name=name,
            size=len(operator) or None if size is None else size,
        )
    )
    if scalar is not None:
        SCALAR_SEMANTICS[entry.kind] = Semantics(scalar, library=library, integer=integer)
    ELEMENTWISE[entry.kind] = entry
    _count["declared"] += 1
    for function in (numpy, *also):
        if function is not None:
            FUNCTIONS[function] = entry.kind
    return entry


def holomorphic(*kinds: str) -> None:
    """Elementwise primitives that are differentiable by complex parameters: their partial derivatives hold there."""
    HOLOMORPHIC.update(kinds)
    _count["declared"] += 1


def planar(kind: str, *derivatives: tuple[str, str]) -> None:
    """Derivatives (p, q) by complex parameters: the tangent is p * x_dot + q * conj(x_dot), real for a real result."""
    PLANAR[kind] = derivatives
    _count["declared"] += 1


def by_complex(kind: str) -> tuple[tuple[str, str], ...] | None:
    """The derivatives (p, q) of an elementwise primitive by complex parameters; None where it has no such rule."""
    if kind in HOLOMORPHIC:
        return tuple((p or "0", "0") for p in ELEMENTWISE[kind].partials)
    return PLANAR.get(kind)


def rule(kind: str, params: str, *, linear: bool = False, bilinear: bool = False, numbers: str = "") -> Rule:
    """Declare a structural primitive with the names of its inputs; a last name `*xs` takes any number of inputs."""
    names = tuple(params.replace(",", " ").split())
    variadic = bool(names) and names[-1].startswith("*")
    entry = Rule(kind, tuple(n.lstrip("*") for n in names), linear, bilinear, variadic=variadic, numbers=numbers)
    RULES[kind] = entry
    _count["declared"] += 1
    return entry


def present(module: Any, *names: str) -> list[Any]:
    """Those of these functions that the installed version of a module has: the oldest ones lack some."""
    return [getattr(module, name) for name in names if hasattr(module, name)]


def implements(*functions: Any, boxes: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a plain Python version of NumPy functions, inlined and differentiated where users call those.

    `boxes`: what `np.where` chooses among numbers in it is an array without dimensions, as it is in users' programs.
    """

    def register(plain: Callable[..., Any]) -> Callable[..., Any]:
        _count["declared"] += 1
        for function in functions:
            COMPOSITES[function] = plain
        if boxes:
            BOXING.add(plain)
        return plain

    return register


# Parameters that say how something is to be computed or checked, not what: what is written here need not read them.
ADVICE = frozenset({
    "kind", "order", "casting", "subok", "device", "overwrite_input", "overwrite_a", "overwrite_b", "overwrite_x",
    "overwrite_ab", "overwrite_a_band", "overwrite_A", "overwrite_data", "overwrite", "check_finite", "workers",
    "optimize", "assume_unique", "sorted", "lwork", "quiet", "rng", "seed", "xp", "lapack_driver", "driver", "tol",
    "blocksize", "threshold", "balanced", "traceA", "permc_spec", "diag_pivot_thresh", "relax", "panel_size",
    "options", "callback_type", "store_outer_Av", "prepend_outer_v", "discard_C", "vectorized", "jac",
    "jac_sparsity", "lband", "uband", "min_step", "Dfun", "col_deriv", "ml", "mu", "tcrit", "hmin", "ixpr", "mxstep",
    "mxhnil", "mxordn", "mxords", "printmessg", "maxp1", "limlst", "cache_size", "quadrature", "tr_options",
    "lsmr_maxiter", "irlen", "writeable",
})  # fmt: skip


@functools.cache
def unused(plain: Callable[..., Any]) -> tuple[tuple[int, str, Any], ...]:
    """The parameters of a plain Python version that it never reads, advice among them: places, names, defaults."""
    found = getattr(plain, "__code__", None)
    if found is None:
        return ()
    read: set[Any] = set()
    for instruction in dis.get_instructions(found):
        if instruction.opname.startswith(("LOAD", "MAKE_CELL", "DELETE", "STORE_FAST_LOAD_FAST")):
            named: Any = instruction.argval  # several names where one instruction loads several
            loaded: list[Any] = list(named) if isinstance(named, tuple) else [named]  # pyright: ignore[reportUnknownArgumentType]
            read.update(loaded[1:] if instruction.opname.startswith("STORE") else loaded)
    parameters = inspect.signature(plain).parameters.values()
    return tuple((k, p.name, p.default) for k, p in enumerate(parameters) if p.name not in read)


@functools.cache
def unread(plain: Callable[..., Any]) -> tuple[tuple[int, str, Any], ...]:
    """The parameters that say what is to be computed, and are never read."""
    return tuple(found for found in unused(plain) if found[1] not in ADVICE)


def heeded(function: Any, named: dict[str, Any]) -> list[Any]:
    """What is given by name, without advice that nobody reads."""
    plain = COMPOSITES.get(function)
    ignored = {name for _, name, _ in unused(plain) if name in ADVICE} if plain is not None else ()
    return [value for name, value in named.items() if name not in ignored]


def of_reals(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `implements`, of ufuncs of SciPy: not for complex numbers, but for whatever real ones they take."""
    REAL.update(functions)
    return implements(*functions)


def of_numbers(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `of_reals`, for complex numbers too."""
    PLANE.update(functions)
    return implements(*functions)


def of_plane(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """As `implements`, of a ufunc of SciPy: for complex numbers, where it has a row for real ones."""

    def register(plain: Callable[..., Any]) -> Callable[..., Any]:
        _count["declared"] += 1
        COMPLEX[function] = plain
        return plain

    return register


def constant(*functions: Any) -> None:
    """Functions whose arguments are constants, and that change nothing: they are called as they are."""
    _count["declared"] += 1
    CONSTANT.update(functions)


def stateless(*classes: type) -> None:
    """Classes of SciPy whose objects do not change: their methods without a row are read by their source."""
    _count["declared"] += 1
    STATELESS.update(classes)
