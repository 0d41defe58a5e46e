"""Loops over incidences and heads: attention and sums of values, eight heads at a time."""

from __future__ import annotations

import numpy as np

from hypergnn.kernels.cpu.jit import Array, compiled
from hypergnn.kernels.cpu.simd import AHEAD, FAR, alike, exponential, fetch_row, lanes, largest, leaky, put

CHUNK = 1024
"""Scores of a single head whose exponentials are computed together."""


@compiled
def attend(
    ours: Array,
    theirs: Array,
    slope: float,
    offsets: Array,
    members: Array,
    position: Array,
    out: Array,
    start: int,
    stop: int,
) -> None:
    """Softmax within each group of ``LeakyReLU(ours + theirs)``; scores of both ends, ``(trials, rows, heads)``."""
    heads, size, number = ours.shape[2], ours.itemsize, ours.dtype.type(0)
    wide, steep, one, lowest = heads - heads % 8, alike(slope), alike(ours.dtype.type(1)), ours.dtype.type(-np.inf)
    most = 0
    for group in range(start, stop):
        most = max(most, offsets[group + 1] - offsets[group])
    scratch = np.zeros(8 * max(most, CHUNK // 8), out.dtype)
    scores = scratch.ctypes.data
    for trial in range(ours.shape[0]):
        our = ours.ctypes.data + trial * ours.shape[1] * heads * size
        their = theirs.ctypes.data + trial * theirs.shape[1] * heads * size
        to = out.ctypes.data + trial * out.shape[1] * heads * size
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            for head in range(0, wide, 8):
                own, highest, total = lanes(our, group * heads + head, number), alike(lowest), alike(number)
                for place in range(begin, end):
                    score = own + lanes(their, np.intp(members[place]) * heads + head, number)
                    score = leaky(score, steep, score)
                    put(scores, (place - begin) * 8, score)
                    highest = largest(highest, score)
                for k in range(0, (end - begin) * 8, 8):
                    power = exponential(lanes(scores, k, number) - highest)
                    put(scores, k, power)
                    total = total + power
                share = one / total
                for place in range(begin, end):
                    incidence = np.intp(position[place]) if position.size else place
                    put(to, incidence * heads + head, lanes(scores, (place - begin) * 8, number) * share)
        for head in range(wide, heads):
            group = start
            while group < stop:
                first, begin = group, np.intp(offsets[group])
                while group < stop and np.intp(offsets[group + 1]) - begin <= scratch.size:
                    top, low = lowest, np.intp(offsets[group])
                    for place in range(low, np.intp(offsets[group + 1])):
                        sum_of_both = ours[trial, group, head] + theirs[trial, members[place], head]
                        scratch[place - begin] = sum_of_both if sum_of_both > 0 else slope * sum_of_both
                        top = max(top, scratch[place - begin])
                    group += 1
                    for place in range(low, np.intp(offsets[group])):
                        scratch[place - begin] -= top
                for k in range(0, np.intp(offsets[group]) - begin, 8):
                    put(scores, k, exponential(lanes(scores, k, number)))
                for one_of in range(first, group):
                    whole = number
                    for place in range(np.intp(offsets[one_of]), np.intp(offsets[one_of + 1])):
                        whole += scratch[place - begin]
                    for place in range(np.intp(offsets[one_of]), np.intp(offsets[one_of + 1])):
                        out[trial, position[place] if position.size else place, head] = scratch[place - begin] / whole


@compiled
def attend_gradient(
    grad: Array,
    softmax: Array,
    ours: Array,
    theirs: Array,
    slope: float,
    offsets: Array,
    members: Array,
    position: Array,
    change: Array,
    own: Array,
    start: int,
    stop: int,
) -> None:
    """Gradients of :func:`attend`: ``change`` for the score of each incidence, ``own`` for the scores of the groups."""
    heads, size, number = ours.shape[2], ours.itemsize, ours.dtype.type(0)
    wide, steep = heads - heads % 8, alike(slope)
    for trial in range(ours.shape[0]):
        our = ours.ctypes.data + trial * ours.shape[1] * heads * size
        their = theirs.ctypes.data + trial * theirs.shape[1] * heads * size
        shift = trial * softmax.shape[1] * heads * size
        come, share, to = grad.ctypes.data + shift, softmax.ctypes.data + shift, change.ctypes.data + shift
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            for head in range(0, wide, 8):
                mean, total, score = alike(number), alike(number), lanes(our, group * heads + head, number)
                for place in range(begin, end):
                    entry = (np.intp(position[place]) if position.size else place) * heads + head
                    mean = mean + lanes(share, entry, number) * lanes(come, entry, number)
                for place in range(begin, end):
                    entry = (np.intp(position[place]) if position.size else place) * heads + head
                    slant = lanes(share, entry, number) * (lanes(come, entry, number) - mean)
                    slant = leaky(slant, steep, score + lanes(their, np.intp(members[place]) * heads + head, number))
                    put(to, entry, slant)
                    total = total + slant
                put(own[trial].ctypes.data, group * heads + head, total)
            for head in range(wide, heads):
                average, whole = number, number
                for place in range(begin, end):
                    incidence = position[place] if position.size else place
                    average += softmax[trial, incidence, head] * grad[trial, incidence, head]
                for place in range(begin, end):
                    incidence = position[place] if position.size else place
                    value = softmax[trial, incidence, head] * (grad[trial, incidence, head] - average)
                    if ours[trial, group, head] + theirs[trial, members[place], head] <= 0:
                        value *= slope
                    change[trial, incidence, head] = value
                    whole += value
                own[trial, group, head] = whole


@compiled
def spread(
    grad: Array, weight: Array, offsets: Array, members: Array, position: Array, out: Array, start: int, stop: int
) -> None:
    """``out_p = weight_m grad_g``: pass the gradient of a group to its incidences, for each trial and head."""
    heads, size, number, one = out.shape[2], out.itemsize, out.dtype.type(0), out.dtype.type(1)
    wide = heads - heads % 8
    for trial in range(out.shape[0]):
        given = grad.ctypes.data + trial * grad.shape[1] * heads * size
        to = out.ctypes.data + trial * out.shape[1] * heads * size
        for group in range(start, stop):
            for place in range(np.intp(offsets[group]), np.intp(offsets[group + 1])):
                incidence = np.intp(position[place]) if position.size else place
                factor = weight[members[place]] if weight.size else one
                for head in range(0, wide, 8):
                    put(to, incidence * heads + head, alike(factor) * lanes(given, group * heads + head, number))
                for head in range(wide, heads):
                    out[trial, incidence, head] = factor * grad[trial, group, head]


@compiled
def scale_rows(x: Array, factor: Array, out: Array, start: int, stop: int) -> None:
    """Multiply the rows of ``x`` ``(trials, rows, width)`` by a factor per head, ``(trials or 1, rows, heads)``."""
    heads, width, number = factor.shape[2], x.shape[2], x.dtype.type(0)
    features = width // heads
    for trial in range(x.shape[0]):
        shift = trial * x.shape[1] * width * x.itemsize
        rows, to = x.ctypes.data + shift, out.ctypes.data + shift
        factors = factor[trial if factor.shape[0] > 1 else 0]
        for n in range(start, stop):
            for head in range(heads):
                first = n * width + head * features
                k, many = 0, alike(factors[n, head])
                while k + 8 <= features:
                    put(to, first + k, lanes(rows, first + k, number) * many)
                    k += 8
                while k < features:
                    out[trial, n, head * features + k] = x[trial, n, head * features + k] * factors[n, head]
                    k += 1


@compiled
def sum_values(
    values: Array, weight: Array, offsets: Array, members: Array, position: Array, out: Array, start: int, stop: int
) -> None:
    """``Σ_p weight_m values_p`` of each group, for each trial and head; a ``weight`` of size 0 stands for ones."""
    heads, size, number = values.shape[2], values.itemsize, values.dtype.type(0)
    wide = heads - heads % 8
    reach = position.size if values.shape[1] * heads * size > FAR else 0
    for trial in range(values.shape[0]):
        given = values.ctypes.data + trial * values.shape[1] * heads * size
        scaling = weight.ctypes.data + trial * weight.shape[1] * heads * size
        for group in range(start, stop):
            begin, end = np.intp(offsets[group]), np.intp(offsets[group + 1])
            for head in range(0, wide, 8):
                total = alike(number)
                for place in range(begin, end):
                    if place + 2 * AHEAD < reach:
                        fetch_row(given, np.intp(position[place + 2 * AHEAD]) * heads + head, 8, number)
                    incidence = np.intp(position[place]) if position.size else place
                    value = lanes(given, incidence * heads + head, number)
                    if weight.size:
                        value = value * lanes(scaling, np.intp(members[place]) * heads + head, number)
                    total = total + value
                put(out[trial].ctypes.data, group * heads + head, total)
            for head in range(wide, heads):
                whole = number
                for place in range(begin, end):
                    entry = values[trial, position[place] if position.size else place, head]
                    whole += weight[trial, members[place], head] * entry if weight.size else entry
                out[trial, group, head] = whole
