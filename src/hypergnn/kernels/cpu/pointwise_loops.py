"""Loops over entries or rows: dropout, ELU, softmax, narrow products, Adam, cross entropy."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numba import types

from hypergnn.kernels.cpu.dot_loops import dots
from hypergnn.kernels.cpu.jit import Array, Kernel, compiled, inlined, random_bits

BLOCK = 512
"""Number of rows whose outer products are summed into one part."""
STRETCH = 1 << 12
"""Number of entries per inner loop; it spans several rows, since loops over short rows do not vectorise."""


@inlined
def _reduced(x: Any) -> Any:
    """``s`` and ``m`` with ``exp(x) = s (1 + m)``, for a float32 from -87 to 0; a polynomial, which vectorises."""
    power = np.rint(x * np.float32(1.44269504))
    rest = (x - power * np.float32(0.693359375)) + power * np.float32(2.12194440e-4)
    series = np.float32(1.9875691500e-4)
    series = series * rest + np.float32(1.3981999507e-3)
    series = series * rest + np.float32(8.3334519073e-3)
    series = series * rest + np.float32(4.1665795894e-2)
    series = series * rest + np.float32(1.6666665459e-1)
    series = series * rest + np.float32(5.0000001201e-1)
    scale = np.int32((np.int32(power) + np.int32(127)) << np.int32(23)).view(np.float32)
    return scale, series * rest * rest + rest


def _exp(x: Any) -> Any:
    """``exp(x)`` for ``x <= 0``."""
    raise NotImplementedError


def _expm1(x: Any) -> Any:
    """``exp(x) - 1`` for ``x <= 0``."""
    raise NotImplementedError


@numba.extending.overload(_exp, inline="always")
def _(x: Any) -> Any:
    def single(x: Any) -> Any:
        scale, rest = _reduced(max(x, np.float32(-87)))
        if x >= np.float32(-87):
            return scale * rest + scale
        return np.float32(0) if x < np.float32(-87) else x  # NaN

    def double(x: Any) -> Any:
        return np.exp(x)

    return single if x == types.float32 else double


@numba.extending.overload(_expm1, inline="always")
def _(x: Any) -> Any:
    def single(x: Any) -> Any:
        scale, rest = _reduced(max(x, np.float32(-87)))
        return scale * rest + (scale - np.float32(1))

    def double(x: Any) -> Any:
        return np.expm1(x)

    return single if x == types.float32 else double


@inlined
def _number(places: Array, low: int, high: int, width: int, numbers: Array) -> None:
    """Write the positions of the entries of some rows; ``places`` are the positions of the rows, if not 0, 1, 2, …."""
    for n in range(low, high):
        place = (np.intp(places[n]) if places.size else n) * width
        for k in range(width):
            numbers[(n - low) * width + k] = place + k


@compiled
def dropout(
    x: Array, keys: Array, threshold: int, scale: float, places: Array, out: Array, start: int, stop: int
) -> None:
    """Dropout of ``x`` ``(trials, rows, F)``; ``places`` are the positions of the rows, if not 0, 1, 2, …."""
    zero, width = x.dtype.type(0), x.shape[2]
    step = max(1, STRETCH // max(width, 1))
    numbers = np.empty(step * width, np.uint32)
    for low in range(start, stop, step):
        high = min(low + step, stop)
        _number(places, low, high, width, numbers)
        for trial in range(x.shape[0]):
            first, second = keys[trial, 0], keys[trial, 1]
            given, made = x[trial, low:high].reshape(-1), out[trial, low:high].reshape(-1)
            for k in range(given.size):
                value = given[k] * scale
                made[k] = value if random_bits(numbers[k], first, second) >= threshold else zero


@inlined
def _elu(value: Any, zero: Any) -> Any:
    return max(value, zero) + _expm1(min(value, zero))


@inlined
def _relu(value: Any, zero: Any) -> Any:
    return zero if value < zero else value  # NaN remains


def _applier(activation: Kernel) -> Kernel:
    """A function for ``made = activation(given + plus)`` with flat arrays; ``made`` may be ``given``."""

    @inlined
    def apply(given: Array, plus: Array, made: Array) -> None:
        zero = made.dtype.type(0)
        for k in range(made.size):
            made[k] = activation(given[k] + plus[k], zero)

    return apply


def _activator(activation: Kernel) -> Kernel:
    """A function for the activation of ``x`` plus a bias, dropped if there are keys."""
    apply = _applier(activation)

    @inlined
    def activate(
        x: Array, bias: Array, drawing: tuple[Array, int, float, Array], out: Array, start: int, stop: int
    ) -> None:
        keys, threshold, scale, places = drawing
        zero, width = x.dtype.type(0), x.shape[2]
        step = max(1, STRETCH // max(width, 1))
        added = np.zeros((step, width), x.dtype)
        numbers = np.empty(step * width if keys.size else 0, np.uint32)
        for trial in range(x.shape[0]):
            if bias.size:
                added[:] = bias[trial]
            plus = added.reshape(-1)
            for low in range(start, stop, step):
                high = min(low + step, stop)
                made = out[trial, low:high].reshape(-1)
                given = x[trial, low:high].reshape(-1)
                if keys.size:
                    _number(places, low, high, width, numbers)
                    first, second = keys[trial, 0], keys[trial, 1]
                    for k in range(made.size):
                        value = scale * activation(given[k] + plus[k], zero)
                        made[k] = value if random_bits(numbers[k], first, second) >= threshold else zero
                else:
                    apply(given, plus, made)

    return activate


elu_of, _activate_elu, _activate_relu = _applier(_elu), _activator(_elu), _activator(_relu)


@compiled
def elu_dropout(
    x: Array,
    bias: Array,
    keys: Array,
    threshold: int,
    scale: float,
    places: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """ELU of ``x`` ``(trials, N, F)`` plus ``bias`` ``(trials, F)``, dropped if there are keys."""
    _activate_elu(x, bias, (keys, threshold, scale, places), out, start, stop)


@compiled
def relu_dropout(
    x: Array,
    bias: Array,
    keys: Array,
    threshold: int,
    scale: float,
    places: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """The same with ReLU."""
    _activate_relu(x, bias, (keys, threshold, scale, places), out, start, stop)


@compiled
def elu_dropout_gradient(
    grad: Array,
    y: Array,
    keys: Array,
    threshold: int,
    scale: float,
    places: Array,
    out: Array,
    parts: Array,
    start: int,
    stop: int,
) -> None:
    """Gradient of :func:`elu_dropout` from its result ``y``, and its sum over each block of rows for the bias."""
    zero, width = y.dtype.type(0), y.shape[2]
    for trial in range(y.shape[0]):
        for block in range(start, stop):
            if parts.size:
                parts[trial, block] = 0
            for n in range(block * BLOCK, min((block + 1) * BLOCK, y.shape[1])):
                given, come, made = y[trial, n], grad[trial, n], out[trial, n]
                if keys.size:
                    first, second = keys[trial, 0], keys[trial, 1]
                    place = (np.intp(places[n]) if places.size else n) * width
                    for k in range(width):
                        change = come[k] * (scale + min(given[k], zero))
                        made[k] = change if random_bits(place + k, first, second) >= threshold else zero
                else:
                    for k in range(width):
                        made[k] = come[k] * (scale + min(given[k], zero))
                if parts.size:
                    total = parts[trial, block]
                    for k in range(width):
                        total[k] += made[k]


@compiled
def relu_dropout_gradient(grad: Array, y: Array, scale: float, out: Array, parts: Array, start: int, stop: int) -> None:
    """Gradient of :func:`relu_dropout` from its result ``y``, and its sum over each block of rows for the bias.

    What was dropped or negative is 0, so nothing is drawn again.
    """
    zero, width = y.dtype.type(0), y.shape[2]
    for trial in range(y.shape[0]):
        for block in range(start, stop):
            low, high = block * BLOCK, min((block + 1) * BLOCK, y.shape[1])
            given, come = y[trial, low:high].reshape(-1), grad[trial, low:high].reshape(-1)
            made = out[trial, low:high].reshape(-1)
            for k in range(made.size):
                made[k] = zero if given[k] <= zero else come[k] * scale  # NaN passes
            if parts.size:
                total = parts[trial, block]
                total[:] = 0
                for n in range(low, high):
                    row = out[trial, n]
                    for k in range(width):
                        total[k] += row[k]


@compiled
def inverse(degree: Array, root: bool, least: float, out: Array, start: int, stop: int) -> None:
    """``1 / degree`` or its square root, for flat arrays; 0 for degrees of at most ``least``."""
    zero, one = degree.dtype.type(0), degree.dtype.type(1)
    given, made = degree[start:stop], out[start:stop]
    for k in range(given.size):
        value = max(given[k], least)
        made[k] = (one / np.sqrt(value) if root else one / value) if given[k] > least else zero


@compiled
def inverse_gradient(grad: Array, inverse: Array, root: bool, out: Array, start: int, stop: int) -> None:
    """Gradient of :func:`inverse` from its result."""
    half, one = inverse.dtype.type(-0.5), inverse.dtype.type(-1)
    given, come, made = inverse[start:stop], grad[start:stop], out[start:stop]
    for k in range(given.size):
        square = given[k] * given[k]
        made[k] = come[k] * (half * square * given[k] if root else one * square)


@compiled
def softmax(logits: Array, offsets: Array, position: Array, out: Array, start: int, stop: int) -> None:
    """Softmax of ``logits`` ``(trials, incidences, heads)`` within each group."""
    heads = logits.shape[2]
    low = offsets[start]
    powers = np.empty((offsets[stop] - low) * heads, logits.dtype)
    highest = np.empty(heads, logits.dtype)
    for trial in range(logits.shape[0]):
        for group in range(start, stop):
            highest[:] = -np.inf
            for place in range(offsets[group], offsets[group + 1]):
                incidence = position[place] if position.size else place
                for head in range(heads):
                    highest[head] = max(highest[head], logits[trial, incidence, head])
            for place in range(offsets[group], offsets[group + 1]):
                incidence = position[place] if position.size else place
                for head in range(heads):
                    powers[(place - low) * heads + head] = logits[trial, incidence, head] - highest[head]
        for k in range(powers.size):  # all together, which vectorises
            powers[k] = _exp(powers[k])
        for group in range(start, stop):
            for head in range(heads):
                total = logits.dtype.type(0)
                for place in range(offsets[group], offsets[group + 1]):
                    total += powers[(place - low) * heads + head]
                for place in range(offsets[group], offsets[group + 1]):
                    incidence = position[place] if position.size else place
                    out[trial, incidence, head] = powers[(place - low) * heads + head] / total


@compiled
def totals(values: Array, offsets: Array, position: Array, out: Array, start: int, stop: int) -> None:
    """For each incidence the sum of ``values`` over its group."""
    for trial in range(values.shape[0]):
        for group in range(start, stop):
            for head in range(values.shape[2]):
                total = values.dtype.type(0)
                for place in range(offsets[group], offsets[group + 1]):
                    total += values[trial, position[place] if position.size else place, head]
                for place in range(offsets[group], offsets[group + 1]):
                    out[trial, position[place] if position.size else place, head] = total


@compiled
def head_scores(x: Array, vectors: Array, features: int, out: Array, start: int, stop: int) -> None:
    """``out[k, trial, n, h] = x[n, h]·vectors[k, h]``, from ``(trials, n, width)`` and ``(trials, k, width)``."""
    width = x.shape[2]
    heads, number = width // features, x.dtype.type(0)
    found = np.empty(heads, x.dtype)
    for trial in range(x.shape[0]):
        rows = x.ctypes.data + trial * x.shape[1] * width * x.itemsize
        weights = vectors.ctypes.data + trial * vectors.shape[1] * width * x.itemsize
        for n in range(start, stop):
            for k in range(vectors.shape[1]):
                dots(rows, n * width, weights, k * width, heads, features, found, number)
                for head in range(heads):
                    out[k, trial, n, head] = found[head]


@compiled
def head_scores_gradient(
    grad: Array, x: Array, vectors: Array, features: int, grad_x: Array, partial: Array, start: int, stop: int
) -> None:
    """Gradients of :func:`head_scores` for ``x``, and for the vectors from each block of rows."""
    width = x.shape[2]
    expanded = np.empty(width, x.dtype)
    for trial in range(x.shape[0]):
        for block in range(start, stop):
            partial[trial, block] = 0
            for n in range(block * BLOCK, min((block + 1) * BLOCK, x.shape[1])):
                for k in range(vectors.shape[1]):
                    for head in range(width // features):
                        for f in range(features):
                            expanded[head * features + f] = grad[k, trial, n, head]
                    if k == 0:
                        for c in range(width):
                            grad_x[trial, n, c] = expanded[c] * vectors[trial, k, c]
                    else:
                        for c in range(width):
                            grad_x[trial, n, c] += expanded[c] * vectors[trial, k, c]
                    for c in range(width):
                        partial[trial, block, k, c] += expanded[c] * x[trial, n, c]


@compiled
def narrow_gradient(x: Array, grad: Array, partial: Array, start: int, stop: int) -> None:
    """Gradient of a narrow product for its projection from each block of rows, ``(trials, blocks, F', F)``."""
    for trial in range(grad.shape[0]):
        source = trial if x.shape[0] > 1 else 0
        for block in range(start, stop):
            partial[trial, block] = 0
            for n in range(block * BLOCK, min((block + 1) * BLOCK, x.shape[1])):
                for c in range(grad.shape[2]):
                    factor = grad[trial, n, c]
                    for k in range(x.shape[2]):
                        partial[trial, block, c, k] += factor * x[source, n, k]


@compiled
def adam_step(
    parameter: Array,
    grad: Array,
    mean: Array,
    square: Array,
    rate: float,
    decay: float,
    correction: float,
    start: int,
    stop: int,
) -> None:
    """One step of Adam on ``(trials, entries)``, with the bias-corrected ``rate`` and ``correction`` of this step."""
    kind = parameter.dtype.type
    tenth, thousandth, least = kind(0.1), kind(0.001), kind(1e-8)
    for trial in range(parameter.shape[0]):
        places, come = parameter[trial, start:stop], grad[trial, start:stop]
        means, squares = mean[trial, start:stop], square[trial, start:stop]
        for k in range(places.size):
            slope = come[k] + decay * places[k]
            means[k] += tenth * (slope - means[k])
            squares[k] += thousandth * (slope * slope - squares[k])
            places[k] -= rate * means[k] / (np.sqrt(squares[k] * correction) + least)


@inlined
def _powers(line: Array, powers: Array) -> tuple[float, float]:
    """Set ``powers`` to ``exp(line - max)``; return their sum and the maximum of the line."""
    highest, total = line[0], 0.0
    for k in range(1, line.size):
        highest = max(highest, line[k])
    for k in range(line.size):
        powers[k] = np.exp(line[k] - highest)
        total += powers[k]
    return total, highest


@compiled
def cross_entropy(scores: Array, classes: Array, rows: Array, out: Array) -> None:
    """Mean cross entropy over some rows of ``scores`` ``(trials, N, classes)``, for each trial."""
    powers = np.empty(scores.shape[2], scores.dtype)
    for trial in range(scores.shape[0]):
        loss = 0.0
        for row in rows:
            if not (0 <= row < scores.shape[1] and 0 <= classes[row] < scores.shape[2]):
                raise IndexError("rows must be rows of the scores, and their classes columns of the scores.")
            line = scores[trial, row]
            total, highest = _powers(line, powers)
            loss += np.log(total) + highest - line[classes[row]]
        out[trial] = loss / rows.size


@compiled
def cross_entropy_gradient(scores: Array, classes: Array, rows: Array, grad: Array, out: Array) -> None:
    """Gradient of :func:`cross_entropy`, which has checked the rows and classes, added to ``out``."""
    powers = np.empty(scores.shape[2], scores.dtype)
    for trial in range(scores.shape[0]):
        for row in rows:
            slope, share = out[trial, row], grad[trial] / rows.size
            total, _ = _powers(scores[trial, row], powers)
            for k in range(slope.size):
                slope[k] += share / total * powers[k]
            slope[classes[row]] -= share
