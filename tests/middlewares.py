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

from opsapi.static_files import StaticFiles

_CHAIN = (
    "_middleware_chain",
    "_view_middleware",
    "_template_response_middleware",
    "_exception_middleware",
)


@contextmanager
def loaded_once() -> Iterator[None]:
    """In the block they are loaded only after a setting changed: loading costs more than most requests.

    The static files, which take most of that time, are read again only if another setting changed than ours:
    whitenoise reads none of ours.
    """
    load, read_file = BaseHandler.load_middleware, StaticFiles.get_static_file
    loaded: dict[bool, BaseHandler] = {}
    files: dict[tuple[str, str], Any] = {}

    def take(handler: BaseHandler, is_async: bool = False) -> None:
        if is_async in loaded:
            for name in _CHAIN:
                setattr(handler, name, getattr(loaded[is_async], name))
        else:
            load(handler, is_async)
            loaded[is_async] = handler

    def take_file(reader: StaticFiles, path: str, url: str, stat_cache: Any = None) -> Any:
        if (path, url) not in files:
            files[path, url] = read_file(reader, path, url, stat_cache)
        return files[path, url]

    def forget(*, setting: str, **_: Any) -> None:
        loaded.clear()
        if not setting.startswith("OPSAPI_"):
            files.clear()

    setting_changed.connect(forget)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseHandler, "load_middleware", take)
        patch.setattr(StaticFiles, "get_static_file", take_file)
        yield
    setting_changed.disconnect(forget)
