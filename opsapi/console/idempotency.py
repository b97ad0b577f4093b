"""A page that creates something does so once, even if a browser submits it again.

Each displayed page has a token. The session stores the result of the page under the token.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import transaction
from django.http import HttpRequest

TOKEN_FIELD = "once"  # noqa: S105 - a name
"""The field with the token."""
MOST_PAGES = 50
"""Number of pages remembered per session, the newest."""
PAGE_FORGOTTEN = "This form has expired and nothing was changed. Send it again."
_PAGES = "pages"
_BYTES = 16
Pages = dict[str, list[str] | None]
"""The result of each page by token: where it led and the message; None if unused."""


@contextmanager
def pages_of(request: HttpRequest) -> Iterator[Pages]:
    """Yield the session's pages that create something, and store them if the block succeeds.

    Other requests of the session wait, because a page may be submitted twice at the same time.
    """
    session: Any = request.session
    with transaction.atomic():
        session.hold()
        pages: Pages = dict(session.get(_PAGES, {}))
        yield pages
        session[_PAGES] = dict(list(pages.items())[-MOST_PAGES:])
        session.save()
    # The session is saved, so nothing is written again with the response.
    session.modified = False


def token_of(request: HttpRequest) -> str:
    """The token of the page: the submitted one while it is unused, otherwise a new one."""
    with pages_of(request) as pages:
        sent = sent_token(request)
        if is_unused(pages, sent):
            return sent
        token = secrets.token_urlsafe(_BYTES)
        pages[token] = None
        return token


def is_unused(pages: Pages, token: str) -> bool:
    """Whether the token belongs to an unused page."""
    return token in pages and pages[token] is None


def sent_token(request: HttpRequest) -> str:
    """The submitted token; empty if missing."""
    return request.POST.get(TOKEN_FIELD, "")
