"""Operators with one role, and their browsers."""

from typing import Any

from django.test import Client
from django.urls import reverse

from accesslist.models import User
from opsapi.roles import Role
from tests.factories.accesslist import UserFactory


def operator_with(role: Role, **place: Any) -> tuple[User, Client]:
    """A user with this role in `project=` or `org=`, or over the installation, who has logged in."""
    user: User = UserFactory.create()
    user.grants.create(role=role.value, **place)
    browser = Client()
    browser.force_login(user)
    return user, browser


def browser_with(role: Role, **place: Any) -> Client:
    """The browser alone of such an operator."""
    _, browser = operator_with(role, **place)
    return browser


def action_url(row: Any, name: str) -> str:
    """The page of an action for the row."""
    page = f"admin:{row._meta.app_label}_{row._meta.model_name}_do"
    return reverse(page, args=[row.pk, name])


def page_of(row: Any) -> str:
    """The row's page."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def ticks(holder: Any, *without: str) -> dict[str, list[str]]:
    """What the form of the roles of a user or key sends: all it offered, and ticks but for some roles."""
    offered = {str(grant.pk): grant.role for grant in holder.grants.order_by("id")}
    held = [number for number, role in offered.items() if role not in without]
    return {"offered_then": list(offered), "held": held}


def no_ticks(holder: Any) -> dict[str, list[str]]:
    """The form input of `ticks`, with every checkbox cleared."""
    return {**ticks(holder), "held": []}
