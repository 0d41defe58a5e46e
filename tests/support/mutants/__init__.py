"""All mutants, by name: most of these faults were found in other libraries."""

from support.mutants import functional, kernels, layers, loops, structures, training
from support.mutation import Mutant

_ALL = [mutant for room in (structures, functional, layers, kernels, loops, training) for mutant in room.MUTANTS]
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in _ALL}
if len(MUTANTS) < len(_ALL):
    raise ValueError("mutants must have different names.")
