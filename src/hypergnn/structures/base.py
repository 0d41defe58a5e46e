r"""What structures share: they are frozen, move between devices, and torch sees into them; and senders and receivers.

    T = D_R^-a · R · W B^-1 · Sᵀ · D_S^-b

Hyperedges gather from the vertices of ``S`` and give to those of ``R``. The two share the hyperedges and need share
nothing else: in a hypergraph they are the same object, in a block they are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, TypeVar

import torch
from torch import Tensor
from torch.utils import _pytree as pytree
from torch.utils.weak import WeakTensorKeyDictionary

from hypergnn._utils.pairs import check_range
from hypergnn._utils.transforms import untransformed
from hypergnn.persistence.files import identity_of
from hypergnn.structures.incidence import Incidence

T = TypeVar("T")
Direction = Literal["forward", "backward", "both", "undirected"]
"""Which way a layer follows hyperedges that point: from tails to heads, the reverse, both, or as if they did not."""
DIRECTIONS = ("forward", "backward", "both", "undirected")
Context = tuple[tuple[int, ...], tuple[Any, ...]]
"""How many leaves each field of tensors has, and the values of the static fields."""

_ROLE = "role"
STATIC = {_ROLE: "static"}
"""Metadata of a field that is not a tensor but affects results: traced programs treat its value as a constant."""
LABEL = {_ROLE: "label"}
"""Metadata of a field that does not affect results, such as names: torch ignores it, exported programs drop it."""
_of_tensors: WeakTensorKeyDictionary = WeakTensorKeyDictionary()


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """A frozen set of tensors that move together and that ``torch.export`` can see into.

    A field holds a tensor, an incidence or ``None``, unless its metadata are :data:`STATIC` or :data:`LABEL`.
    """

    if TYPE_CHECKING:

        @property
        def device(self) -> torch.device:
            """Where the tensors are."""

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

    def __post_init__(self) -> None:
        """Note how often the tensors have been changed so far; tensors made in inference mode do not count changes."""
        if torch.compiler.is_compiling():
            return
        values = [getattr(self, name) for name in self._names()]
        tensors = tuple(one for one in values if isinstance(one, Tensor) and not one.is_inference())
        object.__setattr__(self, "_made", (sum(one._version for one in tensors), tensors))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields; :func:`restored` checks what it makes of them."""
        self.check()
        return restored, (type(self), {one.name: getattr(self, one.name) for one in fields(self)})

    def check(self) -> None:
        """Raise unless the structure is sound and its tensors are those that it was made of.

        Functions and layers call this. The content is read the first time only: ids in range, both orders of the
        pairs alike, sizes that fit each other; of a file or a pickle, everything that is stored twice as well. Later
        calls only compare how often the tensors were changed in place.

        Raises:
            ValueError: If it is not sound, or if a tensor was changed in place.

        Example:
            >>> from hypergnn import Hypergraph
            >>> H = Hypergraph.from_hyperedges([[0, 1], [1, 2]], n_vertices=3)
            >>> H.check()
            >>> _ = H.weight.mul_(2)
            >>> H.check()  # doctest: +ELLIPSIS
            Traceback (most recent call last):
            ...
            ValueError: a tensor of this Hypergraph was changed in place. Change a copy, e.g. H.weight.clone(), and ...
        """
        if torch.compiler.is_compiling():
            return
        known = self.__dict__.get("_sound")
        if known is None:
            self._read()
            return
        changes, tensors = known
        for one in tensors:
            changes -= one._version
        if changes != 0:
            self._refuse_changes()

    def _trust(self) -> None:
        """Note that it is sound; for callers that built it from sound parts."""
        object.__setattr__(self, "_sound", self.__dict__["_made"])

    def _comes_from(self, source: str) -> None:
        """Note the file or pickle, whose content :meth:`check` reads."""
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_source_identity", identity_of(source))

    def _refuse_changes(self) -> None:
        kind = type(self).__name__
        raise ValueError(
            f"a tensor of this {kind} was changed in place. Change a copy, e.g. H.weight.clone(), and build a new "
            f"{kind} from it."
        )

    def _read(self) -> None:
        """Raise unless it is sound, and remember that it is; tensors without entries cannot be read."""
        changes, tensors = self.__dict__["_made"]
        if self.device.type == "meta" or any(type(one) is not Tensor for one in tensors):
            return
        if changes != sum(one._version for one in tensors):
            self._refuse_changes()
        source = self.__dict__.get("_source")
        try:
            for name in self._names():
                value = getattr(self, name)
                if isinstance(value, Incidence):
                    value.check()
            self._check_fields()
            if source is not None:
                self._check_content()
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            if source is None:
                raise
            raise ValueError(f"{source} is damaged, or not a file of hypergnn: {error}") from error
        object.__setattr__(self, "_sound", (changes, tensors))

    def _check_fields(self) -> None:
        """Raise unless the fields fit each other; their incidences are sound."""

    def _check_content(self) -> None:
        """Raise if values that are stored twice differ."""

    def to(self, device: torch.device | str) -> Self:
        """The same structure with its tensors on ``device``."""
        self.check()
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


class Parts(Protocol):
    """How processes that hold a part of the vertices each complete what they have computed of the hyperedges.

    All processes must call the same methods in the same order. Rows of hyperedges are the second axis.
    """

    def add(self, sums: Tensor) -> Tensor:
        """The sums over all processes, ``(batch, M, ...)``; ``sums`` may be overwritten."""

    def highest(self, values: Tensor) -> Tensor:
        """The largest values of all processes, ``(batch, M, ...)``; ``values`` may be overwritten."""

    def highest_of_all(self, value: Tensor) -> Tensor:
        """The largest values over all processes, entry by entry; not for values of hyperedges."""


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
    _direction: ClassVar[Direction | None] = None  # of hyperedges that do not point
    """For which layers its blocks are, unless made for others: ``"forward"`` if its hyperedges point."""
    parts: Parts | None = None
    """How the sums of the hyperedges are completed if other processes hold some of the vertices."""
    has_centroid: Tensor | None = None
    """With :attr:`parts`, which hyperedges have a centroid, whichever process holds it; ``None`` if none has one."""
    has_inverse_frequency: bool = False
    """Whether its weights are the inverse frequencies of the whole, :func:`hypergnn.construct.inverse_frequency`."""
    receiver_scale: Tensor | None = None
    """Of a sample, by how much the drawn hyperedges of each receiver stand for all of them; else ``None``."""
    hyperedge_scale: Tensor | None = None
    """Of a sample, by how much the drawn members of each hyperedge stand for all of them; else ``None``."""
    receiver_count: Tensor | None = None
    """Of a sample, number of hyperedges of each receiver in the whole; else ``None``, and :attr:`receivers` has all."""

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
        """Number of terms per feature in a product with the transition, both ways: a measure of its cost."""
        return self.senders.n_pairs + self.receivers.n_pairs

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.weight.device

    def ways(self, direction: Direction) -> tuple[TwoSided, ...]:
        """What a layer of this direction propagates over."""
        if direction not in ("forward", "undirected"):
            raise ValueError(
                f"direction={direction!r} needs a DirectedHypergraph, or blocks made with that direction; got a "
                f"{type(self).__name__} whose hyperedges have no direction."
            )
        return (self,)

    def hyperedge_degree(self) -> Tensor:
        """Number of senders of each hyperedge, ``B`` of the paper, ``(M,)`` float64."""
        self.check()
        return self._hyperedge_degree.clone()

    def _check_fields(self) -> None:
        n_hyperedges, n_receivers = self.n_hyperedges, self.n_receivers
        if self.receivers.n_columns != n_hyperedges:
            raise ValueError(
                f"senders and receivers must have the same hyperedges; got {n_hyperedges} and "
                f"{self.receivers.n_columns}."
            )
        check_numbers("weight", self.weight, n_hyperedges)
        check_numbers("hyperedge degree", self._hyperedge_degree, n_hyperedges)
        check_numbers("sender degree", self._sender_degree, self.n_vertices)
        check_numbers("receiver degree", self._receiver_degree, n_receivers)
        check_rows("rows", self.rows, n_receivers, self.n_vertices)
        if self.centroid is not None:
            check_rows("centroid", self.centroid + 1, n_hyperedges, self.n_vertices + 1)
        if self.is_centred and (self.centroid is None or bool((self.centroid < 0).any())):
            raise ValueError("is_centred must be False: not every hyperedge has a centroid.")


def check_numbers(name: str, numbers: Tensor, size: int) -> None:
    """Raise unless these are ``size`` finite numbers of type float64."""
    if numbers.dtype != torch.float64 or tuple(numbers.shape) != (size,):
        raise ValueError(f"{name} must be float64 of shape ({size},); got {numbers.dtype} {tuple(numbers.shape)}.")
    if not bool(numbers.isfinite().all()):
        raise ValueError(f"{name} must be finite.")


def check_rows(name: str, ids: Tensor | None, size: int, n_rows: int) -> None:
    """Raise unless these are ``size`` ids below ``n_rows``; without ids, both sizes must be the same."""
    if ids is None:
        if size != n_rows:
            raise ValueError(f"{name} must be given: there are {size} receivers and {n_rows} senders.")
        return
    if ids.dtype not in (torch.int32, torch.int64) or tuple(ids.shape) != (size,):
        raise ValueError(f"{name} must be {size} ids; got {ids.dtype} {tuple(ids.shape)}.")
    check_range(name, ids, n_rows)


def restored(kind: type[Structure], values: dict[str, Any]) -> Structure:
    """A structure from its pickled fields, which are checked like those of a file.

    Raises:
        ValueError: If the fields do not fit each other.
    """
    if not (isinstance(kind, type) and issubclass(kind, Structure)):
        raise TypeError(f"kind must be a structure; got {kind!r}.")
    structure = kind(**values)
    structure._comes_from("the pickle")
    structure.check()
    return structure


def ways(H: TwoSided | tuple[TwoSided, TwoSided], direction: Direction) -> tuple[TwoSided, ...]:
    """What a layer of this direction propagates over: the structure, its reverse, both, or a pair of blocks."""
    if not isinstance(H, tuple):
        return H.ways(direction)
    if direction != "both" or len(H) != 2:
        raise ValueError(
            f"a pair of blocks is for a layer with direction='both'; got {len(H)} blocks and {direction!r}."
        )
    forward, backward = H
    if not torch.compiler.is_compiling():
        for what in ("read", "made"):
            ids = [one for one in (getattr(forward, what, None), getattr(backward, what, None)) if one is not None]
            if len(ids) == 1 or (len(ids) == 2 and not torch.equal(*ids)):
                raise ValueError(
                    "the blocks of both directions must read and make the same vertices; make them with "
                    "around(vertices, direction='both')."
                )
    return (*forward.ways("forward"), *backward.ways("backward"))


def derived(owner: Any, key: Any, make: Callable[[], T]) -> T:
    """What ``make`` makes of a structure or of one of its tensors, cached as long as that lives.

    This is the only cache of derived factors. Nothing is cached while a program is traced, or of a tensor while it is
    transformed.
    """
    is_tensor = isinstance(owner, Tensor)
    if torch.compiler.is_compiling() or (is_tensor and torch._C._are_functorch_transforms_active()):
        return make()
    cache: dict[Any, Any]
    cache = _of_tensors.setdefault(owner, {}) if is_tensor else owner.__dict__.setdefault("_derived", {})
    if key not in cache:
        with torch.inference_mode(False), torch.no_grad(), untransformed():  # the next caller may need a gradient
            cache[key] = make()
    made: T = cache[key]
    return made
