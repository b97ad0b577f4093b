"""Being logged in: the login page is for the tests that are about it."""

from django.conf import settings
from django.test import Client
from playwright.sync_api import BrowserContext

from accesslist.models import User


def enter(context: BrowserContext, url: str, user: User) -> None:
    """Give the browser a session of the user, as if they had come by the login page."""
    session = Client()
    session.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": session.cookies[name].value, "url": url}])
