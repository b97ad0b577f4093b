"""The bill of materials of the package, in the format CycloneDX: its requirements, and what they contain.

Requirements, their hashes and what needs them are read from `requirements.txt`, licences from the installed
packages. The same requirements give the same bytes: the document has no time, and its serial number is
derived from its content.
"""

import json
import re
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.bom_ref import BomRef
from cyclonedx.model.component import Component, ComponentScope, ComponentType
from cyclonedx.model.dependency import Dependency
from cyclonedx.model.license import DisjunctiveLicense, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.spdx import is_supported_id
from packageurl import PackageURL

from opsapi import VERSION
from opsapi.embedded.cluster import find_binaries
from tools.management.commands.licences import licences_of

_PIN = re.compile(r"^(?P<name>[a-z0-9.-]+)==(?P<version>\S+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NEEDED_BY = re.compile(r"^    #(?: via|  ) ([a-z0-9.-]+)", re.MULTILINE)
_SPDX = {
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
}
"""Identifiers for older names of licences that mean one licence."""
_OURS = "opsapi"


class BillError(Exception):
    """The installed packages are not the pinned ones, or do not contain what the table says."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A pinned package: name, version, SHA-256 of each of its files, and the packages that need it."""

    name: str
    version: str
    hashes: Sequence[str]
    needed_by: Sequence[str]


ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True, slots=True)
class Bundled:
    """Software of others in a package: a file of it, and how its version is written there."""

    package: str
    name: str
    purl_type: str
    licence: str
    file: str
    version: str


BUNDLED = (
    Bundled(
        "django", "jquery", "npm", "MIT", "*/vendor/jquery/jquery.js", r"jQuery JavaScript Library v([\d.]+)"
    ),
    Bundled("django", "select2", "npm", "MIT", "*/vendor/select2/select2.full.js", r"Select2 ([\d.]+)"),
    Bundled(
        "django", "xregexp", "npm", "MIT", "*/vendor/xregexp/xregexp.js", r"XRegExp\.version = '([\d.]+)'"
    ),
    Bundled("django-unfold", "alpinejs", "npm", "MIT", "*/js/alpine/alpine.js", r'version:"([\d.]+)"'),
    Bundled("django-unfold", "chart.js", "npm", "MIT", "*/js/chart/chart.js", r'version="([\d.]+)"'),
    Bundled("django-unfold", "htmx.org", "npm", "0BSD", "*/js/htmx/htmx.js", r'version:"([\d.]+)"'),
    Bundled(
        "django-unfold", "simplebar", "npm", "MIT", "*/js/simplebar/simplebar.js", r"simplebar - v([\d.]+)"
    ),
    Bundled(
        "drf-spectacular-sidecar",
        "swagger-ui-dist",
        "npm",
        "Apache-2.0",
        "*/swagger-ui-dist/swagger-ui-bundle.js",
        r'PACKAGE_VERSION:"([\d.]+)"',
    ),
    Bundled(
        "drf-spectacular-sidecar",
        "redoc",
        "npm",
        "MIT",
        "*.dist-info/METADATA",
        r"`Redoc`_ version ``([\d.]+)``",
    ),
    Bundled(
        "psycopg-binary", "openssl", "generic", "Apache-2.0", "*/libcrypto-*", r"OpenSSL (\d+\.\d+\.\d+)"
    ),
)
"""The embedded PostgreSQL is not in this table: the program says its version."""


def read_requirements(text: str) -> Iterator[Requirement]:
    """The pinned packages of a text that `make lock` writes."""
    for entry in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if found := _PIN.match(entry):
            needed_by = _NEEDED_BY.findall(entry.replace("(pyproject.toml)", ""))
            yield Requirement(found["name"], found["version"], _HASH.findall(entry), needed_by)


def bill_of_materials(root: Path) -> str:
    """Return the document for the requirements of a checkout.

    Raises: BillError: a requirement is not installed as it is pinned, or bundled software was not found.
    """
    requirements = list(read_requirements((root / "requirements.txt").read_text(encoding="utf-8")))
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = _optional(project["optional-dependencies"]["embedded"], requirements)
    bundled = [*(_found(each) for each in BUNDLED), _postgresql()]
    ours = Component(
        components=[_uplot()],
        name=_OURS,
        version=VERSION,
        type=ComponentType.APPLICATION,
        bom_ref=_OURS,
        purl=PackageURL("pypi", None, _OURS, VERSION),
        licenses=[LicenseExpression(project["license"])],
    )
    bill = Bom(components=[_component(each, bundled, optional) for each in requirements])
    bill.metadata.component = ours
    needs: dict[str, list[str]] = {_OURS: [], **{each.name: [] for each in requirements}}
    for each in requirements:
        for name in each.needed_by:
            needs[name].append(each.name)
    bill.dependencies = [
        Dependency(BomRef(name), [Dependency(BomRef(other)) for other in others])
        for name, others in needs.items()
    ]
    return _without_time(bill)


def _optional(extra: Sequence[str], requirements: Sequence[Requirement]) -> set[str]:
    """The packages of the extra, and the packages that only they need."""
    names = {re.split(r"[^A-Za-z0-9.-]", text)[0] for text in extra}
    while more := {
        each.name for each in requirements if each.name not in names and set(each.needed_by) <= names
    }:
        names |= more
    return names


def _component(
    requirement: Requirement, bundled: Sequence[tuple[str, Component]], optional: set[str]
) -> Component:
    name, version = requirement.name, requirement.version
    files = ExternalReference(
        type=ExternalReferenceType.DISTRIBUTION,
        url=XsUri(f"https://pypi.org/project/{name}/{version}/#files"),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in requirement.hashes],
        comment="the SHA-256 of each file that can be installed",
    )
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=name,
        purl=PackageURL("pypi", None, name, version),
        scope=ComponentScope.OPTIONAL if name in optional else ComponentScope.REQUIRED,
        licenses=_licences(requirement),
        external_references=[files],
        components=[component for package, component in bundled if package == name],
    )


def _licences(requirement: Requirement) -> list[Any]:
    package = _installed(requirement.name)
    if package.version != requirement.version:
        raise BillError(
            f"{requirement.name}: {package.version} is installed, {requirement.version} is pinned"
        )
    if "License-Expression" in package.metadata:
        return [LicenseExpression(package.metadata["License-Expression"])]
    names = [_SPDX.get(name, name) for name in licences_of(package.metadata)]
    return [
        DisjunctiveLicense(id=name) if is_supported_id(name) else DisjunctiveLicense(name=name)
        for name in names
    ]


def _installed(name: str) -> metadata.Distribution:
    try:
        return metadata.distribution(name)
    except metadata.PackageNotFoundError:
        raise BillError(f"{name}: is not installed") from None


def _found(bundled: Bundled) -> tuple[str, Component]:
    files = [file for file in _installed(bundled.package).files or () if file.match(bundled.file)]
    versions = {
        found[1].decode()
        for file in files
        if (found := re.search(bundled.version.encode(), Path(str(file.locate())).read_bytes()))
    }
    if len(versions) != 1:
        raise BillError(
            f"{bundled.package}: {bundled.file} has versions {sorted(versions)} of {bundled.name}"
        )
    return bundled.package, _part(
        bundled.package, bundled.name, versions.pop(), bundled.purl_type, bundled.licence
    )


def _uplot() -> Component:
    """The library that draws the charts of the console, of which the repository has a copy."""
    copy = ROOT / "opsapi/static/console/uplot/uPlot.iife.min.js"
    version = re.search(r"uPlot \(v([\d.]+)\)", copy.read_text(encoding="utf-8"))
    if version is None:
        raise BillError(f"{copy.relative_to(ROOT)}: has no version")
    return _part(_OURS, "uplot", version[1], "npm", "MIT")


def _postgresql() -> tuple[str, Component]:
    """The embedded PostgreSQL, with the name of the package that has it."""
    program = find_binaries() / "postgres"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    version = re.search(r"\(PostgreSQL\) ([\d.]+)", said)
    if version is None:
        raise BillError(f"{program}: --version says {said!r}")
    (top,) = {path.name for path in program.parents if path.parent.name == "site-packages"}
    (owner,) = metadata.packages_distributions()[top]
    package = re.sub(r"[-_.]+", "-", owner).lower()
    return package, _part(package, "postgresql", version[1], "generic", "PostgreSQL")


def _part(package: str, name: str, version: str, purl_type: str, licence: str) -> Component:
    return Component(
        name=name,
        version=version,
        type=ComponentType.LIBRARY,
        bom_ref=f"{package}/{name}",
        purl=PackageURL(purl_type, None, name, version),
        licenses=[LicenseExpression(licence)],
    )


def _without_time(bill: Bom) -> str:
    """The document; its serial number follows from its content."""
    document = json.loads(JsonV1Dot6(bill).output_as_string())
    del document["serialNumber"], document["metadata"]["timestamp"]
    content = json.dumps(document, sort_keys=True)
    document["serialNumber"] = uuid5(NAMESPACE_URL, content).urn
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
