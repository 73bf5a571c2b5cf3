"""Programs that fail, one per situation: `docs/errors.md` shows each with the message it gets.

A function's name is the error's code and the situation; its body is the whole program, as a user would write it.
"""

import numpy as np

import diffjit as dj

# ------------------------------------------------------------------------------------------------------------- syntax


def dj101_with_block():
    import threading

    lock = threading.Lock()

    def model(x):
        with lock:
            return x * x

    dj.grad(model)(1.0)


def dj101_async():
    def model(x):
        async def step(y):
            return y * y

        return step(x)

    dj.grad(model)(1.0)


def dj101_delete_attribute():
    class Box:
        x = 1.0

    box = Box()

    def model(x):
        del box.x
        return x * x

    dj.grad(model)(1.0)


def dj110_no_source():
    namespace = {}
    exec("\n".join(["def model(x):", "    return x * x"]), namespace)
    dj.grad(namespace["model"])(1.0)


def dj101_yield_in_try():
    def powers(x):
        try:
            yield x
            yield x * x
        finally:
            x = 0.0

    def model(x):
        products = powers(x)
        return next(products) + next(products)

    dj.grad(model)(2.0)


def dj111_calls_too_deep():
    def power(x, n):
        return 1.0 if n == 0 else x * power(x, n - 1)

    dj.grad(lambda x: power(x, 100))(1.1)


def dj113_class_inside():
    class Meta(type):
        pass

    def model(x):
        class Point(metaclass=Meta):
            def __init__(self, x):
                self.x = x

        return Point(x).x ** 2

    dj.grad(model)(2.0)


def dj115_iteration():
    def model(x):
        total = 0.0
        for part in x:
            total += part
        return total

    dj.grad(model)(2.0)


def dj116_long_list():
    stages = [("heat", 0.5), ("cool", 1.0)] * 5_000

    def model(x):
        total = 0.0
        for kind, w in stages:
            total += w * x**2 if kind == "heat" else w * x
        return total

    dj.grad(model)(2.0)


def dj118_method():
    def model(x):
        parts = [x, 2.0 * x]
        return parts.__sizeof__() * x[0]

    dj.grad(model)(np.ones(3))


def dj118_argument():
    def model(x):
        return np.sum(np.sin(x, subok=False))

    dj.grad(model)(np.ones(3))


def dj119_recursion():
    def nested(x, depth):
        if depth < 1.0:
            return x
        return (nested(x, depth - 1.0), x)

    dj.grad(nested)(2.0, 3.0)


def dj125_inner_function_changes_outside():
    def model(x):
        seen = []

        def energy(y):
            seen.append(y)
            return y**4

        return dj.grad(energy)(x) + len(seen)

    dj.grad(model)(2.0)


def dj120_global():
    def model(x):
        global max
        max = 2.0 * x
        return x * max

    dj.grad(model)(2.0)


def dj121_identity():
    def model(x):
        return x if id(x) > 0 else 2.0 * x

    dj.grad(model)(2.0)


def dj121_is():
    def model(x, y):
        if x is y:
            return x * x
        return x * y

    dj.grad(model)(2.0, 3.0)


def dj121_object():
    class Point:
        def __init__(self, x):
            self.x = x

    def model(a, b):
        larger = a if a.x > b.x else b
        return larger.x * b.x if larger is a else b.x

    dj.grad(model)(Point(2.0), Point(3.0))


def dj122_format():
    def model(x, digits):
        print(f"{x:.{digits}f}")
        return x * x

    dj.grad(model)(2.0, 3)


def dj123_key():
    def model(xs):
        last = {}
        for x in xs:
            last[f"bin {int(x)}"] = x
        return last["bin 0"]

    dj.grad(model)(np.array([0.5, 1.5, 0.7]))


def dj124_raise():
    def model(x):
        for _ in range(3):
            raise
        return x * x

    dj.grad(model)(2.0)


def dj126_bool_index():
    def model(x, late):
        pair = x * np.array([1.0, 2.0])
        return pair[late, 0]

    dj.grad(model)(2.0, True)


def dj127_outside_changed():
    class Model:
        pass

    def model(x):
        Model.calls = 1
        return x * x

    dj.grad(model)(2.0)


def dj129_import():
    def model(x):
        import no_such_module

        return no_such_module.double(x)

    dj.grad(model)(2.0)


# ------------------------------------------------------------------------------------------------------------ no rule


def dj201_unknown_function():
    import scipy.linalg

    def model(x):
        return np.sum(np.abs(scipy.linalg.qz(x, x)[0]))

    dj.grad(model)(np.eye(2))


def dj205_without_source():
    from scipy.special import kolmogorov

    def model(x):
        return 2.0 * kolmogorov(x)

    dj.grad(model)(1.0)


def dj203_complex_numbers():
    def model(z):
        return np.sum(np.abs(np.sinc(z)))

    dj.grad(model)(np.array([1.0 + 2.0j]))


# -------------------------------------------------------------------------------------------------------------- types


def dj301_not_a_number():
    def model(x, label):
        return x * np.exp(label)

    dj.grad(model)(2.0, "two")


def dj302_operands():
    def model(x):
        return np.sum(x & 3)

    dj.grad(model)(np.ones(3))


def dj302_matrix_product():
    def model(x):
        return x @ x

    dj.grad(model)(2.0)


def dj303_unbound():
    def model(x):
        if x is None:
            y = 1.0
        return x * y

    dj.grad(model)(2.0)


def dj303_unbound_when_run():
    def model(x):
        if x > 0.0:
            y = x * x
        return y

    dj.grad(model)(-1.0)


def dj303_undefined_name():
    def model(x):
        return x * scale

    dj.grad(model)(2.0)


def dj304_type_changes_in_loop():
    def model(x, n):
        state = np.array([x, x])
        for i in range(n):
            if x < i:
                state = [x, x]
        return np.sum(state)

    dj.grad(model)(2.0, 5)


def dj304_type_differs_by_branch():
    def model(x):
        if x > 0.0:
            y = x
        else:
            y = np.array([x, x])
        return y

    dj.jit(model)(2.0)


def dj305_none():
    def model(x):
        best = None
        if x > 0.0:
            best = x
        return best * 2.0

    dj.grad(model)(-1.0)


def dj306_arguments():
    def scaled(x, by):
        return x * by

    def model(x):
        return scaled(x)

    dj.grad(model)(2.0)


def dj306_too_many():
    def scaled(x, by):
        return x * by

    def model(x):
        return scaled(x, 2.0, 3.0)

    dj.grad(model)(2.0)


def dj307_must_be_known():
    def model(x):
        axis = int(x[0])
        return np.sum(np.cumsum(np.outer(x, x), axis=axis))

    dj.grad(model)(np.ones(3))


def dj308_range():
    def model(x, n):
        total = 0.0
        for i in range(n / 2):
            total += x * i
        return total

    dj.grad(model)(2.0, 6)


def dj308_not_callable():
    def model(x):
        return x(2.0)

    dj.grad(model)(2.0)


def dj309_operation():
    def model(x, label):
        return x * (label - 1)

    dj.grad(model)(2.0, "two")


def dj310_shapes():
    def model(x):
        return np.sum(x * np.zeros((2, 3)) + np.zeros((2, 4)))

    dj.grad(model)(2.0)


def dj310_matrix_product():
    def model(x):
        return np.sum((x * np.ones((2, 3))) @ np.ones((2, 3)))

    dj.grad(model)(2.0)


def dj311_truth_of_array():
    def model(x):
        if x > 0.0:
            return np.sum(x)
        return 0.0

    dj.grad(model)(np.ones((2, 3)))


def dj312_unpacking():
    def model(x):
        a, b = x, x, x
        return a * b

    dj.grad(model)(2.0)


def dj313_into_ints():
    def model(x):
        counts = np.zeros(3, dtype=int)
        counts += x
        return np.sum(counts)

    dj.grad(model)(np.ones(3))


def dj314_too_many_indices():
    def model(x):
        return x[0, 1]

    dj.grad(model)(np.ones(3))


def dj314_number_indexed():
    def model(x):
        return x[0]

    dj.grad(model)(2.0)


def dj317_attribute():
    class Rod:
        def __init__(self, length):
            self.length = length

    def model(x):
        rod = Rod(x)
        return rod.width

    dj.grad(model)(2.0)


def dj317_array_attribute():
    def model(x):
        return x.lenght * x[0]

    dj.grad(model)(np.ones(3))


def dj318_axis():
    def model(x):
        return np.sum(np.sum(x, axis=1))

    dj.grad(model)(np.ones(3))


def dj319_result():
    def model(x):
        def inner(y):
            return x * y

        return inner

    dj.vjp(model, 2.0)


def dj320_not_scalar():
    def model(x):
        return x * x

    dj.grad(model)(np.ones(3))


def dj320_int_result():
    def model(x):
        return int(x)

    dj.grad(model)(2.0)


# ------------------------------------------------------------------------------------------------------------- memory


def dj402_shared_memory():
    def model(a, b):
        a[0] = 2.0 * b[1]
        return np.sum(a * b)

    x = np.ones(3)
    dj.grad(model)(x, x)


def dj402_objects_change_places():
    def model(x):
        items = [{"v": v} for v in x if v > 0.0]
        items[0], items[1] = items[1], items[0]
        items[0]["v"] *= 2.0
        return items[1]["v"]

    dj.grad(model)(np.ones(3))


def dj403_recursion_writes():
    def relax(u, shifted, tolerance):
        u[0] = 0.5 * (u[0] + shifted[0])
        if u[0] - shifted[0] < tolerance:
            return u[0]
        return relax(u, shifted, tolerance)

    def model(x):
        u = x.copy()
        return relax(u, u[1:], 1e-3)

    dj.grad(model)(np.array([2.0, 1.0]))


# ---------------------------------------------------------------------------------------------------- use of the verbs


def dj501_integer_array():
    def model(x):
        return np.sum(x * x)

    dj.grad(model)(np.arange(3))


def dj501_integer():
    def model(x, n):
        return x**n

    dj.grad(model, argnums="n")(2.0, 3)


def dj502_no_numbers():
    def model(x, mode):
        return x * x if mode == "square" else x

    dj.grad(model, argnums="mode")(2.0, "square")


def dj503_backend():
    dj.grad(lambda x: x * x, backend="tpu")(2.0)


def dj504_not_a_function():
    def model(x):
        return x * x

    dj.grad(model(2.0))


def dj505_name():
    def model(x, rate):
        return x * rate

    dj.grad(model, argnums="rat")(2.0, 3.0)


def dj505_not_given():
    def model(x, rate=1.0):
        return x * rate

    dj.grad(model, argnums="rate")(2.0)


def dj505_position():
    def model(x, rate):
        return x * rate

    dj.grad(model, argnums=2)(2.0, 3.0)


def dj506_has_aux():
    def model(x):
        return x * x

    dj.grad(model, has_aux=True)(2.0)


def dj507_tangents():
    def model(x, y):
        return x * y

    dj.jvp(model, (2.0, 3.0), (1.0,))


def dj507_tangent_shape():
    def model(x):
        return np.sum(x * x)

    dj.jvp(model, (np.ones(3),), (np.ones(2),))


def dj507_cotangent_shape():
    def model(x):
        return x * x

    _, pullback = dj.vjp(model, np.ones(3))
    pullback(np.ones(2))


def dj507_series():
    def model(x, y):
        return x * y

    dj.jet(model, (2.0, 3.0), ((1.0, 0.0), (1.0,)))


def dj508_stage():
    def model(x):
        return x * x

    dj.source(dj.grad(model), 2.0, stage="assembly")


# ------------------------------------------------------------------------------------------ exceptions and iterators


def dj115_side_by_side():
    def powers(x):
        while True:
            x = x * x
            yield x

    def model(x, y):
        return sum(a * b for a, b in zip(powers(x), powers(y)))

    dj.grad(model)(0.5, 0.6)


def dj118_option():
    def model(x):
        return np.linalg.qr(x, "raw")[0][0, 0]

    dj.grad(model)(np.ones((3, 3)))


def dj124_error_state():
    def model(x, y):
        np.seterr(divide="raise")
        return np.sum(x / y)

    dj.grad(model)(np.ones(3), np.ones(3))


def dj124_attribute():
    def model(x):
        try:
            return 1.0 / x
        except ZeroDivisionError as error:
            return x * error.__traceback__.tb_lineno

    dj.grad(model)(2.0)


def dj304_question():
    def model(xs):
        total = 0
        for x in xs:
            total = total + x
        return 2.0 * total if isinstance(total, int) else total

    dj.grad(model)(np.ones(3))


def dj115_order_of_a_set():
    def model(xs):
        seen, total = set(), 0.0
        for x in xs:
            seen.add(int(3 * x))
        for k in seen:
            total = total * xs[0] + k
        return total

    dj.grad(model)(np.ones(3))


def dj404_windows_then_written():
    def model(x):
        level = 2.0 * x
        windows = np.lib.stride_tricks.sliding_window_view(level, 3)
        level[0] = 0.0
        return np.sum(windows**2)

    dj.grad(model)(np.ones(5))


# ----------------------------------------------------------------------------------------------------- lanes and bases


def dj125_lane_appends():
    def model(row, seen):
        seen.append(row[0])
        return np.sum(row)

    dj.vmap(model, in_axes=(0, None))(np.ones((4, 3)), [1.0])


def dj130_caught_outside():
    def checked(x):
        if x < 0:
            raise ValueError("negative")
        return np.sqrt(x)

    def model(xs):
        try:
            return np.sum(dj.vmap(checked)(xs))
        except ValueError:
            return 0.0

    dj.jit(model)(np.ones(3))


def dj131_python_knows():
    from datetime import datetime

    def model(x):
        return x * datetime.now().hour

    dj.grad(model)(2.0)


def dj132_again():
    import time

    def model(x):
        if time.time() < 0:
            return np.sum(x)
        return np.sum(x * x)

    dj.hessian(model)(np.ones(3))


def dj321_text():
    def model(x):
        return np.sum(x), "converged"

    dj.vmap(model)(np.ones((4, 3)))


def dj321_none():
    def model(x):
        if x > 0:
            return np.log(x)
        return None

    dj.vmap(model)(np.array([1.0, -1.0]))


def dj322_integer_result():
    def model(x):
        return np.argmax(x)

    dj.jacfwd(model)(np.ones(3))


def dj323_byte_order():
    def model(x):
        return np.sum(x * x)

    dj.grad(model)(np.array([1.0, 2.0], dtype=">f8"))


def dj323_objects():
    def model(x):
        return np.sum(x * x)

    dj.grad(model)(np.array([1.0, 2.0], dtype=object))


def dj323_half():
    def model(x):
        return np.sum(x * x)

    dj.grad(model, backend="numba")(np.array([1.0, 2.0], dtype=np.float16))


def dj404_any_order():
    def model(x):
        y = np.sin(x.T)
        flat = y.reshape(-1)
        flat[0] = 0.0
        return np.sum(y * x.T)

    dj.grad(model)(np.ones((6, 8))[::2, ::2])


def dj404_columns():
    def model(x):
        picked = x[:, np.array([0, 2, 1])]
        flat = picked.reshape(-1)
        flat[0] = 0.0
        return np.sum(picked * x)

    dj.grad(model)(np.ones((4, 3)))


def dj329_growing_list():
    def model(x):
        items = []
        while len(items) < x.size:
            items.append(x * len(items))
        return items

    dj.jet(model, (np.ones(3),), ((np.ones(3), np.ones(3)),))


def dj512_axis():
    def model(x):
        return np.sum(x)

    dj.vmap(model, in_axes=2)(np.ones((4, 3)))


def dj513_number():
    def model(x, rate):
        return rate * np.sum(x)

    dj.vmap(model)(np.ones((4, 3)), 0.1)


def dj513_keyword():
    def model(x, n):
        return n * np.sum(x)

    dj.vmap(model)(np.ones((4, 3)), n=2)


def dj513_nothing_mapped():
    def model(x):
        return np.sum(x)

    dj.vmap(model, in_axes=None)(np.ones((4, 3)))


def dj513_axis_size():
    def model(x):
        return np.sum(x)

    dj.vmap(model, in_axes=None, axis_size=-2)(np.ones((4, 3)))


def dj514_in_axes():
    def model(layer, x):
        return layer["w"] @ x + layer["b"]

    dj.vmap(model, in_axes=({"w": None}, 0))({"w": np.ones((2, 3)), "b": np.ones(2)}, np.ones((4, 3)))


def dj514_out_axes():
    def model(x):
        return np.sum(x), x

    dj.vmap(model, out_axes=(0, 1, 0))(np.ones((4, 3)))


def dj515_lane_counts():
    def model(x, y):
        return x @ y

    dj.vmap(model)(np.ones((4, 3)), np.ones((5, 3)))


def dj515_lanes_of_different_shapes():
    def model(x):
        return x[x > 0]

    dj.vmap(model)(np.array([[1.0, 2.0], [-1.0, 2.0]]))


def dj516_not_linear():
    def model(x):
        return x * x

    dj.linear_transpose(model, np.ones(3))


def dj520_inside_a_program():
    def model(x):
        return x**3

    dj.jit(dj.sparse_jacobian(model))(np.ones(3))


def dj521_columns():
    def model(x):
        return x[1:] - x[:-1]

    dj.sparse_jacobian(model, pattern=np.eye(4))(np.ones(5))


def dj521_rows():
    def model(x):
        return x[1:] - x[:-1]

    dj.sparse_jacobian(model, pattern=np.eye(5))(np.ones(5))


def dj521_matrices():
    def model(x, rate):
        return rate * x

    dj.sparse_jacobian(model, argnums=(0, 1), pattern=np.eye(5))(np.ones(5), 0.5)


def dj522_missed():
    def model(x):
        return x**2 + x[0]

    dj.sparse_jacobian(model, pattern=np.eye(5))(np.ones(5))


def dj204_read_outside():
    def solve(f, x):
        return f(x)

    solve = dj.custom_jvp(solve, nondiff_argnums=0)
    solve.defjvp(lambda f, primals, tangents: (f(primals[0]), tangents[0]))

    def model(x, k):
        return solve(lambda y: k * y, x)

    dj.grad(model, argnums=1)(1.0, 2.0)


def dj517_no_rule():
    @dj.custom_vjp
    def solve(x):
        return x * x

    def model(x):
        return solve(x) + x

    dj.grad(model)(1.0)


def dj517_another_form():
    @dj.custom_jvp
    def solve(x):
        return x, x * x

    @solve.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return solve(x), x_dot

    def model(x):
        return solve(x)[1]

    dj.grad(model)(1.0)


def dj518_no_forward_mode():
    @dj.custom_vjp
    def clip(x):
        return x

    clip.defvjp(lambda x: (x, None), lambda _, bar: (np.clip(bar, -1.0, 1.0),))

    def model(x):
        return clip(x * x)

    dj.jvp(model, (1.0,), (1.0,))


def dj519_another_shape():
    def model(x, a):
        return x[0] - a

    dj.root(model, np.ones(3), 2.0)


def dj541_no_such_test():
    dj.settings.nan_check = "inf"
    try:
        dj.grad(lambda x: x * x)(1.0)
    finally:
        dj.settings.nan_check = False


def dj542_no_floats():
    def model(n):
        return 2 * n

    dj.check_grads(model, (3,))


def dj551_pointers():
    import ctypes

    norm = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.POINTER(ctypes.c_double), ctypes.c_int)(lambda p, n: p[0])

    def model(x):
        return norm(x, x.size)

    dj.jit(model)(np.ones(3))


def dj551_no_result():
    from scipy.linalg import expm

    dj.foreign(expm)


def dj552_another_shape():
    norms = dj.foreign(lambda a: np.linalg.norm(a, axis=0), result=lambda a: a)

    def model(a):
        return np.sum(norms(a))

    dj.jit(model)(np.ones((2, 3)))


def dj601_cotangent():
    def model(x):
        distance = np.sum(x * x)
        return np.sqrt(distance)

    dj.settings.nan_check = True
    try:
        dj.grad(model)(np.zeros(12))
    finally:
        dj.settings.nan_check = False


def dj601_value():
    def model(x):
        y = np.log(x)
        return np.sum(y)

    dj.settings.nan_check = True
    try:
        dj.grad(model)(np.array([2.0, 1.0, 0.0, 3.0]))
    finally:
        dj.settings.nan_check = False


def dj602_wrong_rule():
    @dj.custom_jvp
    def cube(x):
        return x**3

    @cube.defjvp
    def rule(primals, tangents):
        (x,), (x_dot,) = primals, tangents
        return cube(x), 2 * x**2 * x_dot

    dj.check_grads(cube, (1.5,), modes="fwd")


def dj405_list_in_a_checkpointed_loop():
    def model(x, n):
        u, energies = x * 1.0, []
        for t in dj.checkpointed(range(n)):
            u = u - 0.1 * np.sin(u)
            energies.append(np.sum(u * u))
        return energies[-1]

    dj.grad(model)(np.ones(3), 10)


def dj405_two_names():
    def model(x, n):
        u, old = x.copy(), x.copy()
        for t in dj.checkpointed(range(n)):
            u[0] = 0.5 * old[1] * u[2]
            old = u
        return np.sum(old)

    dj.grad(model)(np.ones(3), 10)


def dj405_view_changed_after_the_call():
    @dj.checkpoint
    def inner(u):
        return u[1:]

    def model(x):
        u = x * 2.0
        tail = inner(u)
        u[1] = 0.0
        return np.sum(tail)

    dj.grad(model)(np.ones(3))


def dj406_shapes():
    def model(x, n):
        u = x * 1.0
        for t in dj.checkpointed(range(n)):
            u = np.append(u, np.sin(u[-1]))
        return np.sum(u)

    dj.grad(model)(np.ones(3), 10)


def dj523_budget():
    def model(x, n):
        s = 0.0
        for t in dj.checkpointed(range(n), budget="lots"):
            s = s + x * np.cos(s)
        return s

    dj.grad(model)(1.0, 10)


def dj519_another_slope():
    def model(y, t):
        return y[0] * t

    dj.odeint(model, np.ones(3), np.array([0.0, 1.0]))


def dj530_no_such_option():
    def decay(y, t):
        return -y

    def model(y0):
        return dj.odeint(decay, y0, np.array([0.0, 1.0]), solver="Radau")[-1]

    dj.grad(model)(1.0)


def dj530_solver_at_run_time():
    def model(a):
        return dj.root(lambda x, a: x * x - a, 1.0, a, tol=a * 1e-9)

    dj.grad(model)(2.0)


def dj325_complex_result():
    def model(x):
        return x * (1.0 + 2.0j)

    dj.grad(model)(2.0)


def dj530_solver_option():
    def model(a):
        return dj.fixed_point(lambda x, a: 0.5 * (x + a / x), 1.0, a, rtol=1e-9)

    dj.grad(model)(2.0)


def dj530_continuous_events():
    def decay(y, t):
        return -y

    def model(y0):
        half = dj.Event(lambda y, t: y - 0.5, terminal=True)
        return dj.odeint(decay, y0, np.array([0.0, 1.0]), adjoint="continuous", events=half).t_end

    dj.grad(model)(1.0)


def dj325_real_result():
    def model(z):
        return abs(z) ** 2

    dj.grad(model, holomorphic=True)(1.0 + 2.0j)


def dj325_real_argument():
    def model(z):
        return z * 1j

    dj.grad(model, holomorphic=True)(1.0)


def dj325_complex_argument():
    def model(z):
        return abs(z) ** 2

    dj.hessian(model)(1.0 + 2.0j)


def dj402_list_or_tuple():
    def model(x):
        cells = {}
        for v in x:
            cells.setdefault(int(v), []).append(v)
        found = cells.get(int(x[0]) + 1, ())
        found.append(x[0])
        return sum(found)

    dj.grad(model)(np.array([1.5, 2.5]))


def dj201_array_library():
    import jax.numpy as jnp

    def model(x):
        return jnp.sin(x) ** 2

    dj.grad(model)(1.0)


def dj302_receives_a_result():
    def angle(y, x):
        return np.arctan(y, x)

    dj.grad(angle)(1.0, 2.0)


def dj561_old_numba():
    from diffjit import installed

    installed.check("numba", "0.60.0")


def dj553_stream():
    def model(x, rng):
        return x * rng.normal(size=3)

    dj.sparse_jacobian(model)(np.ones(3), np.random.default_rng(1))


# ------------------------------------------------------------------------------------------------------------ devices


def dj562_no_gpu():
    dj.device_put(np.zeros(3))


def dj564_unknown_library():
    import os

    class Elsewhere:
        __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012

    os.environ["DIFFJIT_CUDA"] = "emulated"
    try:
        dj.jit(np.sum, backend="cuda")(Elsewhere())
    finally:
        del os.environ["DIFFJIT_CUDA"]


# ------------------------------------------------------------------------------------------------------------ kernels


def dj133_called_without_blocks():
    from numba import cuda

    @cuda.jit
    def double(x, out):
        i = cuda.grid(1)
        out[i] = 2 * x[i]

    def model(x):
        out = np.zeros(4)
        double(x, out)
        return out.sum()

    dj.grad(model)(np.ones(4))


def dj133_outside_of_a_kernel():
    from numba import cuda

    def model(x):
        return x[cuda.grid(1)] ** 2

    dj.grad(model)(np.ones(4))


def dj134_warps():
    from numba import cuda

    @cuda.jit
    def spread(x, out):
        i = cuda.grid(1)
        out[i] = cuda.shfl_sync(-1, x[i], 0)

    def model(x):
        out = np.zeros(4)
        spread[1, 4](x, out)
        return out.sum()

    dj.grad(model)(np.ones(4))


def dj135_barrier_in_a_branch():
    from numba import cuda

    @cuda.jit
    def double(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = 2 * x[i]
            cuda.syncthreads()

    def model(x):
        out = np.zeros(8)
        double[2, 4](x, out)
        return out.sum()

    dj.grad(model)(np.ones(7))


def dj136_array_over_a_barrier():
    from numba import cuda

    @cuda.jit
    def last(x, out):
        i = cuda.grid(1)
        row = x[i:]
        if i == 3:
            row = x
        cuda.syncthreads()
        out[i] = row[0]

    def model(x):
        out = np.zeros(4)
        last[1, 4](x, out)
        return out.sum()

    dj.grad(model)(np.ones(4))


def dj407_threads_that_meet():
    from numba import cuda

    @cuda.jit
    def total(x, out):
        i = cuda.grid(1)
        out[0] += x[i]

    def model(x):
        out = np.zeros(1)
        total[2, 4](x, out)
        return out[0]

    dj.settings.checked = True
    try:
        dj.grad(model)(np.ones(8))
    finally:
        dj.settings.checked = False


def dj101_async_function():
    async def model(x):
        return x * x

    dj.grad(model)(1.0)


def dj308_axis():
    def model(x, y):
        return np.sum(np.concatenate(x, y))

    dj.grad(model)(np.ones(3), np.ones(3))


def dj311_truth_by_and():
    def model(x):
        return np.sum(x[x > 0.2 and x < 0.5])

    dj.grad(model)(np.ones(3))


def dj311_truth_of_chain():
    def model(x):
        return np.sum(x[0.2 < x < 0.5])

    dj.grad(model)(np.ones(3))


def dj317_typing_error():
    def model(x):
        return np.summ(x)

    dj.grad(model)(np.ones(3))


def dj320_no_result():
    def model(x):
        y = x * x

    dj.grad(model)(2.0)


def dj320_pair():
    def model(x):
        return x, x * x

    dj.grad(model)(2.0)


def dj504_classmethod():
    class Model:
        @dj.grad
        @classmethod
        def loss(cls, x):
            return x * x


def dj517_number_for_array():
    @dj.custom_vjp
    def energy(x):
        return np.sum(x * x)

    energy.defvjp(lambda x: (energy(x), x), lambda x, out_bar: (np.sum(2 * x * out_bar),))

    def model(x):
        return energy(x)

    dj.grad(model)(np.ones(3))


def dj517_other_parameters():
    @dj.custom_jvp
    def power(x):
        return x * x

    @power.defjvp
    def rule(x, x_dot, y_dot):
        return x * x, 2 * x * x_dot

    def model(x):
        return power(x)

    dj.grad(model)(2.0)


def dj542_no_tuple():
    def model(x):
        return np.sum(x * x)

    dj.check_grads(model, np.ones(3))


def dj511_ring():
    class Node:
        def __init__(self, value):
            self.value, self.neighbours = value, []

    def model(x, node):
        return x * node.neighbours[0].value

    first, second = Node(1.0), Node(2.0)
    first.neighbours.append(second)
    second.neighbours.append(first)
    dj.grad(model)(3.0, first)
