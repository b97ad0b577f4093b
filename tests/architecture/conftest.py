"""Fixtures handed on from the tests of the API."""

from tests.api.conftest import known

__all__ = ["known"]
