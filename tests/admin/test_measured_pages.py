"""The pages of the console whose cost is measured (`tests.budgets`) refuse none of the inputs."""

from itertools import product
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.test import Client

from accesslist.models import Project
from tests.budgets.operations import OPERATIONS, Operation

pytestmark = pytest.mark.django_db
PAGES = [each for each in OPERATIONS if each.name in {"search in the console", "events as CSV"}]


@pytest.mark.parametrize("operation", PAGES, ids=lambda operation: operation.name)
def test_every_input_is_answered(project: Project, console: Client, operation: Operation) -> None:
    tenant = cast("Any", SimpleNamespace(id=project.id))
    for values in product(*operation.choices.values()):
        genes = dict(zip(operation.choices, values, strict=True))
        call = operation.prepare(cast("Any", None), tenant, genes)
        answer: Any = console.get(call.path)
        assert answer.status_code == 200, genes
        if answer.streaming:
            b"".join(answer.streaming_content)
