"""Reading pages of the console."""

from typing import Any

from django.contrib import admin
from django.test import Client

from opsapi.console.model_admin import ConsoleAdmin


def text_of(answer: Any) -> str:
    """What an answer holds."""
    text: str = answer.content.decode()
    return text


def shown(browser: Client, url: str) -> str:
    """What a page says that is there."""
    answer = browser.get(url)
    assert answer.status_code == 200, url
    return text_of(answer)


def is_in(browser: Client, **headers: str) -> bool:
    """Whether the console lets this browser in. The overview would say the same, and takes longer."""
    status: int = browser.get("/admin/jsi18n/", headers=headers).status_code
    return status == 200


def admin_of(name: str) -> ConsoleAdmin:
    """What shows a model, by the model's label."""
    found = next(pages for model, pages in admin.site._registry.items() if model._meta.label_lower == name)
    assert isinstance(found, ConsoleAdmin)
    return found
