"""Vectors of eight numbers, for the innermost loops over eight heads.

The compiler does not vectorise such short loops. ``lanes(address, index, number)`` loads eight numbers of the type of
``number``, and :func:`put` stores them; in between, they are added, multiplied and compared like a single number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numba.extending
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import models, overload, register_model

from hypergnn.kernels.cpu.jit import inlined

intrinsic: Callable[[Callable[..., Any]], Any] = numba.extending.intrinsic

WIDTH = 8
WORD = ir.IntType(64)
HALF = ir.IntType(32)
FUSE = ("contract",)
"""Fast-math flag: a multiplication and an addition may be fused into one instruction."""
LINE = 16
"""Numbers per cache line: 16 in single precision; in double precision, two lines."""
FAR = 1 << 20
"""Rows of more bytes than this are prefetched, since they exceed the nearest caches of a core."""
AHEAD = 64
"""How many members ahead to prefetch."""


class Lanes(types.Type):
    """The numba type of a vector of eight numbers."""

    def __init__(self, number: Any) -> None:
        """Store the type of a single number."""
        self.number = number
        super().__init__(name=f"Lanes({number})")


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        vector = ir.VectorType(manager.lookup(kind.number).get_value_type(), WIDTH)
        super().__init__(manager, kind, vector)  # type: ignore[no-untyped-call]


def at(builder: Any, address: Any, index: Any, kind: Any) -> Any:
    """A pointer to the number at ``index`` in the array at ``address``."""
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [index])


def load(builder: Any, address: Any, index: Any, number: Any, width: int = WIDTH) -> Any:
    """Load consecutive numbers."""
    pointer = builder.bitcast(at(builder, address, index, number), ir.VectorType(number, width).as_pointer())
    return builder.load(pointer, align=_size(number))


def load_some(builder: Any, address: Any, index: Any, number: Any, size: Any) -> Any:
    """Load the first ``size`` of eight numbers, with 0 for the others, which are not read."""
    vector, counts = ir.VectorType(number, WIDTH), ir.Constant(ir.VectorType(HALF, WIDTH), list(range(WIDTH)))
    chosen = builder.icmp_signed("<", counts, repeat(builder, builder.trunc(size, HALF)))
    pointer = builder.bitcast(at(builder, address, index, number), vector.as_pointer())
    name = f"v{WIDTH}f{8 * _size(number)}"
    kind = ir.FunctionType(vector, [pointer.type, HALF, chosen.type, vector])
    masked = cgutils.get_or_insert_function(builder.module, kind, f"llvm.masked.load.{name}.p0{name}")
    return builder.call(masked, [pointer, ir.Constant(HALF, _size(number)), chosen, constant(number, 0.0)])


def store(builder: Any, value: Any, address: Any, index: Any) -> None:
    """Store consecutive numbers."""
    number = value.type.element
    builder.store(
        value, builder.bitcast(at(builder, address, index, number), value.type.as_pointer()), align=_size(number)
    )


def prefetch(builder: Any, address: Any, index: Any, number: Any) -> None:
    """Fetch the number at ``index`` into the cache, since it is read soon."""
    pointer = builder.bitcast(at(builder, address, index, number), ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type, HALF, HALF, HALF])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(fetch, [pointer, *[ir.Constant(HALF, value) for value in (0, 3, 1)]])  # read, high locality, data


def repeat(builder: Any, value: Any, width: int = WIDTH) -> Any:
    """A vector with one number in all lanes."""
    empty = ir.Constant(ir.VectorType(value.type, width), ir.Undefined)
    first = builder.insert_element(empty, value, ir.Constant(HALF, 0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(HALF, width), [0] * width))


def plus(builder: Any, index: Any, by: int) -> Any:
    """``index + by``."""
    return builder.add(index, ir.Constant(WORD, by))


def constant(number: Any, value: float, width: int = WIDTH) -> Any:
    """A vector with one constant in all lanes."""
    return ir.Constant(ir.VectorType(number, width), [value] * width)


def _size(number: Any) -> int:
    return 4 if number == ir.FloatType() else 8


@intrinsic
def lanes(typing: Any, address: Any, index: Any, number: Any) -> Any:
    """Load eight numbers of an array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return load(builder, values[0], values[1], context.get_value_type(number))

    return Lanes(number)(types.intp, types.intp, number), emit


@intrinsic
def _fetch(typing: Any, address: Any, index: Any, number: Any) -> Any:
    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        prefetch(builder, values[0], values[1], context.get_value_type(number))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, number), emit


@inlined
def fetch_row(address: int, index: int, width: int, number: float) -> None:
    """:func:`prefetch` a whole row."""
    for k in range(0, width, LINE):
        _fetch(address, index + k, number)


@intrinsic
def alike(typing: Any, number: Any) -> Any:
    """The same number eight times."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return repeat(builder, values[0])

    return Lanes(number)(number), emit


@intrinsic
def put(typing: Any, address: Any, index: Any, value: Any) -> Any:
    """Store eight numbers to an array."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        store(builder, values[2], values[0], values[1])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, value), emit


@intrinsic
def largest(typing: Any, one: Any, other: Any) -> Any:
    """The larger of both, lane by lane."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.select(builder.fcmp_ordered(">", *values), *values)

    return one(one, other), emit


@intrinsic
def leaky(typing: Any, value: Any, slope: Any, by: Any) -> Any:
    """``value`` where ``by`` is positive, ``slope * value`` elsewhere."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        value, slope, by = values
        is_positive = builder.fcmp_ordered(">", by, constant(by.type.element, 0.0))
        return builder.select(is_positive, value, builder.fmul(value, slope))

    return value(value, slope, by), emit


def _operation(name: str) -> Any:
    @intrinsic
    def compute(typing: Any, one: Any, other: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return getattr(builder, name)(*values, flags=FUSE)

        return one(one, other), emit

    return compute


def _define(symbol: Any, name: str) -> None:
    compute = _operation(name)

    @overload(symbol)
    def _(one: Any, other: Any) -> Any:
        def run(one: Any, other: Any) -> Any:
            return compute(one, other)

        return run if isinstance(one, Lanes) and isinstance(other, Lanes) else None


for _symbol, _name in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _define(_symbol, _name)


@intrinsic
def exponential(typing: Any, value: Any) -> Any:
    """``exp(x)`` for ``x <= 0``; a polynomial in single precision."""

    def emit(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        (x,) = values
        number = x.type.element
        if number == ir.DoubleType():
            exp = cgutils.get_or_insert_function(builder.module, ir.FunctionType(number, [number]), "exp")
            for k in range(WIDTH):
                place = ir.Constant(HALF, k)
                x = builder.insert_element(x, builder.call(exp, [builder.extract_element(x, place)]), place)
            return x
        is_large, given = builder.fcmp_unordered(">=", x, constant(number, -87.0)), x
        x = builder.select(is_large, x, constant(number, -87.0))
        rint = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(x.type, [x.type]), f"llvm.rint.v{WIDTH}f32"
        )
        power = builder.call(rint, [builder.fmul(x, constant(number, 1.4426950216293335))])
        rest = builder.fsub(x, builder.fmul(power, constant(number, 0.693359375)), flags=FUSE)
        rest = builder.fadd(rest, builder.fmul(power, constant(number, 2.1219444170128554e-4), flags=FUSE), flags=FUSE)
        series = constant(number, 1.9875691214110702e-4)
        for factor in (1.3981999363750219e-3, 8.333452045917511e-3, 4.166579619050026e-2, 0.1666666567325592, 0.5):
            series = builder.fadd(builder.fmul(series, rest, flags=FUSE), constant(number, factor), flags=FUSE)
        square = builder.fmul(rest, rest)
        mantissa = builder.fadd(
            builder.fmul(series, square, flags=FUSE), builder.fadd(rest, constant(number, 1.0)), flags=FUSE
        )
        whole = ir.VectorType(HALF, WIDTH)
        exponent = builder.add(builder.fptosi(power, whole), ir.Constant(whole, [127] * WIDTH))
        scale = builder.bitcast(builder.shl(exponent, ir.Constant(whole, [23] * WIDTH)), x.type)
        power = builder.select(is_large, builder.fmul(mantissa, scale), constant(number, 0.0))
        return builder.select(builder.fcmp_unordered("uno", given, given), given, power)

    return value(value), emit
