"""Cases of the OpenAPI document are answered.

The answers are held against the document by the client that sends them (`tests.client`).
"""

from typing import Any

import pytest
from hypothesis import given

from tests.each import each
from tests.hostile.assailant import Assailant
from tests.hostile.budget import LONG, examples, share
from tests.hostile.cases import NUMBER, PATHS, attempt_of, drawn, edges, operations

COVERED, DRAWN = 50, 30
"""How many cases of each kind are sent over all operations."""

STEP = 1 if LONG else 4
"""Cases are drawn for each of so many operations: to read the schema of one takes longer than its cases."""

pytestmark = pytest.mark.django_db


def test_they_equal_the_document() -> None:
    assert len(operations()) == NUMBER
    assert {operation.path for operation in operations()} == set(PATHS)


@each("path", PATHS)
def test_cases_created_of_the_schema_are_answered(assailant: Assailant, path: str) -> None:
    for operation in (operation for operation in operations() if operation.path == path):
        for case in edges(operation, share(COVERED, NUMBER)):
            send(assailant, case)
        if operation in operations()[::STEP]:
            _send_drawn(assailant, operation)


def _send_drawn(assailant: Assailant, operation: Any) -> None:
    @examples(share(DRAWN, NUMBER))
    @given(case=drawn(operation))
    def draw(case: Any) -> None:
        send(assailant, case)

    draw()


def send(assailant: Assailant, case: Any) -> None:
    """Hold the answer to a case against what every answer has to be."""
    method, target, body, headers = attempt_of(case, assailant.known)
    assailant.attempt(method, target, body, **headers)
