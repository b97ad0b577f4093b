"""A page that makes something does so once: sent again, as by a browser that reloads, it makes nothing more.

Each such page bears a token, which its session keeps with what came of it.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.http import HttpRequest

ONCE = "once"
"""The field that bears the token."""
MOST_PAGES = 50
"""So many pages of a session are remembered, the newest."""
NOT_REMEMBERED = "This form has expired and nothing was changed. Send it again."
_PAGES = "pages"
_BYTES = 16
Pages = dict[str, list[str] | None]
"""What came of each page, by its token: where it led and what was told; None for one that is to be used."""


@contextmanager
def pages_of(request: HttpRequest) -> Iterator[Pages]:
    """The pages of the session that make something; kept when the block ends, unless it fails.

    Other requests of the session wait meanwhile: a page may be sent twice at a time.
    """
    session: Any = request.session
    with transaction.atomic():
        session.hold()
        pages: Pages = dict(session.get(_PAGES, {}))
        yield pages
        session[_PAGES] = dict(list(pages.items())[-MOST_PAGES:])
        session.save()
    # It is saved: nothing more is to be written when the answer is sent.
    session.modified = False


def token_of(request: HttpRequest) -> str:
    """The token of the page to be shown: the one it was sent with while that is to be used, or a new one."""
    with pages_of(request) as pages:
        sent = sent_token(request)
        if is_unused(pages, sent):
            return sent
        token = secrets.token_urlsafe(_BYTES)
        pages[token] = None
        return token


def is_unused(pages: Pages, token: str) -> bool:
    """Whether it is of a page that is to be used yet."""
    return token in pages and pages[token] is None


def sent_token(request: HttpRequest) -> str:
    """The token that the page was sent with; empty when it bears none."""
    return request.POST.get(ONCE, "")
