r"""What structures share: they are frozen, move between devices, and torch sees into them; and senders and receivers.

    T = D_R^-a · R · W B^-1 · Sᵀ · D_S^-b

Hyperedges gather from the vertices of ``S`` and give to those of ``R``. The two share the hyperedges and need share
nothing else: in a hypergraph they are the same object, in a block they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary

from hypergnn.structures.incidence import Incidence

T = TypeVar("T")
Direction = Literal["forward", "backward", "both", "undirected"]
"""Which way a layer follows hyperedges that point: from tails to heads, the reverse, both, or as if they did not."""
DIRECTIONS = ("forward", "backward", "both", "undirected")
Context = tuple[tuple[int, ...], tuple[Any, ...]]
"""How many leaves each field of tensors has, and the values of the static fields."""

_ROLE = "role"
STATIC = {_ROLE: "static"}
"""Metadata of a field that is no tensor and decides what is computed: traced programs fix its value."""
LABEL = {_ROLE: "label"}
"""Metadata of a field that decides nothing, such as names: torch does not see it, and exported programs lose it."""
_of_tensors: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """A frozen set of tensors that move together and that ``torch.export`` can see into.

    A field holds a tensor, an incidence or ``None``, unless its metadata are :data:`STATIC` or :data:`LABEL`.
    """

    def __init_subclass__(cls) -> None:
        """Register each kind of structure with torch's pytrees: tensors are leaves, static fields the context."""
        pytree.register_pytree_node(
            cls,
            cls._flatten,
            cls._unflatten,
            serialized_type_name=f"hypergnn.{cls.__name__}",
            to_dumpable_context=list,
            from_dumpable_context=lambda context: tuple(map(tuple, context)),
            flatten_with_keys_fn=cls._flatten_with_keys,
        )
        # It holds nothing but tensors, so torch.load and torch.export.load may make it.
        torch.serialization.add_safe_globals([cls, Incidence])

    def to(self, device: torch.device | str) -> Self:
        """The same structure with its tensors on ``device``."""
        device = torch.device(device)
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        moved = {name: value.to(device) for name, value in values.items() if isinstance(value, (Tensor, Incidence))}
        return type(self)(**{**values, **moved})

    @classmethod
    def _names(cls, role: str | None = None) -> list[str]:
        """Names of the fields with this role; those of the tensors without one."""
        return [one.name for one in fields(cls) if one.metadata.get(_ROLE) == role]

    def _flatten(self) -> tuple[list[Any], Context]:
        values = [getattr(self, name) for name in self._names()]
        leaves = [leaf for value in values for leaf in (value if isinstance(value, Incidence) else [value])]
        sizes = tuple(len(value) if isinstance(value, Incidence) else 1 for value in values)
        return leaves, (sizes, tuple(getattr(self, name) for name in self._names("static")))

    def _flatten_with_keys(self) -> tuple[list[tuple[pytree.KeyEntry, Any]], Context]:
        leaves, context = self._flatten()
        # Numbered, because torch.export takes the name of one field for the beginning of another's.
        return list(zip(map(pytree.SequenceKey, range(len(leaves))), leaves, strict=True)), context

    @classmethod
    def _unflatten(cls, leaves: Iterable[Any], context: Context) -> Self:
        sizes, static = context
        waiting = iter(leaves)
        values = [Incidence(*islice(waiting, size)) if size > 1 else next(waiting) for size in sizes]
        fixed = dict(zip(cls._names("static"), static, strict=True))
        return cls(**dict(zip(cls._names(), values, strict=True)), **fixed)

    def derived(self, key: Any, make: Callable[[], T]) -> T:
        """What ``make`` makes of this structure, cached for the next time: see :func:`derived`."""
        return derived(self, key, make)


class TwoSided(Structure):
    """A structure with senders and receivers; a layer makes a row for each receiver of a row for each sender."""

    centroid: Tensor | None = None
    """Row of the sender around which each hyperedge was built, ``(M,)``, -1 where there is none."""
    is_centred: bool = False
    """Whether every hyperedge has a centroid."""
    rows: Tensor | None = None
    """Which sender each receiver is, ``(n_receivers,)``; ``None`` if they are the same in the same order."""
    shares_pairs: bool = True
    """Whether each receiver is a sender with the same incidences, so that both have the same attention."""

    if TYPE_CHECKING:  # fields of the dataclasses, or properties of theirs

        @property
        def senders(self) -> Incidence:
            """``S``: senders × hyperedges."""

        @property
        def receivers(self) -> Incidence:
            """``R``: receivers × hyperedges."""

        @property
        def weight(self) -> Tensor:
            """Weight of each hyperedge, ``W``, ``(M,)`` float64."""

        @property
        def _sender_degree(self) -> Tensor:
            """``D_S``, ``(n_vertices,)`` float64."""

        @property
        def _receiver_degree(self) -> Tensor:
            """``D_R``, ``(n_receivers,)`` float64."""

        @property
        def _hyperedge_degree(self) -> Tensor:
            """``B``, ``(M,)`` float64."""

    @property
    def n_vertices(self) -> int:
        """Number of senders, isolated ones included: the rows that a layer reads."""
        return self.senders.offsets.shape[0] - 1

    @property
    def n_receivers(self) -> int:
        """Number of receivers, isolated ones included: the rows that a layer makes."""
        return self.receivers.n_rows

    @property
    def n_hyperedges(self) -> int:
        """Number of hyperedges, empty ones included (``M``)."""
        return self.senders.n_columns

    @property
    def n_incidences(self) -> int:
        """Number of (sender, hyperedge) pairs."""
        return self.senders.n_pairs

    @property
    def n_terms(self) -> int:
        """Terms of each feature in a product with the transition, there and back: what it costs."""
        return self.senders.n_pairs + self.receivers.n_pairs

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.weight.device

    def ways(self, direction: Direction) -> tuple[TwoSided, ...]:
        """What a layer of this direction propagates over."""
        if direction not in ("forward", "undirected"):
            raise ValueError(
                f"direction={direction!r} needs a DirectedHypergraph, or blocks made with that direction; got "
                f"{type(self).__name__}, whose hyperedges have no other direction."
            )
        return (self,)

    def hyperedge_degree(self) -> Tensor:
        """Number of senders of each hyperedge, ``B`` of the paper, ``(M,)`` float64."""
        return self._hyperedge_degree.clone()


def ways(H: TwoSided | tuple[TwoSided, TwoSided], direction: Direction) -> tuple[TwoSided, ...]:
    """What a layer of this direction propagates over: the structure, its reverse, both, or a pair of blocks."""
    if not isinstance(H, tuple):
        return H.ways(direction)
    if direction != "both" or len(H) != 2:
        raise ValueError(
            f"a pair of blocks is for a layer with direction='both'; got {len(H)} blocks and {direction!r}."
        )
    forward, backward = H
    return (*forward.ways("forward"), *backward.ways("backward"))


def derived(owner: Any, key: Any, make: Callable[[], T]) -> T:
    """What ``make`` makes of a structure or of one of its tensors, cached as long as that lives.

    This is the only cache of derived factors. Nothing is cached while a program is being traced.
    """
    if torch.compiler.is_compiling():
        return make()
    cache: dict[Any, Any]
    if isinstance(owner, Tensor):
        cache = _of_tensors.setdefault(owner, {})
    else:
        cache = owner.__dict__.setdefault("_derived", {})
    if key not in cache:
        with torch.inference_mode(False), torch.no_grad():  # the next caller may need a gradient
            cache[key] = make()
    made: T = cache[key]
    return made
