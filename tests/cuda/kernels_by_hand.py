"""Kernels as users write them, launched from programs: for the tests, and for Numba's simulator to run.

python -m tests.cuda.kernels_by_hand FILE       with NUMBA_ENABLE_CUDASIM=1: the values of all cases, pickled
"""

import math
import pickle
import sys
import warnings

import numpy as np

warnings.simplefilter("ignore")  # Numba's, of grids that are small

from numba import cuda, float32, float64  # noqa: E402

TILE = 4


@cuda.jit(device=True)
def bent(x, k):
    if x > 0:
        return x * math.exp(-k * x)
    return k * x


@cuda.jit
def map_kernel(x, k, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    out[i] = bent(x[i], k) + x[i] ** 2


@cuda.jit
def scale_kernel(x, k, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i < x.size:
        out[i] = k * math.sin(x[i])


def mapped(x, k):
    out = np.zeros_like(x)
    map_kernel[(x.size + 31) // 32, 32](x, k, out)
    return out


@cuda.jit
def strided_kernel(x, y, out):
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, x.shape[0], stride):
        out[i] += math.sin(x[i]) * y[i]
    i = start
    while i < y.shape[0]:
        y[i] = y[i] * out[i]
        i += stride


def strided(x, y):
    out = np.ones(len(x))
    y = y.copy()
    strided_kernel[2, 8](x, y, out)
    return out.sum() + y @ y


@cuda.jit
def plane_kernel(u, v, c):
    i, j = cuda.grid(2)
    n, m = u.shape
    if 1 <= i < n - 1 and 1 <= j < m - 1:
        v[i, j] = u[i, j] + c * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])
    elif i < n and j < m:
        v[i, j] = u[i, j]


def heated(u, c):
    u = cuda.to_device(u)
    v = cuda.device_array_like(u)
    threads = (4, 4)
    blocks = tuple(math.ceil(n / t) for n, t in zip(u.shape, threads, strict=True))
    for _ in range(3):
        plane_kernel[blocks, threads](u, v, c)
        u, v = v, u
    cuda.synchronize()
    return u.copy_to_host()


@cuda.jit
def product_kernel(A, B, C):
    sA = cuda.shared.array((TILE, TILE), float64)
    sB = cuda.shared.array(shape=(TILE, TILE), dtype=float64)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    tmp = 0.0
    for i in range((A.shape[1] + TILE - 1) // TILE):
        sA[tx, ty] = 0
        sB[tx, ty] = 0
        if x < A.shape[0] and ty + i * TILE < A.shape[1]:
            sA[tx, ty] = A[x, ty + i * TILE]
        if y < B.shape[1] and tx + i * TILE < B.shape[0]:
            sB[tx, ty] = B[tx + i * TILE, y]
        cuda.syncthreads()
        for j in range(TILE):
            tmp += sA[tx, j] * sB[j, ty]
        cuda.syncthreads()
    if x < C.shape[0] and y < C.shape[1]:
        C[x, y] = tmp


def product(A, B):
    C = np.empty((A.shape[0], B.shape[1]))
    blocks = (-(-A.shape[0] // TILE), -(-B.shape[1] // TILE))
    product_kernel[blocks, (TILE, TILE)](A, B, C)
    return C


@cuda.jit
def sum_kernel(x, total):
    sm = cuda.shared.array(16, float64)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    v = 0.0
    if i < x.size:
        v = math.tanh(x[i])
    sm[t] = v
    cuda.syncthreads()
    s = cuda.blockDim.x // 2
    while s > 0:
        if t < s:
            sm[t] += sm[t + s]
        cuda.syncthreads()
        s //= 2
    if t == 0:
        cuda.atomic.add(total, 0, sm[0])


def summed(x):
    total = np.zeros(1)
    sum_kernel[(len(x) + 15) // 16, 16](x, total)
    return total[0] ** 2


@cuda.jit
def scan_kernel(x, out):
    sm = cuda.shared.array(0, float64)
    t = cuda.threadIdx.x
    n = x.size
    if t < n:
        sm[t] = x[t]
    cuda.syncthreads()
    offset = 1
    while offset < n:
        below = 1.0
        if t >= offset and t < n:
            below = sm[t - offset]
        cuda.syncthreads()
        if t < n:
            sm[t] = sm[t] * below
        cuda.syncthreads()
        offset *= 2
    if t < n:
        out[t] = sm[t]


def scanned(x):
    out = np.zeros_like(x)
    scan_kernel[1, 16, 0, 16 * 8](x, out)
    return out


@cuda.jit
def histogram_kernel(x, w, bins, highest):
    i = cuda.grid(1)
    if i < x.size:
        k = min(max(int(x[i] * bins.size), 0), bins.size - 1)
        cuda.atomic.add(bins, k, w[i] * w[i])
        cuda.atomic.max(highest, 0, w[i] * x[i])
        cuda.atomic.min(highest, 1, w[i] * x[i])
        cuda.atomic.sub(highest, (2,), w[i])


def histogram(x, w):
    bins = np.zeros(5)
    highest = np.zeros(3)
    histogram_kernel.forall(x.size)(x, w, bins, highest)
    return np.concatenate((bins, highest))


@cuda.jit
def local_kernel(x, out):
    a = cuda.local.array(3, float64)
    sm = cuda.shared.array(8, float64)
    t = cuda.threadIdx.x
    for k in range(3):
        a[k] = x[t] ** (k + 1)
    pair = (a[0], t)
    sm[t] = a[2]
    cuda.syncthreads()
    if t == 3:
        return
    a[1] += sm[(t + 1) % 8]
    cuda.syncthreads()
    left, place = pair
    out[place] = left * a[1] - sm[(t + 5) % 8]


def locally(x):
    out = np.zeros(8)
    local_kernel[1, 8](x, out)
    return out


@cuda.jit
def blur_kernel(x, out, radius):
    tile = cuda.shared.array(20, float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    width = cuda.blockDim.x
    tile[t + radius] = x[i] if i < x.size else 0.0
    if t < radius:
        tile[t] = x[i - radius] if i >= radius else 0.0
        tile[t + width + radius] = x[i + width] if i + width < x.size else 0.0
    cuda.syncthreads()
    if i < x.size:
        s = 0.0
        for k in range(-radius, radius + 1):
            s += tile[t + radius + k] / (1 + abs(k))
        out[i] = s


def blurred(x):
    out = np.empty_like(x)
    blur_kernel[-(-x.size // 16), 16](x, out, 2)
    return out


@cuda.jit
def sweeps_kernel(u, steps, tol):
    i = cuda.threadIdx.x
    n = u.size
    for s in range(steps):
        new = u[i]
        if 0 < i < n - 1:
            new = 0.5 * u[i] + 0.25 * (u[i - 1] + u[i + 1])
        cuda.syncthreads()
        u[i] = new
        cuda.syncthreads()
        if s >= tol:
            break


def relaxed(u):
    u = u.copy()
    sweeps_kernel[1, u.size](u, 6, 3)
    return u


@cuda.jit
def cube_kernel(x, out):
    i, j, k = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        out[i, j, k] = x[i, j, k] ** 2 * (cuda.threadIdx.z + 1) * (cuda.blockIdx.y + 1) * cuda.blockDim.x


def cubed(x):
    out = np.zeros(x.shape)
    cube_kernel[(2, 2, 1), (2, 1, 3)](x, out)
    return out


@cuda.jit
def lanes_kernel(r, out, steps):
    i = cuda.grid(1)
    if i < r.size:
        x = 0.4
        n = 0
        while x < 0.95 and n < 20:
            x = r[i] * x * (1 - x) + 0.1 * x
            n += 1
        out[i] = x
        steps[i] = n


def lanes(r):
    out = np.zeros_like(r)
    steps = np.zeros(r.size, np.int64)
    lanes_kernel[2, 8](r, out, steps)
    return out * (1 + steps % 3)


@cuda.jit
def single_kernel(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x[i] * float32(3)


def single(x):
    out = np.zeros(x.size, np.float32)
    single_kernel[1, 16](x, out)
    return out


@cuda.jit
def transposed_kernel(x, out):
    tile = cuda.shared.array((TILE, TILE + 1), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i = cuda.blockIdx.x * TILE + tx
    j = cuda.blockIdx.y * TILE + ty
    if i < x.shape[1] and j < x.shape[0]:
        tile[ty, tx] = x[j, i] ** 2
    cuda.syncthreads()
    i = cuda.blockIdx.y * TILE + tx
    j = cuda.blockIdx.x * TILE + ty
    if i < x.shape[0] and j < x.shape[1]:
        out[j, i] = tile[tx, ty]


def transposed(x):
    out = np.zeros(x.shape[::-1])
    transposed_kernel[(2, 2), (TILE, TILE)](x, out)
    return out


@cuda.jit
def corners_kernel(x, n, shift, out):
    sm = cuda.shared.array(8, float64)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    acc = 0
    seen = False
    shift = shift * x[t] + t
    mark = 1
    while True:
        sm[t] = x[t] * shift
        cuda.syncthreads()
        if t % 2 == 0:
            acc += sm[(t + n) % 8]
            seen = True
        for q in range(t % 3):
            acc += 0.1 * q
            if acc > 3:
                mark = 2
        cuda.syncthreads()
        if n > 4 + b:
            n -= 1
            continue
        if b == 1:
            shift += sm[7 - t]
            cuda.syncthreads()
        else:
            sm[t] = acc
            cuda.syncthreads()
            acc = 0.5 * sm[(t + 3) % 8]
            cuda.syncthreads()
        n -= 2
        if n < 1:
            break
    if seen and mark < 3:
        last = acc * mark
    cuda.syncthreads()
    if seen:
        out[b, t] = last + shift
    else:
        out[b, t] = n * acc


def corners(x, shift):
    out = np.zeros((2, 8))
    corners_kernel[2, 8](x, 6, shift, out)
    return out


@cuda.jit
def narrow_kernel(x, out):
    sm = cuda.shared.array((2, 4), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = x[ty, :]
    acc = 0.0
    best = row[tx]
    for k in range(x.shape[1]):
        sm[ty, tx] = row[(tx + k) % 4] * row[k]
        cuda.syncthreads()
        acc += sm[1 - ty, (tx + 1) % 4]
        best = max(best, sm[ty, 3 - tx])
        cuda.syncthreads()
    if ty == 1:
        acc = acc * best
    out[ty, tx] = acc - best


def narrow(x):
    out = np.zeros(x.shape, np.float32)
    narrow_kernel[1, (4, 2)](x, out)
    return out


_random = np.random.default_rng(14)


def _floats(*shape):
    return _random.uniform(0.2, 1.4, shape)


CASES = {
    mapped: (_random.uniform(-1, 1, 50), 0.7),
    strided: (_floats(37), _floats(37)),
    heated: (_floats(7, 9), 0.1),
    product: (_floats(6, 7), _floats(7, 5)),
    summed: (_floats(40),),
    scanned: (_floats(13),),
    histogram: (_floats(30) / 1.4, _floats(30)),
    locally: (_floats(8),),
    blurred: (_floats(35),),
    relaxed: (_floats(9),),
    cubed: (_floats(3, 2, 3),),
    lanes: (_random.uniform(2.0, 3.7, 13),),
    single: (_floats(11).astype(np.float32),),
    transposed: (_floats(6, 8),),
    corners: (_floats(8), 0.3),
    narrow: (_floats(2, 4).astype(np.float32),),
}


def main():
    values = {f.__name__: f(*args) for f, args in CASES.items()}
    with open(sys.argv[1], "wb") as file:  # noqa: PTH123
        pickle.dump(values, file)


if __name__ == "__main__":
    main()
