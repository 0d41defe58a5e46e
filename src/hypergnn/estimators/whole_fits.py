"""A fit that fails changes nothing, and one that continues a network continues with the same columns and classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
Self = TypeVar("Self")
Result = TypeVar("Result")

_MEANINGS = {"feature_names_in_": "columns", "classes_": "classes"}


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore the estimator if the block raises an exception."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def whole_or_not(fit: Callable[Concatenate[Self, P], Result]) -> Callable[Concatenate[Self, P], Result]:
    """Leave an estimator as it was if its ``fit`` raises, so that it never predicts with parts of two fits.

    Example:
        >>> class Estimator:
        ...     @whole_or_not
        ...     def fit(self, y):
        ...         self.classes_ = y
        ...         raise ValueError("too few labels")
        >>> estimator = Estimator()
        >>> estimator.fit([1])
        Traceback (most recent call last):
        ValueError: too few labels
        >>> hasattr(estimator, "classes_")
        False
    """

    @wraps(fit)
    def fitted(self: Self, /, *args: P.args, **kwargs: P.kwargs) -> Result:
        with all_or_nothing(self):
            return fit(self, *args, **kwargs)

    return fitted


def meaning_of(estimator: Any) -> dict[str, Any]:
    """The columns and classes of the network that the next fit continues; none if it starts a new one."""
    if not estimator.warm_start or not hasattr(estimator, "network_"):
        return {}
    return {name: getattr(estimator, name) for name in _MEANINGS if hasattr(estimator, name)}


def check_same_meaning(estimator: Any, before: dict[str, Any]) -> None:
    """Raise if columns or classes have changed since; columns without names cannot be compared."""
    for name, earlier in before.items():
        now = getattr(estimator, name, None)
        if now is not None and not np.array_equal(earlier, now):
            raise ValueError(
                f"warm_start continues the previous network, whose {_MEANINGS[name]} were {list(earlier)}; got "
                f"{list(now)}. Fit with warm_start=False."
            )
