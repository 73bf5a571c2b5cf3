"""A 2-D convolution layer written as four loops."""

import numpy as np

from benchmarks.row import Row


def convolution(image, kernel):
    """The energy of the filtered image."""
    height, width = image.shape
    a, b = kernel.shape
    out = np.zeros((height - a + 1, width - b + 1))
    for i in range(height - a + 1):
        for j in range(width - b + 1):
            for p in range(a):
                for q in range(b):
                    out[i, j] += kernel[p, q] * image[i + p, j + q]
    return np.sum(out * out)


def arguments(n, k):
    """An image and a kernel."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)), rng.normal(size=(k, k))


def by_hand(njit):
    """Along rows, innermost: those loops vectorise in both directions."""

    @njit
    def filtered(image, kernel):
        height, width = image.shape
        a, b = kernel.shape
        out = np.zeros((height - a + 1, width - b + 1))
        for i in range(out.shape[0]):
            for p in range(a):
                for q in range(b):
                    weight = kernel[p, q]
                    for j in range(out.shape[1]):
                        out[i, j] += weight * image[i + p, j + q]
        return out

    @njit
    def primal(image, kernel):
        out = filtered(image, kernel)
        return np.sum(out * out)

    @njit
    def gradient(image, kernel):
        out = filtered(image, kernel)
        value = np.sum(out * out)
        image_bar = np.zeros_like(image)
        kernel_bar = np.zeros_like(kernel)
        a, b = kernel.shape
        for i in range(out.shape[0]):
            for p in range(a):
                for q in range(b):
                    weight = 2.0 * kernel[p, q]
                    weight_bar = 0.0
                    for j in range(out.shape[1]):
                        image_bar[i + p, j + q] += weight * out[i, j]
                        weight_bar += out[i, j] * image[i + p, j + q]
                    kernel_bar[p, q] += 2.0 * weight_bar
        return value, (image_bar, kernel_bar)

    return primal, gradient


def in_jax():
    """XLA's own convolution."""
    import jax.numpy as jnp
    from jax import lax

    def program(image, kernel):
        out = lax.conv_general_dilated(image[None, None], kernel[None, None], (1, 1), "VALID")
        return jnp.sum(out * out)

    return program


def in_autograd():
    """autograd's own convolution, which flips the kernel."""
    from autograd import numpy as anp
    from autograd.scipy.signal import convolve

    def program(image, kernel):
        out = convolve(image, kernel[::-1, ::-1], mode="valid")
        return anp.sum(out * out)

    return program


ROW = Row(
    title="2-D convolution, by loops",
    program=convolution,
    arguments=arguments,
    quick={"n": 9, "k": 3},
    full={"n": 256, "k": 7},
    argnums=(0, 1),
    by_hand=by_hand,
    in_jax=in_jax,
    in_autograd=in_autograd,
)
