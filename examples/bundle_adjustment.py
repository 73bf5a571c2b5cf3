"""Bundle adjustment: cameras and points of a scene from pictures, by least squares with a sparse Jacobian.

Twelve cameras stand around 300 points on a spiral and see each of them with a probability of one half, to half a
pixel. The positions and directions of all cameras but two, which fix the frame, and all points are unknown: 960
numbers, with some 3600 residuals of up to 9 unknowns each. `diffjit.sparsity` finds the pattern by running the loop
over observations once, `diffjit.sparse_jacobian` evaluates it with a tangent for each colour, and SciPy's
`least_squares` does the rest.

Run it with `python examples/bundle_adjustment.py`. It prints a table and saves `bundle_adjustment.png` beside this
file.
"""

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import least_squares

import diffjit as dj

HERE = Path(__file__).parent
CAMERAS, POINTS, KNOWN = 12, 300, 2
FOCAL = 800.0  # pixels


def residuals(x, known, camera, point, pixels):
    """Seen minus projected pixels; x holds rotation vector and position of each unknown camera, then the points."""
    views = np.concatenate([known, x[: 6 * (CAMERAS - KNOWN)].reshape(-1, 6)])
    points = x[6 * (CAMERAS - KNOWN) :].reshape(-1, 3)
    out = np.empty(2 * camera.size)
    for i in range(camera.size):
        a, b, c, x0, y0, z0 = views[camera[i]]
        x1, y1, z1 = points[point[i]]
        u, v, w = x1 - x0, y1 - y0, z1 - z0
        # Rodrigues' rotation by the vector (a, b, c)
        angle = np.sqrt(a * a + b * b + c * c)
        cos, sin = np.cos(angle), np.sin(angle) / angle
        along = (1.0 - cos) / angle**2 * (a * u + b * v + c * w)
        right = cos * u + sin * (b * w - c * v) + along * a
        down = cos * v + sin * (c * u - a * w) + along * b
        depth = cos * w + sin * (a * v - b * u) + along * c
        out[2 * i] = pixels[i, 0] - FOCAL * right / depth
        out[2 * i + 1] = pixels[i, 1] - FOCAL * down / depth
    return out


def rotation_vector(forward):
    """Of a camera that looks along a horizontal direction, with its picture upright."""
    right = np.array([-forward[1], forward[0], 0.0])
    matrix = np.stack([right, np.cross(forward, right), forward])
    angle = np.arccos(np.clip((np.trace(matrix) - 1.0) / 2.0, -1.0, 1.0))
    skew = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    return angle / (2.0 * np.sin(angle)) * skew


def scene(rng):
    """The true unknowns, the known cameras, which camera sees which point, and where."""
    around = 2.0 * np.pi * (np.arange(CAMERAS) + 0.3) / CAMERAS
    views = np.empty((CAMERAS, 6))
    for k, angle in enumerate(around):
        place = np.array([np.cos(angle), np.sin(angle), 0.0])
        views[k] = np.concatenate([rotation_vector(-place), 6.0 * place])
    turn = np.linspace(0.0, 6.0 * np.pi, POINTS)
    points = np.column_stack([np.cos(turn), np.sin(turn), turn / 6.0 - 1.5]) * np.array([1.5, 1.5, 1.0])
    camera, point = np.nonzero(rng.random((CAMERAS, POINTS)) < 0.5)
    truth = np.concatenate([views[KNOWN:].ravel(), points.ravel()])
    exact = -residuals(truth, views[:KNOWN], camera, point, np.zeros((camera.size, 2)))
    pixels = exact.reshape(-1, 2) + 0.5 * rng.standard_normal((camera.size, 2))
    return truth, (views[:KNOWN], camera, point, pixels)


def plot(pattern, truth, start, fit, path):
    """Save a figure of the pattern, and of the scene from the side."""
    cut = 6 * (CAMERAS - KNOWN)
    with mpl.rc_context({"font.size": 8, "axes.linewidth": 0.6, "xtick.major.width": 0.6, "ytick.major.width": 0.6}):
        figure = Figure(figsize=(6.4, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
        left.spy(pattern, markersize=0.25, color="#1f4e79", aspect="auto")
        left.set_xlabel("Unknown")
        left.set_ylabel("Residual")
        left.xaxis.set_ticks_position("bottom")
        for x, style, color, label in (
            (start, ".", "#c0672f", "start"), (truth, "-", "0.6", "truth"), (fit, ".", "#1f4e79", "fitted"),
        ):  # fmt: skip
            points = x[cut:].reshape(-1, 3)
            right.plot(
                points[:, 0], points[:, 2], style, color=color, markersize=2, linewidth=0.8, label=f"points, {label}"
            )
        right.set_aspect("equal")
        right.set_xlabel("x")
        right.set_ylabel("z")
        right.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        right.spines[["top", "right"]].set_visible(False)
        figure.savefig(path, dpi=200)


def main():
    """Adjust, print the table, save the figure."""
    rng = np.random.default_rng(2)
    truth, args = scene(rng)
    spread = np.concatenate([np.full(6 * (CAMERAS - KNOWN), 0.03), np.full(3 * POINTS, 0.15)])
    start = truth + spread * rng.standard_normal(truth.size)

    compiled = dj.jit(residuals)
    pattern = dj.sparsity(residuals)(start, *args)
    jacobian = dj.sparse_jacobian(residuals, pattern=pattern)
    fit = least_squares(compiled, start, jac=jacobian, args=args, x_scale="jac", xtol=1e-10)

    rows, columns = pattern.shape
    print(f"{rows} residuals, {columns} unknowns, {pattern.nnz} entries: {100 * pattern.nnz / (rows * columns):.2g} %")
    print(f"{dj.column_colors(pattern).max() + 1} tangents for each Jacobian, {fit.njev} Jacobians. {fit.message}\n")
    print(f"{'':36}{'start':>10}{'fitted':>10}")
    errors = [np.sqrt(np.mean(compiled(x, *args) ** 2)) for x in (start, fit.x)]
    print(f"{'residual (pixels, root mean square)':36}{errors[0]:10.3f}{errors[1]:10.3f}")
    cut = 6 * (CAMERAS - KNOWN)
    for name, part in (("cameras", slice(cut)), ("points", slice(cut, None))):
        errors = [np.sqrt(np.mean((x[part] - truth[part]) ** 2)) for x in (start, fit.x)]
        print(f"{'error of the ' + name:36}{errors[0]:10.4f}{errors[1]:10.4f}")

    path = HERE / "bundle_adjustment.png"
    plot(pattern, truth, start, fit.x, path)
    print(f"\nFigure saved as {path}")


if __name__ == "__main__":
    main()
