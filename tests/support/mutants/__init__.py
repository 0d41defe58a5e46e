"""All mutants, by name: most of these faults were found in other libraries."""

from support.mutants import (
    blocks,
    estimators,
    functional,
    joins,
    kernels,
    layers,
    loops,
    networks,
    selection,
    structures,
    training,
)
from support.mutation import Mutant

_ROOMS = (structures, blocks, functional, layers, networks, kernels, loops, training, joins, estimators, selection)
_ALL = [mutant for room in _ROOMS for mutant in room.MUTANTS]
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in _ALL}
if len(MUTANTS) < len(_ALL):
    raise ValueError("mutants must have different names.")
