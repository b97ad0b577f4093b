"""Labels that agents give to the hosts of their reports: allowed names and values. Pure.

Prometheus shows them next to the labels of service discovery, so the names are names of Prometheus
(https://prometheus.io/docs/concepts/data_model/). The agent imports this module too: it runs on Python 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MOST_LABELS = 16
LONGEST_VALUE = 255
LARGEST_LABELS = 1024
"""The most bytes that all names and values have together, in UTF-8: each host stores its labels."""

NAME_PATTERN = "[a-zA-Z_][a-zA-Z0-9_]{0,62}"
RESERVED_NAMES = frozenset({"group_id", "group_name", "org_id", "process_port", "cl_name", "rs_nm"})
"""The labels that service discovery computes."""

LabelSets = tuple[tuple[str, ...], ...]
"""The labels of several hosts, each label as `name=value`. Hosts with equal labels are there once."""

_RESERVED_PREFIX = "__"
# Also line separators, and lone surrogates, which are not text.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def size_fault(labels: Mapping[str, str]) -> str | None:
    """Return why labels with allowed names and values are too large together; None if they are allowed."""
    size = sum(len(f"{name}{value}".encode()) for name, value in labels.items())
    if size > LARGEST_LABELS:
        return f"must have names and values of at most {LARGEST_LABELS} bytes together"
    return None


def name_fault(name: str) -> str | None:
    """Return why the name is not allowed; None if it is allowed."""
    if not re.fullmatch(NAME_PATTERN, name):
        return "must have 1 to 63 letters a-z and A-Z, digits and underscores, and not begin with a digit"
    if name.startswith(_RESERVED_PREFIX):
        return "must not begin with two underscores, which Prometheus reserves"
    if name in RESERVED_NAMES:
        return "is reserved for service discovery: choose another name"
    return None


def value_fault(value: str) -> str | None:
    """Return why the value is not allowed; None if it is allowed."""
    if not 1 <= len(value) <= LONGEST_VALUE:
        return f"must have 1 to {LONGEST_VALUE} characters"
    if _CONTROL.search(value):
        return "must not contain control characters"
    return None


def label_texts(labels: Mapping[str, str] | None) -> tuple[str, ...]:
    """Return the labels as `name=value`, by name."""
    return tuple(f"{name}={value}" for name, value in sorted((labels or {}).items()))


def is_label(text: str) -> bool:
    """Return whether a label can be this text, as `name=value`."""
    name, _, value = text.partition("=")
    return name_fault(name) is None and value_fault(value) is None
