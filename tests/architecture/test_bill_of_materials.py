"""sbom.cdx.json: valid, and current for the requirements and their contents."""

import json
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from django.core.management import call_command

from opsapi import VERSION
from tests.documents import ROOT
from tools.bill_of_materials import BUNDLED, BillError, bill_of_materials, read_requirements

REQUIREMENTS = """\
one==1.0 \\
    --hash=sha256:{} \\
    --hash=sha256:{}
    # via opsapi (pyproject.toml)
two-more==2.0 ; implementation_name != 'pypy' \\
    --hash=sha256:{}
    # via
    #   opsapi (pyproject.toml)
    #   one
""".format("a" * 64, "b" * 64, "c" * 64)


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    """The committed document."""
    read: dict[str, Any] = json.loads((ROOT / "sbom.cdx.json").read_text())
    return read


def test_it_is_valid() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str((ROOT / "sbom.cdx.json").read_text()) is None


@pytest.mark.slow
def test_it_is_current() -> None:
    call_command("sbom", "--check")


def test_it_has_every_requirement_with_hashes_licence_and_what_needs_it(bill: dict[str, Any]) -> None:
    pinned = list(read_requirements((ROOT / "requirements.txt").read_text()))
    listed = {component["name"]: component for component in bill["components"]}
    assert listed.keys() == {requirement.name for requirement in pinned}
    needs = {each["ref"]: each.get("dependsOn", []) for each in bill["dependencies"]}
    for requirement in pinned:
        component = listed[requirement.name]
        (files,) = component["externalReferences"]
        assert component["version"] == requirement.version
        assert {each["content"] for each in files["hashes"]} == set(requirement.hashes)
        assert component["licenses"]
        assert all(requirement.name in needs[name] for name in requirement.needed_by)
    assert bill["metadata"]["component"]["version"] == VERSION


def test_it_has_the_software_inside_of_requirements(bill: dict[str, Any]) -> None:
    inside = {part["name"] for component in bill["components"] for part in component.get("components", [])}
    assert inside == {"postgresql", *(bundled.name for bundled in BUNDLED)}


def test_requirements_are_read_with_hashes_and_what_needs_them() -> None:
    first, second = read_requirements(REQUIREMENTS)
    assert (first.name, first.version, list(first.hashes)) == ("one", "1.0", ["a" * 64, "b" * 64])
    assert (second.name, second.version, list(second.hashes)) == ("two-more", "2.0", ["c" * 64])
    assert (list(first.needed_by), list(second.needed_by)) == (["opsapi"], ["opsapi", "one"])


def test_a_requirement_that_is_installed_in_another_version_is_refused(tmp_path: Any) -> None:
    for name in ("pyproject.toml", "requirements.txt"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    path = tmp_path / "requirements.txt"
    path.write_text(path.read_text().replace("\nwhitenoise==", "\nwhitenoise==0."))
    with pytest.raises(BillError, match=r"whitenoise: .* is installed, 0\..* is pinned"):
        bill_of_materials(tmp_path)
