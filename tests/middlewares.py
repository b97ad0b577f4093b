"""The middlewares loaded once for all clients inside the test process, as a server loads them once.

A test that replaces a middleware, or what one reads when it is created, sends `setting_changed` (or changes a
setting with `settings`) before and after: what was loaded is forgotten then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.handlers.base import BaseHandler
from django.core.signals import setting_changed

_CHAIN = (
    "_middleware_chain",
    "_view_middleware",
    "_template_response_middleware",
    "_exception_middleware",
)


@contextmanager
def loaded_once() -> Iterator[None]:
    """In the block they are loaded only after a setting changed: loading costs more than most requests."""
    load = BaseHandler.load_middleware
    loaded: dict[bool, BaseHandler] = {}

    def take(handler: BaseHandler, is_async: bool = False) -> None:
        if is_async in loaded:
            for name in _CHAIN:
                setattr(handler, name, getattr(loaded[is_async], name))
        else:
            load(handler, is_async)
            loaded[is_async] = handler

    def forget(**_: Any) -> None:
        loaded.clear()

    setting_changed.connect(forget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseHandler, "load_middleware", take)
        yield
    setting_changed.disconnect(forget)
