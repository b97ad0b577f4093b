"""Fixtures handed on from the tests of the API."""

from tests.api.conftest import known, known_to_all

__all__ = ["known", "known_to_all"]
