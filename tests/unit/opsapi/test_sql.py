"""Statements the ORM has no words for."""

from opsapi.sql import update_from_arrays


def test_many_rows_are_updated_from_one_array_for_each_column() -> None:
    assert update_from_arrays("a_table", {"down": "boolean", "version": "text"}) == (
        "UPDATE a_table AS stored SET down = changed.down, version = changed.version"
        " FROM (SELECT * FROM unnest(%(id)s::text[], %(down)s::boolean[], %(version)s::text[])"
        " LIMIT cardinality(%(id)s::text[])) AS changed (id, down, version) WHERE stored.id = changed.id"
    )
