"""`manage.py licences`: checks that the pinned requirements have licences that allow to ship them."""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"),
        *("PSF-2.0", "Zlib"),
        # Copyleft that ends at the package's own files, which nobody changes here.
        *("LGPL-3.0-only", "MPL-2.0"),
        # Older names of the same.
        *(
            "BSD",
            "BSD 3-Clause",
            "BSD License",
            "MIT License",
            "Apache Software License",
            "ISC License (ISCL)",
        ),
    }
)
_PIN = re.compile(r"^([a-z0-9.-]+)==(\S+)", re.MULTILINE)
_CLASSIFIER = "License :: OSI Approved :: "


class Command(BaseCommand):
    """Reads the metadata of the installed packages, and asks no package index."""

    help = "Check that the installed requirements are the pinned versions and have allowed licences."

    def handle(self, *args: Any, **options: Any) -> None:
        """Raises CommandError with a line for each fault."""
        pins = _PIN.findall((Path(settings.BASE_DIR) / "requirements.txt").read_text(encoding="utf-8"))
        faults = [fault for name, version in pins for fault in _faults(name, version)]
        if faults:
            raise CommandError("\n".join(faults))
        self.stdout.write(f"{len(pins)} pinned requirements have allowed licences")


def _faults(name: str, version: str) -> Iterator[str]:
    try:
        package = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return  # another operating system needs it
    if package["Version"] != version:
        yield f"{name}: {package['Version']} is installed, {version} is pinned"
    licences = set(licences_of(package))
    if not licences or not licences <= ALLOWED:
        yield f"{name}: the licence {', '.join(sorted(licences)) or 'is not named'} is not an allowed licence"


def licences_of(package: metadata.PackageMetadata) -> list[str]:
    """The names of the package's licences: an SPDX expression, else classifiers, else the older free text."""
    if "License-Expression" in package:
        return re.split(r" (?:AND|OR|WITH) ", re.sub("[()]", "", package["License-Expression"]))
    classifiers = package.get_all("Classifier") or []
    named = [name.removeprefix(_CLASSIFIER) for name in classifiers if name.startswith(_CLASSIFIER)]
    return named or [name for text in package.get_all("License") or [] for name in text.split(" OR ")]
