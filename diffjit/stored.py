"""What objects of libraries' classes hold: numbers that programs read, and how one is made of such numbers.

Interpolators and sparse matrices are trees of their arrays, as users' objects are of their attributes. Classes are
named, not imported: a program that has such an object has imported its module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from diffjit import labels
from diffjit.dataclass import dataclass

_LIBRARIES = frozenset({"scipy", "numpy", "pandas", "xarray"})


@dataclass(frozen=True, slots=True)
class Stored:
    """The parts of a class's objects by name, and how an object is made of them; None where SciPy gives no way."""

    read: Callable[[Any], dict[str, Any]]
    make: Callable[[Any, dict[str, Any]], Any] | None = None
    labelled: bool = False  # an array (with labels, say): what belongs to its numbers is of its class, and has the same


def is_class_of_arrays(cls: type) -> bool:
    """Whether a class is a user's own of arrays: what it says of operators, and attributes, go beyond its numbers."""
    return cls is not np.ndarray and issubclass(cls, np.ndarray) and cls.__module__.split(".")[0] not in _LIBRARIES


def stored(cls: type) -> Stored | None:
    """What objects of a library's class hold, and those of a user's class of arrays; None for other classes."""
    if is_class_of_arrays(cls):
        return _OWN_ARRAYS
    known = cls.__module__.split(".")[0] in _LIBRARIES or cls.__name__ == "SuperLU"
    return _STORED.get(cls.__name__) if known else None


def _matrix(obj: Any) -> dict[str, Any]:
    """The array that a matrix shows."""
    return {"held_values": np.asarray(obj)}


def _make_matrix(cls: Any, fields: dict[str, Any]) -> Any:
    """A matrix; rows of a derivative are an array."""
    values = fields["held_values"]
    return values.view(cls) if isinstance(values, np.ndarray) and values.ndim == 2 else values


def _own_array(obj: Any) -> dict[str, Any]:
    """The array that an object shows, and its attributes."""
    return {"held_values": np.asarray(obj), **getattr(obj, "__dict__", {})}


def _make_own_array(cls: Any, fields: dict[str, Any]) -> Any:
    """An object of the class, with these attributes; what is no array of its lengths is as it is."""
    made = np.asarray(fields["held_values"]).view(cls)
    if len(fields) > 1:
        vars(made).update({name: value for name, value in fields.items() if name != "held_values"})
    return made


def _masked(obj: Any) -> dict[str, Any]:
    """The numbers of a masked array, where they do not count, and what stands for them."""
    default = np.ma.default_fill_value(obj.dtype)
    fill = None if obj.fill_value == default else obj.fill_value.item()
    mask = False if obj.mask is np.False_ else obj.mask
    held = {"held_values": np.asarray(obj.data), "held_mask": mask}
    return {**held, "held_fill": labels.Constant(fill), "held_hard": labels.Constant(obj.hardmask)}


def _make_masked(cls: Any, fields: dict[str, Any]) -> Any:
    """A masked array; rows of a derivative are an array."""
    values, mask = fields["held_values"], fields["held_mask"]
    if not isinstance(values, np.ndarray) or (isinstance(mask, np.ndarray) and mask.shape != values.shape):
        return values
    fill = fields["held_fill"]
    fill = fill.shown if isinstance(fill, labels.Constant) else fill
    return cls(values, mask=mask, fill_value=fill, hard_mask=fields["held_hard"].shown)


def _pieces(obj: Any) -> dict[str, Any]:
    """Coefficients of polynomials between breakpoints."""
    return {"c": obj.c, "x": obj.x, "extrapolate": _flag(obj.extrapolate), "axis": obj.axis}


def _make_pieces(cls: Any, fields: dict[str, Any]) -> Any:
    return cls.construct_fast(fields["c"], fields["x"], fields["extrapolate"], fields["axis"])


def _b_spline(obj: Any) -> dict[str, Any]:
    """Knots and coefficients of B-splines."""
    parts = {"t": obj.t, "c": obj.c, "k": int(obj.k)}
    return {**parts, "extrapolate": _flag(obj.extrapolate), "axis": obj.axis}


def _make_b_spline(cls: Any, fields: dict[str, Any]) -> Any:
    return cls.construct_fast(fields["t"], fields["c"], fields["k"], fields["extrapolate"], fields["axis"])


def _flag(value: Any) -> Any:
    return value if isinstance(value, str) else bool(value)


def _fitpack(obj: Any) -> dict[str, Any]:
    """Knots and coefficients of FITPACK's splines of one variable."""
    t, c, k = obj._eval_args  # noqa: SLF001 - SciPy has no other way to its coefficients
    return {"t": t, "c": c, "k": int(k), "ext": int(obj.ext)}


def _surface(obj: Any) -> dict[str, Any]:
    """Knots and coefficients of FITPACK's splines of two variables."""
    tx, ty, c = obj.tck
    kx, ky = obj.degrees
    return {"tx": tx, "ty": ty, "c": c, "kx": int(kx), "ky": int(ky)}


def _interp1d(obj: Any) -> dict[str, Any]:
    """The points of an interpolant, or the spline through them."""
    kind = obj._kind  # noqa: SLF001 - SciPy has no other way to what was asked for
    side = getattr(obj, "_side", "left")
    return {
        "x": obj.x,
        "y": obj.y,
        "axis": obj.axis % obj.y.ndim,
        "kind": "nearest-up" if kind == "nearest" and side == "right" else kind,
        "bounds_error": bool(obj.bounds_error),
        "fill_value": obj.fill_value,
        "spline": getattr(obj, "_spline", None),
    }


def _grid(obj: Any) -> dict[str, Any]:
    """The axes and values of a grid."""
    fill = obj.fill_value
    return {
        "grid": tuple(obj.grid),
        "values": obj.values,
        "method": obj.method,
        "bounds_error": bool(obj.bounds_error),
        "fill_value": None if fill is None else float(fill),
    }


def _radial(obj: Any) -> dict[str, Any]:
    """Centres and coefficients of radial functions, and their polynomial."""
    names = ("y", "_shift", "_scale", "_coeffs", "powers", "epsilon", "kernel", "neighbors", "d_shape")
    return {name: getattr(obj, name) for name in names}


def _nearest(obj: Any) -> dict[str, Any]:
    """Points and their values."""
    return {"points": obj.points, "values": obj.values}


def _barycentric(obj: Any) -> dict[str, Any]:
    """Points, values and weights of a polynomial."""
    shape = tuple(obj._y_extra_shape)  # noqa: SLF001
    return {"xi": obj.xi, "yi": obj.yi.reshape(-1, *shape), "wi": obj.wi, "axis": obj._y_axis}  # noqa: SLF001


def _tree(obj: Any) -> dict[str, Any]:
    """The points of a tree."""
    return {"data": obj.data, "boxsize": obj.boxsize}


def _triangles(obj: Any) -> dict[str, Any]:
    """Points and the triangles between them."""
    return {"points": obj.points, "simplices": obj.simplices, "neighbors": obj.neighbors}


def _hull(obj: Any) -> dict[str, Any]:
    """Points, and what is on their hull."""
    parts = {"points": obj.points, "vertices": obj.vertices, "simplices": obj.simplices}
    return {**parts, "volume": float(obj.volume), "area": float(obj.area)}


def _between_triangles(obj: Any) -> dict[str, Any]:
    """Points, as they were given, and their values."""
    scaled = obj.scale is not None
    return {
        "points": obj.points * obj.scale + obj.offset if scaled else obj.points,
        "values": obj.values.reshape(-1, *obj.values_shape),
        "fill_value": float(np.real(obj.fill_value)),
        "rescale": scaled,
    }


def _rotation(obj: Any) -> dict[str, Any]:
    """Quaternions, their real part last."""
    return {"quat": obj.as_quat()}


def _make_rotation(cls: Any, fields: dict[str, Any]) -> Any:
    return cls.from_quat(fields["quat"])


def _compressed(obj: Any) -> dict[str, Any]:
    """A sparse matrix by compressed rows or columns."""
    return {"data": obj.data, "indices": obj.indices, "indptr": obj.indptr, "shape": tuple(map(int, obj.shape))}


def _make_compressed(cls: Any, fields: dict[str, Any]) -> Any:
    return cls((fields["data"], fields["indices"], fields["indptr"]), shape=fields["shape"])


def _coordinates(obj: Any) -> dict[str, Any]:
    """A sparse matrix by rows and columns of its entries."""
    row, col = obj.coords
    return {"data": obj.data, "row": row, "col": col, "shape": tuple(map(int, obj.shape))}


def _kernels(obj: Any) -> dict[str, Any]:
    """Points, their weights, and the Gaussian around each."""
    names = ("dataset", "weights", "factor", "covariance")
    parts = {name: getattr(obj, name) for name in names}
    return {**parts, "d": int(obj.d), "n": int(obj.n), "neff": float(obj.neff)}


def _diagonals(obj: Any) -> dict[str, Any]:
    """A sparse matrix by its diagonals."""
    return {"data": obj.data, "offsets": obj.offsets, "shape": tuple(map(int, obj.shape))}


def _make_diagonals(cls: Any, fields: dict[str, Any]) -> Any:
    return cls((fields["data"], fields["offsets"]), shape=fields["shape"])


def _editable(obj: Any) -> dict[str, Any]:
    """A sparse matrix for assignments, and where its entries are."""
    there = obj.tocoo()
    places = np.zeros(obj.shape, bool)
    places[there.coords] = True
    return {"dense": obj.toarray(), "there": places, "shape": tuple(map(int, obj.shape))}


def _make_editable(cls: Any, fields: dict[str, Any]) -> Any:
    made = cls(fields["shape"], dtype=fields["dense"].dtype)
    for place in zip(*np.nonzero(fields["there"]), strict=True):
        made[place] = fields["dense"][place]
    return made


def _make_coordinates(cls: Any, fields: dict[str, Any]) -> Any:
    return cls((fields["data"], (fields["row"], fields["col"])), shape=fields["shape"])


_FACTORED: list[tuple[Any, dict[str, Any]]] = []  # these objects do not change


def _factors(obj: Any) -> dict[str, Any]:
    """The entries of a matrix, of its factors and the orders of its rows and columns; found once."""
    for known, parts in tuple(_FACTORED):
        if known is obj:
            return parts
    product = (obj.L @ obj.U).tocoo()
    rows, columns = obj.perm_r.argsort(), obj.perm_c.argsort()
    row, col = product.coords
    shape = tuple(map(int, obj.shape))
    parts = {"data": product.data, "row": rows[row], "col": columns[col], "shape": shape}
    _FACTORED[:] = [(obj, parts), *_FACTORED[:2]]
    return parts


def _powers(obj: Any) -> dict[str, Any]:
    """The coefficients of a polynomial, highest power first."""
    return {"whole": obj.coeffs}


def _orthogonal(obj: Any) -> dict[str, Any]:
    """The coefficients of SciPy's orthogonal polynomials, and the function that computes their values."""
    names = ("weights", "weight_func", "limits", "normcoef")
    held = {name: getattr(obj, name) for name in names if hasattr(obj, name)}
    return {**_powers(obj), **held, "eval_func": obj._eval_func}  # noqa: SLF001 - SciPy has no other way to it


def _make_powers(cls: Any, fields: dict[str, Any]) -> Any:
    return cls(fields["whole"])


def _series(obj: Any) -> dict[str, Any]:
    """The coefficients of a series, and what its domain is mapped to."""
    return {"series": obj.coef, "domain": obj.domain, "window": obj.window, "dropping": False}


def _make_series(cls: Any, fields: dict[str, Any]) -> Any:
    made = cls(fields["series"], fields["domain"], fields["window"])
    return made.trim() if fields["dropping"] else made


def _operator(obj: Any) -> dict[str, Any]:
    """The functions that a map of vectors was made of."""
    there, back = (getattr(obj, f"_CustomLinearOperator__{way}_impl") for way in ("matvec", "rmatvec"))
    return {"shape": tuple(map(int, obj.shape)), "of_vector": there, "back": back}


def _linear_constraint(obj: Any) -> dict[str, Any]:
    """A matrix and the limits of its products."""
    return {name: getattr(obj, name) for name in ("A", "lb", "ub", "keep_feasible")}


def _nonlinear_constraint(obj: Any) -> dict[str, Any]:
    """A function, its limits, and how SciPy finds its derivatives."""
    names = ("fun", "lb", "ub", "jac", "hess", "keep_feasible", "finite_diff_rel_step", "finite_diff_jac_sparsity")
    parts = {name: getattr(obj, name) for name in names}
    return {**parts, "hess": None if type(obj.hess).__name__ == "BFGS" else obj.hess}


def _frozen(obj: Any) -> dict[str, Any]:
    """A distribution and its parameters; of equal distributions, the one that SciPy's module has."""
    known: Any = getattr(sys.modules["scipy.stats"], obj.dist.name, None)
    same = type(known) is type(obj.dist) and (known.a, known.b) == (obj.dist.a, obj.dist.b)
    return {"dist": known if same else obj.dist, "args": tuple(obj.args), "kwds": dict(obj.kwds)}


def _normal_vectors(obj: Any) -> dict[str, Any]:
    """The mean, the covariance, and what is drawn from."""
    parts = {"mean": obj.mean, "cov": obj.cov, "allow_singular": bool(obj.allow_singular)}
    return {**parts, "stream": _own_stream(obj)}


def _shares(obj: Any) -> dict[str, Any]:
    """The parameters, and what is drawn from."""
    return {"alpha": obj.alpha, "stream": _own_stream(obj)}


def _own_stream(obj: Any) -> Any:
    """What a distribution with a seed draws from; None for NumPy's stream."""
    stream = obj.random_state
    return None if stream is np.random.mtrand._rand else stream  # noqa: SLF001 - NumPy has no other name for it


def _attributes(obj: Any) -> dict[str, Any]:
    """The attributes of an object of SciPy's whose class is followed as a user's is: its methods read and set them."""
    slots = [name for cls in type(obj).__mro__ for name in vars(cls).get("__slots__", ())]
    return {**{name: getattr(obj, name) for name in slots if hasattr(obj, name)}, **vars(obj)}


def _matrix_operator(obj: Any) -> dict[str, Any]:
    """The matrix of a map of vectors."""
    return {"shape": tuple(map(int, obj.shape)), "A": obj.A}


def _segments(obj: Any) -> dict[str, Any]:
    """A solution of a differential equation, whose polynomials between steps count from a time in units of a step."""
    parts = [_segment(piece) for piece in obj.interpolants]
    count = max(c.shape[1] for c, _, _ in parts)
    made = [np.pad(c, ((0, 0), (0, count - c.shape[1]))) for c, _, _ in parts]
    held = {"times": np.asarray(obj.ts), "coefficients": np.stack(made), "side": obj.side}
    return {**held, "starts": np.array([t for _, t, _ in parts]), "units": np.array([h for _, _, h in parts])}


def _segment(piece: Any) -> tuple[Any, float, float]:
    """The coefficients of each component, lowest power first, where they count from, and their unit."""
    name = type(piece).__name__
    if name == "LsodaDenseOutput":
        return piece.yh, piece.t, piece.h
    start, unit = piece.t_old, piece.t - piece.t_old
    if name in ("RkDenseOutput", "RadauDenseOutput"):
        scale = unit if name == "RkDenseOutput" else 1.0
        return np.column_stack([piece.y_old, scale * piece.Q]), start, unit
    one = np.polynomial.polynomial
    if name == "BdfDenseOutput":
        rows, product = [piece.D[0][:, None]], np.ones(1)
        for k in range(piece.order):
            factor = np.array([start - piece.t_shift[k], unit]) / piece.denom[k]
            product = one.polymul(product, factor)
            rows.append(np.outer(piece.D[k + 1], product))
    elif name == "Dop853DenseOutput":
        rows, product = [piece.y_old[:, None]], np.ones(1)
        for k, values in enumerate(piece.F):
            product = one.polymul(product, [0.0, 1.0] if k % 2 == 0 else [1.0, -1.0])
            rows.append(np.outer(values, product))
    else:  # one without a step
        return np.asarray(piece.value)[:, None], start, 1.0
    size = max(row.shape[1] for row in rows)
    return sum(np.pad(row, ((0, 0), (0, size - row.shape[1]))) for row in rows), start, unit


def _named(*names: str) -> Stored:
    """Parts that have the names of the object's attributes."""
    return Stored(lambda obj: {name: getattr(obj, name) for name in names})


_PIECES = Stored(_pieces, _make_pieces)
_FITPACK = Stored(_fitpack)
_SERIES = Stored(_series, _make_series)
_COMPRESSED = Stored(_compressed, _make_compressed)
_DIAGONALS = Stored(_diagonals, _make_diagonals)
_EDITABLE = Stored(_editable, _make_editable)
_COORDINATES = Stored(_coordinates, _make_coordinates)
_OWN_ARRAYS = Stored(_own_array, _make_own_array, labelled=True)
_STORED = {
    "PPoly": _PIECES,
    "CubicSpline": _PIECES,
    "CubicHermiteSpline": _PIECES,
    "PchipInterpolator": _PIECES,
    "Akima1DInterpolator": _PIECES,
    "BSpline": Stored(_b_spline, _make_b_spline),
    "interp1d": Stored(_interp1d),
    "UnivariateSpline": _FITPACK,
    "InterpolatedUnivariateSpline": _FITPACK,
    "LSQUnivariateSpline": _FITPACK,
    "RectBivariateSpline": Stored(_surface),
    "RegularGridInterpolator": Stored(_grid),
    "RBFInterpolator": Stored(_radial),
    "Rbf": _named("xi", "di", "N", "epsilon", "norm", "smooth", "mode", "function", "nodes"),
    "NearestNDInterpolator": Stored(_nearest),
    "BarycentricInterpolator": Stored(_barycentric),
    "KDTree": Stored(_tree),
    "cKDTree": Stored(_tree),
    "Delaunay": Stored(_triangles),
    "ConvexHull": Stored(_hull),
    "LinearNDInterpolator": Stored(_between_triangles),
    "Rotation": Stored(_rotation, _make_rotation),
    "rv_continuous_frozen": Stored(_frozen),
    "rv_discrete_frozen": Stored(_frozen),
    "multivariate_normal_frozen": Stored(_normal_vectors),
    "multivariate_t_frozen": _named("loc", "shape", "df"),
    "matrix_normal_frozen": _named("mean", "rowcov", "colcov"),
    "wishart_frozen": _named("df", "scale"),
    "invwishart_frozen": _named("df", "scale"),
    "dirichlet_frozen": Stored(_shares),
    "multinomial_frozen": _named("n", "p"),
    "dirichlet_multinomial_frozen": _named("alpha", "n"),
    "csr_matrix": _COMPRESSED,
    "csr_array": _COMPRESSED,
    "csc_matrix": _COMPRESSED,
    "csc_array": _COMPRESSED,
    "coo_matrix": _COORDINATES,
    "coo_array": _COORDINATES,
    "gaussian_kde": Stored(_kernels),
    "dia_matrix": _DIAGONALS,
    "dia_array": _DIAGONALS,
    "lil_matrix": _EDITABLE,
    "lil_array": _EDITABLE,
    "dok_matrix": _EDITABLE,
    "dok_array": _EDITABLE,
    "SuperLU": Stored(_factors),
    "poly1d": Stored(_powers, _make_powers),
    "orthopoly1d": Stored(_orthogonal),
    "Polynomial": _SERIES,
    "Chebyshev": _SERIES,
    "Legendre": _SERIES,
    "Hermite": _SERIES,
    "HermiteE": _SERIES,
    "Laguerre": _SERIES,
    "_CustomLinearOperator": Stored(_operator),
    "MatrixLinearOperator": Stored(_matrix_operator),
    "OdeSolution": Stored(_segments),
    **{
        f"{form}{time}": Stored(_attributes)
        for form in ("TransferFunction", "ZerosPolesGain", "StateSpace")
        for time in ("Continuous", "Discrete")
    },
    "LinearConstraint": Stored(_linear_constraint),
    "NonlinearConstraint": Stored(_nonlinear_constraint),
    "MaskedArray": Stored(_masked, _make_masked, labelled=True),
    "matrix": Stored(_matrix, _make_matrix, labelled=True),
    "Series": Stored(labels.read_series, labels.make_series, labelled=True),
    "DataFrame": Stored(labels.read_frame, labels.make_frame, labelled=True),
    "DataArray": Stored(labels.read_array, labels.make_array, labelled=True),
}
