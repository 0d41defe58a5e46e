"""The public surface: no argument of a public layer, network or function exists for speed alone."""

import inspect
from collections.abc import Iterator

import hypergnn
from hypergnn import functional, layers, models

# Names of what is computed before or after the equation, of what is known beforehand, and of where something lies.
FOR_SPEED = {
    "finish",
    "propagated",
    "fields",
    "field",
    "known",
    "plan",
    "places",
    "positions",
    "cache",
    "cached",
    "backend",
    "fused",
    "scalings",
}
# Which softmax made a given incidence: wrong results where the hint is wrong.
HINTS = {("hypergraph_attention", "softmax_over"), ("mean_attention", "softmax_over")}


def public() -> dict[str, object]:
    """Public functions, and the methods of public classes, by name."""
    found: dict[str, object] = {}
    for module in (hypergnn, functional, layers, models):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing):
                found |= {f"{name}.{method}": one for method, one in methods(thing)}
            elif callable(thing):
                found[name] = thing
    return found


def methods(cls: type) -> Iterator[tuple[str, object]]:
    for ancestor in cls.__mro__:
        if ancestor.__module__.startswith("hypergnn"):
            for name, one in vars(ancestor).items():
                one = getattr(one, "__func__", one)
                if inspect.isfunction(one) and (name in ("__init__", "__call__") or not name.startswith("_")):
                    yield name, one


# The note for whoever rewrites the layers: take the mark away once it passes.
def test_no_argument_is_for_speed_alone():
    found = {(name.rpartition(".")[2], parameter) for name, one in public().items() for parameter in parameters(one)}
    assert found & HINTS == set()
    assert {(name, parameter) for name, parameter in found if parameter in FOR_SPEED} == set()


def test_no_public_function_takes_any_keyword():
    for name, one in public().items():
        kinds = {parameter.kind for parameter in inspect.signature(one).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name


def parameters(one: object) -> list[str]:
    return list(inspect.signature(one).parameters)
