"""The lock of the development environment is complete, exact and hashed; releases say where they come from."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
LOCK = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINUX = {**default_environment(), "python_version": "3.11", "python_full_version": "3.11.9", "sys_platform": "linux"}
LINUX |= {"platform_system": "Linux", "platform_machine": "x86_64", "os_name": "posix"}
ENTRY = re.compile(
    r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+) \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.M
)


def locked() -> dict[str, Version]:
    return {found["name"]: Version(found["version"]) for found in ENTRY.finditer(LOCK)}


def wanted(extra: str) -> list[Requirement]:
    """The requirements of the package with one of its extras, those of extras within it included."""
    extras, found = PROJECT["optional-dependencies"], []
    waiting = [*PROJECT["dependencies"], *extras[extra]]
    while waiting:
        requirement = Requirement(waiting.pop())
        if requirement.name == "hypergnn":
            waiting += [one for name in requirement.extras for one in extras[name]]
        else:
            found.append(requirement)
    return found


@pytest.mark.slow
def test_every_line_of_the_lock_is_a_version_with_hashes_and_names_no_server():
    rest = ENTRY.sub("", LOCK)
    assert [line for line in rest.splitlines() if not line.startswith("#")] == []
    assert "://" not in LOCK
    assert len(locked()) > 100


@pytest.mark.slow
def test_the_lock_has_what_the_extra_dev_asks_for():
    have = locked()
    for requirement in wanted("dev"):
        version = have[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version.public, prereleases=True), requirement


def test_the_lock_has_what_its_packages_need():
    """As far as they are installed here in the locked version."""
    have, checked = locked(), 0
    extras = {canonicalize_name(one.name): one.extras for one in wanted("dev") if one.extras}
    for name, version in have.items():
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if Version(found.version).public != version.public:
            continue
        for requirement in map(Requirement, found.requires or []):
            asked = [{**LINUX, "extra": extra} for extra in ("", *extras.get(name, ()))]
            if requirement.marker is None or any(requirement.marker.evaluate(one) for one in asked):
                if requirement.name.startswith(("nvidia", "cuda", "triton")):
                    continue  # the CPU build of PyTorch needs none
                needed = canonicalize_name(requirement.name)
                assert needed in have, (name, requirement)
                assert requirement.specifier.contains(have[needed].public, prereleases=True), (name, requirement)
                checked += 1
    assert checked > 50


def test_the_lock_has_the_versions_that_the_makefile_installs():
    pins = re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    assert pins
    for name, version in pins:
        assert locked()[canonicalize_name(name)].public == version, name
    assert str(locked()["torch"]).endswith("+cpu")


def test_the_security_page_lists_every_dependency():
    table = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("| package | for |")[2].partition("\n\n")[0]
    listed = {name.strip() for row in table.splitlines()[2:] for name in row.split("|")[1].split(",")}
    assert listed == {Requirement(one).name for one in PROJECT["dependencies"]}


def workflows() -> dict[str, dict]:
    yaml = pytest.importorskip("yaml")
    return {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}


def test_a_release_is_attested_and_published_without_a_secret():
    release = workflows()["release"]
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    steps = [step.get("uses", "").partition("@")[0] for step in build["steps"]]
    assert steps.index("actions/attest-build-provenance") < steps.index("actions/upload-artifact")
    assert build["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    assert publish["steps"][-1]["with"] == {"attestations": True}
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_workflows_read_only_and_pin_what_is_not_from_github():
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job in workflow["jobs"].values():
            for step in job["steps"]:
                action = step.get("uses", "./")
                assert action.startswith(("./", "actions/")) or re.search(r"@[0-9a-f]{40}$", action), action


def test_the_weekly_workflow_fuzzes_and_audits():
    commands = [step.get("run") for job in workflows()["weekly"]["jobs"].values() for step in job["steps"]]
    assert {"make fuzz TIME=600", "make audit", "make locked"} <= set(commands)


def test_the_fitting_wheels_are_those_of_linux_and_python_3_11():
    from tools.lock import is_fitting

    assert is_fitting("torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl")
    assert is_fitting("rich-15.0.0-py3-none-any.whl")
    assert not is_fitting("numpy-2.4.6-cp312-cp312-manylinux_2_28_x86_64.whl")
    assert not is_fitting("numpy-2.4.6-cp311-cp311-macosx_14_0_arm64.whl")
    assert not is_fitting("numpy-2.4.6-cp311-cp311-manylinux_2_34_x86_64.whl")
