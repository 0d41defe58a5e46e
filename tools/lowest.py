"""Print the lowest version of each direct dependency that pyproject.toml allows, as constraints for pip.

PyTorch is left to the caller: the lowest CPU build is not available from every package index.
"""

import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(\[(?P<extras>[^]]*)\])?>=(?P<lowest>[0-9.]+)")


def lowest(extra: str) -> dict[str, str]:
    """The lower bounds of the package with one of its extras.

    Args:
        extra: The extra; the extras that it includes are followed.
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    bounds: dict[str, str] = {}
    waiting = [*project["dependencies"], *extras[extra]]
    while waiting:
        requirement = waiting.pop()
        if requirement.startswith("hypergnn["):
            waiting += [each for name in requirement[9:-1].split(",") for each in extras[name]]
        elif found := REQUIREMENT.match(requirement):
            name, bound = found["name"], found["lowest"]
            if bounds.setdefault(name, bound) != bound:
                raise ValueError(f"{name} must have one lower bound in pyproject.toml; got {bounds[name]} and {bound}.")
        else:
            raise ValueError(f"{requirement!r} in pyproject.toml must have a lower bound, such as >=1.0.")
    return bounds


if __name__ == "__main__":
    for package, version in sorted(lowest(sys.argv[1]).items()):
        if package != "torch":
            print(f"{package}=={version}")
