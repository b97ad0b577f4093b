"""How long the HTML of a full page of each list is, compressed."""

import pytest
from django.contrib import admin
from django.test import Client

from opsapi.console.admin_urls import list_url
from opsapi.console.model_admin import ConsoleAdmin
from tests.admin.rows import many

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MOST_BYTES = 25_000  # of 40 kB for a page of twice as many rows


def test_no_full_page_of_a_list_is_long(console: Client) -> None:
    many(ConsoleAdmin.list_per_page)
    sizes = {}
    for model in admin.site._registry:
        answer = console.get(list_url(model), headers={"Accept-Encoding": "gzip"})
        assert (answer.status_code, answer["Content-Encoding"]) == (200, "gzip")
        sizes[model.__name__] = len(answer.content)
    assert max(sizes.values()) < MOST_BYTES, sizes
    assert len(sizes) > 20
