"""All mutants, by name: most of these faults were found in other libraries."""

from importlib import import_module
from pkgutil import iter_modules

from support.mutation import Mutant

_ROOMS = [import_module(f"{__name__}.{room.name}") for room in iter_modules(__path__)]
_ALL = [mutant for room in _ROOMS for mutant in room.MUTANTS]
MUTANTS: dict[str, Mutant] = {mutant.name: mutant for mutant in _ALL}
if len(MUTANTS) < len(_ALL):
    raise ValueError("mutants must have different names.")
