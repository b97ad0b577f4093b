"""A table of rows that one test goes through: every row is tried, and each that fails is named.

As `pytest.mark.parametrize`, which makes a test of each row: with its own fixtures, its own place in the
run of every worker, and several milliseconds for them. Take that one where rows need fixtures of their own
(`monkeypatch`, `settings`, a receiver, a transactional database) or are themselves long.
"""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from _pytest.mark.structures import ParameterSet
from django.db import connection, transaction

Test = TypeVar("Test", bound=Callable[..., object])
"""A test, or a class of tests."""

Names = str | Sequence[str]
Ids = Iterable[object] | Callable[[Any], object]
_LONGEST = 120
"""So many characters of a value name its row."""


def each(names: Names, rows: Iterable[Any], *, ids: Ids | None = None) -> Callable[[Test], Test]:
    """Call the test, or every test of the class, with each row's values under these names.

    What a row writes to the database is undone.
    Raises a group of what the failing rows raised, each with a note that names its row.
    """
    listed = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    table = [_row(listed, row) for row in rows]
    labels, shown = ([str(id_) for id_ in ids], None) if isinstance(ids, Iterable) else ([], ids)
    assert table, f"no rows of {names}"

    def decorate(test: Any) -> Any:
        if isinstance(test, type):
            for name, method in list(vars(test).items()):
                if name.startswith("test_"):
                    setattr(test, name, decorate(method))
            return test

        @functools.wraps(test)
        def run(*arguments: Any, **fixtures: Any) -> None:
            faults = []
            for number, (name, values) in enumerate(table):
                try:
                    with _undone():
                        test(*arguments, **fixtures, **values)
                except (Exception, pytest.fail.Exception) as fault:  # noqa: BLE001 - raised at the end, with all others
                    fault.add_note(
                        f"row {number}: {name or (labels[number] if labels else _name(values, shown))}"
                    )
                    faults.append(fault)
            if faults:
                raise BaseExceptionGroup(f"{len(faults)} of {len(table)} rows of {', '.join(listed)}", faults)

        signature = inspect.signature(test)
        left = [parameter for parameter in signature.parameters.values() if parameter.name not in listed]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]  # pytest reads it
        return run

    return decorate


def _row(names: Sequence[str], row: Any) -> tuple[str, dict[str, Any]]:
    """Its own name, if it has one, and its values by the names of the table."""
    made = ParameterSet.extract_from(row, force_tuple=len(names) == 1)
    assert not made.marks, "a row with marks is a test of its own: pytest.mark.parametrize"
    return str(made.id or ""), dict(zip(names, made.values, strict=True))


def _name(values: dict[str, Any], shown: Callable[[Any], object] | None) -> str:
    return ", ".join(f"{name}={str((shown or repr)(value))[:_LONGEST]}" for name, value in values.items())


@contextmanager
def _undone() -> Iterator[None]:
    """A test with a database has a transaction around it: each row has one in it."""
    if not connection.in_atomic_block:
        yield
        return
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
