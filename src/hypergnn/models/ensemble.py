"""An ensemble: networks of the same settings, trained from different seeds, whose probabilities are averaged."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.nn import Parameter

from hypergnn._utils.checks import check_size
from hypergnn.functional.checks import Features
from hypergnn.functional.pairwise import AnyGraph
from hypergnn.models.config import Config
from hypergnn.models.network import Network
from hypergnn.structures.base import TwoSided


class Ensemble(Network):
    """Networks of the same settings as one: the mean of their probabilities, or of their numbers in a regression.

    Its parameters have a leading axis, one entry per member, and all members are computed together. ``forward`` returns
    the logarithm of the mean probabilities, so that ``softmax`` gives the mean, as it gives a network's probabilities.

    Example:
        >>> from hypergnn import Hypergraph
        >>> H = Hypergraph.from_hyperedges([[0, 1, 2], [2, 3]], n_vertices=4)
        >>> members = [Network(Config(), n_features=5, n_classes=3).eval() for _ in range(2)]
        >>> both, x = Ensemble.of(members), torch.rand(4, 5)
        >>> mean = (members[0](x, hypergraph=H).softmax(-1) + members[1](x, hypergraph=H).softmax(-1)) / 2
        >>> torch.testing.assert_close(both(x, hypergraph=H).softmax(-1), mean)
        >>> both.n_members
        2
    """

    @classmethod
    def of(cls, members: Sequence[Network]) -> Ensemble:
        """The ensemble of some networks of the same settings and sizes, in evaluation mode.

        Raises:
            TypeError: If a member is not a network, or is made of given layers, which may differ in more than numbers.
            ValueError: If there are no members, or if their settings or sizes differ.
        """
        members = list(members)
        if not all(isinstance(one, Network) for one in members):
            raise TypeError("members must be networks; got something else among them.")
        if not members:
            raise ValueError("members must hold at least one network; got none.")
        kinds = {(one.config, one.n_features, one.n_classes, one.linear_output) for one in members}
        if len(kinds) > 1 or any(isinstance(one, Ensemble) for one in members):
            raise ValueError("members must be networks of the same settings and sizes, none of them an ensemble.")
        if not all(one.is_named for one in members):
            raise TypeError(
                "members must be made by their configuration; got a network made of given layers. Register them with "
                "hypergnn.models.register(name, layers=…) and make it by Network(Config(model=name), …)."
            )
        states = [dict(one.named_parameters()) for one in members]
        stacked = {name: torch.stack([one[name].detach() for one in states]) for name in states[0]}
        ((config, n_features, n_classes, linear_output),) = kinds
        return cls.from_parameters(config, n_features, n_classes, stacked, linear_output=linear_output)

    @classmethod
    def from_parameters(
        cls,
        config: Config,
        n_features: int,
        n_classes: int,
        parameters: Mapping[str, Tensor],
        *,
        linear_output: bool = False,
    ) -> Ensemble:
        """An ensemble with given parameters, each with a leading axis of members, in evaluation mode."""
        with torch.device("meta"):
            ensemble = cls(config, n_features, n_classes, linear_output=linear_output)
        own = {name: tuple(one.shape) for name, one in ensemble.named_parameters()}
        given = {name: tuple(one.shape[1:]) for name, one in parameters.items()}
        sizes = {len(one) if one.ndim else 0 for one in parameters.values()}
        if own != given or len(sizes) != 1 or 0 in sizes:
            raise ValueError(f"parameters must have the shapes {own} after an axis of members; got {given}.")
        for name, parameter in parameters.items():
            layer, _, last = name.rpartition(".")
            module = ensemble.get_submodule(layer)
            setattr(module, last, Parameter(parameter, requires_grad=getattr(module, last).requires_grad))
        return ensemble.eval()

    @property
    def n_members(self) -> int:
        """Number of networks."""
        return len(next(self.parameters()))

    def member(self, number: int) -> Network:
        """One of the networks, in evaluation mode.

        Example:
            >>> network = Network(Config(), n_features=5, n_classes=3)
            >>> Ensemble.of([network]).member(0).n_classes
            3
        """
        if check_size("number", number) >= self.n_members:
            raise ValueError(f"number must be below {self.n_members}, the number of members; got {number}.")
        parameters = {name: one.detach()[number].clone() for name, one in self.named_parameters()}
        return Network.from_parameters(
            self.config, self.n_features, self.n_classes, parameters, linear_output=self.linear_output
        )

    def forward(
        self,
        x: Features,
        graph: AnyGraph | Sequence[AnyGraph] | None = None,
        hypergraph: TwoSided | Sequence[TwoSided] | None = None,
    ) -> Tensor:
        """The logarithm of the mean probabilities, or the mean numbers of a regression, ``(N, n_classes)``.

        Arguments as for :class:`Network`.
        """
        scores = super().forward(x, graph=graph, hypergraph=hypergraph)  # (members, N, n_classes)
        return mean_score(scores, is_linear=self.linear_output)

    def hidden(
        self,
        x: Features,  # noqa: ARG002
        graph: AnyGraph | Sequence[AnyGraph] | None = None,  # noqa: ARG002
        hypergraph: TwoSided | Sequence[TwoSided] | None = None,  # noqa: ARG002
    ) -> Features:
        """Refuse: members have hidden features of their own, which do not correspond."""
        raise TypeError("the members of an ensemble have no common hidden features; use those of ensemble.member(0).")


def mean_score(scores: Tensor, *, is_linear: bool = False) -> Tensor:
    """The logarithm of the mean probabilities over the first axis; the mean itself of linear outputs.

    Example:
        >>> mean_score(torch.tensor([[0.25, 0.75], [0.75, 0.25]]).log()).exp()
        tensor([0.5000, 0.5000])
    """
    if is_linear:
        return scores.mean(0)
    return scores.log_softmax(-1).logsumexp(0) - math.log(scores.shape[0])
