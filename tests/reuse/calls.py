"""Kinds of arguments: how arrays lie in memory, what they hold, and their dtypes."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

ORDERS = ("C", "strided", "reversed", "F", "row", "strided", "reversed", "F", "row", "repeated")
EDGES = (0.0, -0.0, np.nan, np.inf, -np.inf, 0.5, 1.0, 1e-300)


@dataclass(frozen=True)
class Call:
    """One call of a program: `arguments()` makes fresh ones."""

    seed: int
    p: int
    q: int
    k: int
    orders: tuple[str, str, str]
    dtypes: tuple[str, str, str]
    number: str
    edges: bool
    wild: bool  # whether indices may be out of range

    def arguments(self) -> list[Any]:
        """Fresh arguments."""
        rng = np.random.default_rng(self.seed)
        shapes = ((self.p,), (self.p,), (self.p, self.q))
        found: list[Any] = []
        for shape, order, dtype in zip(shapes, self.orders, self.dtypes, strict=True):
            data = rng.uniform(0.1, 1.0, shape)
            if self.edges and data.size:
                places = rng.integers(0, data.size, 2)
                data.reshape(-1)[places] = rng.choice(EDGES, 2)
            found.append(laid(data if dtype != "int64" else np.round(data * 3), order, dtype))
        low, high = (-self.p - 1, self.p + 2) if self.wild else (0, max(self.p, 1))
        found.append(rng.integers(low, high, self.p).astype("int32" if self.seed % 3 == 0 else "int64"))
        s = float(rng.uniform(0.1, 1.0))
        found.append({"float": s, "float64": np.float64(s), "int": 1, "float32": np.float32(s)}[self.number])
        found.append(self.k)
        return found


def laid(data: np.ndarray, order: str, dtype: str) -> np.ndarray:
    """Numbers as an array that lies in memory in a certain way."""
    data = data.astype(dtype)
    if order == "strided":
        room = np.full(tuple(2 * n for n in data.shape), -7.0).astype(dtype)
        view = room[tuple(slice(None, None, 2) for _ in data.shape)]
        view[...] = data
        return view
    if order == "reversed":
        turn = tuple(slice(None, None, -1) for _ in data.shape)
        return data[turn].copy()[turn]
    if order == "row":  # of a matrix in another order
        room = np.full((*data.shape, 3), -7.0).astype(dtype)
        room[..., 1] = data
        return room[..., 1]
    if order == "F":
        return np.asfortranarray(data)
    if order == "repeated":  # one number everywhere
        return np.broadcast_to(data.reshape(-1)[:1].reshape((1,) * data.ndim), data.shape) if data.size else data
    return data


def calls(seed: int, count: int) -> list[Call]:
    """Calls of one program: an ordinary one, others, and the ordinary one again."""
    draw = random.Random(seed)
    first = Call(
        draw.randint(0, 10**6),
        draw.randint(3, 6),
        draw.randint(2, 4),
        draw.randint(1, 3),
        ("C",) * 3,
        ("float64",) * 3,
        "float",
        False,
        False,
    )
    found = [first]
    for _ in range(count - 2):
        plain = draw.random() < 0.7
        kinds = ("float64",) if draw.random() < 0.7 else ("float64", "float32", "int64", "complex128")
        found.append(
            Call(
                draw.randint(0, 10**6),
                draw.choice((0, 1, 1, 2, 4, 5, 6)),
                draw.choice((0, 1, 2, 3, 5)) if draw.random() < 0.4 else draw.randint(2, 4),
                draw.randint(-4, 7),
                tuple(draw.choice(ORDERS) if draw.random() < 0.6 else "C" for _ in range(3)),  # type: ignore[arg-type]
                tuple(draw.choice(kinds) for _ in range(3)),  # type: ignore[arg-type]
                "float" if plain else draw.choice(("float64", "int", "float32")),
                draw.random() < 0.25,
                draw.random() < 0.3,
            )
        )
    return [*found, first]
