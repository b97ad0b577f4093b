"""The receivers these tests use."""

from tests.receivers import http_receiver

__all__ = ["http_receiver"]
