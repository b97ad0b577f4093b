"""Ranges in the database (opsapi.fields.CidrField)."""

import pytest

from accesslist.access_lists.rules import read_range
from accesslist.models import AccessListEntry
from opsapi.sql import fetch_rows
from tests.each import each
from tests.factories.accesslist import make_entry


@pytest.mark.django_db
@each(
    ("cidr_block", "of_postgresql"),
    [
        ("192.0.2.0/24", "192.0.2.0/24"),
        ("2001:db8::/32", "2001:db8::/32"),
        ("::102:300/120", "::1.2.3.0/120"),
        ("::102:304/128", "::1.2.3.4/128"),
    ],
)
def test_a_range_comes_back_as_it_went_in(cidr_block: str, of_postgresql: str) -> None:
    make_entry(cidr_block)
    assert fetch_rows("SELECT cidr_block::text FROM accesslist_accesslistentry") == [(of_postgresql,)]
    stored = AccessListEntry.objects.get().cidr_block
    assert stored == cidr_block == read_range(of_postgresql)
    assert AccessListEntry.objects.filter(cidr_block=cidr_block).exists()
