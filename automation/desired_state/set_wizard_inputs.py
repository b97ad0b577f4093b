"""The inputs of the wizard of a replica set."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from django import forms
from django.core.exceptions import ValidationError

from automation.desired_state.document.replica_sets import (
    FEWEST_WITH_ARBITER,
    LOG_ROTATION,
    MOST_MACHINES,
)
from automation.desired_state.document.schema import SCHEMA
from automation.plan.versions import SERIES, newest, series
from opsapi.console.forms import VERBATIM, line_field
from opsapi.hostnames import LONGEST_NAME, canonical_hostname

OTHER_VERSION: Final = "new"
"""The choice of a version that the configuration does not have yet."""
NEW_VERSION: Final = ("new_version", "url", "commit", "platform", "architecture")
"""The inputs of such a version."""
NAMES_ID: Final = "automation-machines"
"""The ID of the names that the inputs of machines offer."""
_LONGEST_SET, _LONGEST_PATH, _LONGEST_URL = 60, 400, 1000
_DEFAULT_BASE = "/srv/mongodb"
_BELOW = "It must be below a directory of OPSAPI_AGENT_AUTOMATION_DIRS on each machine."
_WRONG_PORT = "Enter a port from 1 to 65535."
_SCHEMES = ("https", "http", "file")


class MachineField(forms.CharField):
    """A host name or an IP address, in its canonical form."""

    def to_python(self, value: Any) -> str:
        """The name; empty without a name.

        Raises:
            ValidationError: of Django's forms.
        """
        text = str(super().to_python(value) or "").strip()
        if not text:
            return ""
        if (hostname := canonical_hostname(text)) is None:
            raise ValidationError("Enter a host name (RFC 1123) or an IP address, without a port.")
        return hostname


def machine_input(place: int) -> str:
    """Return the name of the input of a machine, counted from 0."""
    return f"machine_{place + 1}"


def wizard_inputs(
    *, versions: Sequence[str], machines: Sequence[str], bases: Sequence[str], is_first: bool
) -> dict[str, forms.Field]:
    """Return the inputs by name.

    `versions`: the versions of the configuration. `machines`: the initial names. `bases`: the directories of
    data in the configuration. `is_first`: whether no configuration is published yet.
    """
    inputs: dict[str, forms.Field] = {"name": _name(), "port": _port()}
    if versions:
        inputs["version"] = forms.ChoiceField(
            label="MongoDB version",
            choices=[*((name, name) for name in versions), (OTHER_VERSION, "Another version")],
            initial=_newest(versions),
            help_text="Its series is also the feature compatibility version.",
        )
    inputs |= _version(is_required=not versions)
    for place in range(MOST_MACHINES):
        inputs[machine_input(place)] = _machine(place, machines[place] if place < len(machines) else None)
    inputs["has_arbiter"] = forms.BooleanField(
        label="The last machine is an arbiter",
        required=False,
        help_text=f"It votes and has no data. The set then needs {FEWEST_WITH_ARBITER} machines or more.",
    )
    about_data = f"Each process gets its own directory in it. {_BELOW}"
    inputs["data_base"] = _directory("Data directory", about_data, next(iter(bases), _DEFAULT_BASE))
    if is_first:
        downloads = f"{_DEFAULT_BASE}/downloads"
        inputs["download_base"] = _directory("Directory of downloads", _BELOW, downloads)
    size, hours = LOG_ROTATION["sizeThresholdMB"], LOG_ROTATION["timeThresholdHrs"]
    inputs["rotates_logs"] = forms.BooleanField(
        label="Rotate logs",
        required=False,
        initial=True,
        help_text=f"Logs are rotated at {size} MB or after {hours} hours.",
    )
    return inputs


def _name() -> forms.Field:
    return forms.RegexField(
        r"\A[A-Za-z0-9][A-Za-z0-9_-]*\Z",
        label="Name of the replica set",
        max_length=_LONGEST_SET,
        help_text="For example orders, with the processes orders_1, orders_2 …",
        error_messages={"invalid": "Use letters (a-z, A-Z), digits, and the characters _ and -."},
        widget=forms.TextInput({**VERBATIM, "autocomplete": "off"}),
    )


def _port() -> forms.Field:
    return forms.IntegerField(
        label="Port",
        min_value=1,
        max_value=65_535,
        initial=27_017,
        error_messages=dict.fromkeys(("invalid", "min_value", "max_value"), _WRONG_PORT),
        widget=forms.TextInput({"inputmode": "numeric"}),
    )


def _version(*, is_required: bool) -> dict[str, forms.Field]:
    architectures = SCHEMA["$defs"]["build"]["properties"]["architecture"]["enum"]
    name = line_field(
        50,
        label="Version",
        attrs={**VERBATIM, "placeholder": "6.0.5"},
        help_text=f"Its series, from {SERIES[0]} to {SERIES[-1]}, is also the feature compatibility version.",
    )
    url = line_field(
        _LONGEST_URL,
        label="Download URL",
        attrs={**VERBATIM, "placeholder": "https://fastdl.mongodb.org/linux/mongodb-linux-….tgz"},
        help_text="The address of the .tgz archive, on the download page of MongoDB.",
    )
    url.validators.append(_is_download)
    commit = forms.RegexField(
        r"\A[0-9a-fA-F]{40}\Z",
        label="Commit (gitVersion)",
        help_text="The program must say this commit: mongod --version prints it as gitVersion.",
        error_messages={"invalid": "Enter the 40 hexadecimal digits of the commit."},
        widget=forms.TextInput({**VERBATIM, "placeholder": "40 hexadecimal digits"}),
    )
    platform = line_field(40, label="Platform", initial="linux", attrs=VERBATIM)
    architecture = forms.ChoiceField(
        label="Architecture", choices=[(name, name) for name in architectures], initial=architectures[0]
    )
    inputs = dict(zip(NEW_VERSION, (name, url, commit, platform, architecture), strict=True))
    for field in inputs.values():
        field.required = is_required
    return inputs


def _machine(place: int, name: str | None) -> forms.Field:
    attributes = {"list": NAMES_ID, "autocomplete": "off", "placeholder": f"db{place + 1}.example.com"}
    return MachineField(
        label=f"Machine {place + 1}",
        max_length=LONGEST_NAME,
        required=False,
        initial=name,
        widget=forms.TextInput({**VERBATIM, **attributes}),
    )


def _directory(label: str, help_text: str, initial: str) -> forms.Field:
    field = line_field(_LONGEST_PATH, label=label, help_text=help_text, initial=initial, attrs=VERBATIM)
    field.validators.append(_is_directory)
    return field


def _is_directory(path: str) -> None:
    """An absolute directory without steps back, so that its name says where it is."""
    if not path.startswith("/") or not path.strip("/"):
        raise ValidationError("Enter an absolute directory, such as /srv/mongodb.")
    if {".", ".."} & set(path.split("/")):
        raise ValidationError("Enter the directory without the parts . and ..")


def _is_download(url: str) -> None:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    has_place = bool(parts.netloc) or parts.scheme == "file"
    if parts.scheme not in _SCHEMES or not has_place or not parts.path.strip("/"):
        raise ValidationError(f"Enter the URL of an archive. Allowed: {', '.join(_SCHEMES)}.")


def _newest(versions: Sequence[str]) -> str:
    """The newest version of the newest series."""
    return newest(versions, max(series(name) or 0 for name in versions))
