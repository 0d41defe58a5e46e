"""The public surface: no argument of a public class or function exists for speed alone."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

import pytest

import hypergnn
from hypergnn import functional

# Words of what is computed before or after the equation, of what is known beforehand, of where something lies and of
# the machine. An argument with one of them in its name is for speed, or has its place in one of the lists below.
FOR_SPEED = {
    *("finish", "propagated", "precomputed", "scalings"),
    *("field", "fields", "known", "plan", "places", "position", "positions", "hint", "trusted", "assume"),
    *("cache", "cached", "memoize", "reuse", "backend", "fused", "compiled", "fast", "chunk", "chunks"),
    *("batch", "blocks", "device", "jobs", "memory", "prefetch", "processes", "threads", "workers"),
}
# Arguments about the machine, which no equation can know of. What they leave unchanged is tested in their rooms.
ABOUT_THE_MACHINE = {
    "batch": "how many trials train together, as memory allows; or a batch itself",
    "batch_size": "how many vertices fit into memory at a time; in training part of the method",
    "device": "where tensors lie",
    "jobs": "how many processes train",
    "n_jobs": "how many threads an estimator may take, by its name in scikit-learn",
    "n_processes": "how many processes hold parts of a hypergraph",
    "prefetch": "how many batches are drawn ahead of the training step",
}
# Fields of results: what a function of the package has made, and not what a caller asks for.
MADE = {
    ("Batch.__init__", "blocks"): "the batch",
    ("Hypergraph.__init__", "n_blocks"): "how Spark has divided the pairs",
    ("Reached.__init__", "blocks"): "the receptive field",
    ("Shard.__init__", "places"): "where the hyperedges of a shard stand among those that are added up",
}
# Whose argument `softmax_over` says which softmax to compute. Elsewhere it would be a hint that may be wrong.
SOFTMAXES = {"attention_incidence", "attended_conv", "HypergraphAttention.__init__"}


def public() -> dict[str, object]:
    """Public functions, and the methods of public classes, by module and name."""
    names = [name for name in hypergnn.__all__ if inspect.ismodule(getattr(hypergnn, name))]
    modules = [hypergnn, *(import_module(f"hypergnn.{name}") for name in names)]
    return {
        f"{module.__name__}:{name}": one
        for module in modules
        for exported in module.__all__
        for name, one in callables(exported, getattr(module, exported))
    }


def equations() -> dict[str, object]:
    """All functions of the room of the equations without an underscore, whether it exports them or not."""
    modules = [import_module(f"hypergnn.functional.{found.name}") for found in iter_modules(functional.__path__)]
    return {
        f"{module.__name__}:{name}": one
        for module in modules
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
    }


def callables(name: str, thing: object) -> Iterator[tuple[str, object]]:
    if isinstance(thing, ModuleType) or not callable(thing):
        return
    if not inspect.isclass(thing):
        yield name, thing
        return
    ours = [one for one in thing.__mro__ if one.__module__.startswith("hypergnn") and not is_protocol(one)]
    found: dict[str, object] = {}
    for ancestor in reversed(ours):  # the last one overrides
        found |= {method: getattr(one, "__func__", one) for method, one in vars(ancestor).items()}
    for method, one in found.items():
        if inspect.isfunction(one) and (method in ("__init__", "__call__") or not method.startswith("_")):
            yield f"{name}.{method}", one


def is_protocol(cls: type) -> bool:
    return bool(getattr(cls, "_is_protocol", False))


SURFACE = public() | equations()


def arguments() -> Iterator[tuple[str, str]]:
    """The function, without its module, and the name of each argument."""
    for name, one in SURFACE.items():
        yield from ((name.rpartition(":")[2], argument) for argument in inspect.signature(one).parameters)


def is_for_speed(argument: str) -> bool:
    return not FOR_SPEED.isdisjoint(argument.split("_"))


def test_no_argument_is_for_speed_alone():
    found = {one for one in arguments() if is_for_speed(one[1])}
    assert {one for one in found if one not in MADE and one[1] not in ABOUT_THE_MACHINE} == set()


def test_the_lists_name_no_argument_that_is_gone():
    found = set(arguments())
    assert MADE.keys() <= found
    assert ABOUT_THE_MACHINE.keys() <= {argument for _, argument in found if is_for_speed(argument)}


def test_no_argument_says_which_softmax_has_made_a_given_incidence():
    assert {name for name, argument in arguments() if argument == "softmax_over"} == SOFTMAXES


@pytest.mark.parametrize("argument", ["backend", "cached_features", "n_threads", "is_known"])
def test_an_argument_for_speed_is_found(argument):
    assert is_for_speed(argument)


def test_the_surface_holds_every_room_of_the_package_that_is_public():
    rooms = {name.partition(":")[0].split(".")[1] for name in SURFACE if name.startswith("hypergnn.")}
    assert {"construct", "datasets", "distributed", "functional", "io", "layers", "loader", "models", "pyg"} <= rooms
    assert {"estimators", "explanations", "model_selection", "report", "spark", "structures", "training"} <= rooms


def test_no_public_function_takes_any_keyword():
    for name, one in SURFACE.items():
        kinds = {parameter.kind for parameter in inspect.signature(one).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds, name
