"""Lists are written as psycopg writes them (`opsapi.postgresql.base`)."""

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from psycopg.adapt import PyFormat, Transformer
from psycopg.types.array import ListDumper

from opsapi.postgresql import base
from opsapi.postgresql.base import QuickListDumper
from opsapi.sql import fetch_rows

_TEXT = st.text(alphabet='"\\,{} aé\n', max_size=10)


@given(
    st.recursive(
        st.lists(_TEXT | st.none(), min_size=1), lambda inner: st.lists(inner, min_size=1), max_leaves=4
    )
)
def test_a_list_is_written_as_psycopg_writes_it(value: list[object]) -> None:
    written = [
        dumper(list, Transformer()).upgrade(value, PyFormat.TEXT).dump(value)
        for dumper in (ListDumper, QuickListDumper)
    ]
    assert written[0] == written[1]


def test_psycopg_uses_the_replaced_pattern(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base._Escape, "sub", lambda *_: b"replaced")
    written = QuickListDumper(list, Transformer()).upgrade(['"'], PyFormat.TEXT).dump(['"'])
    assert written == b'{"replaced"}'


@pytest.mark.django_db
def test_connections_use_the_quick_dumper() -> None:
    connection.ensure_connection()
    assert connection.connection.adapters.get_dumper(list, PyFormat.TEXT) is QuickListDumper
    value = ['{"a": "\\\\ \\" é"}', None, "", "NULL", "null", "\\"]
    assert fetch_rows("SELECT %s::text[]", [value]) == [(value,)]
