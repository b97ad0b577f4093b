"""Typing what the log-in asks for, and where the account's pages are."""

from typing import Any

from django.test import Client

from tests.factories.accesslist import PASSWORD

LOGIN, CODE, ACCOUNT = "/admin/login/", "/admin/login/code/", "/admin/account/"
BEGIN, SETUP = f"{ACCOUNT}second-factor/", f"{ACCOUNT}second-factor/setup/"
RENEW, REMOVE = f"{ACCOUNT}second-factor/recovery-codes/", f"{ACCOUNT}second-factor/remove/"
CHANGE, SESSIONS = f"{ACCOUNT}password/", f"{ACCOUNT}sessions/"


def type_password(browser: Client, password: str = PASSWORD, **query: str) -> Any:
    """The first step of a log-in as ada."""
    return browser.post(LOGIN, {"username": "ada", "password": password}, query_params=query)


def type_code(browser: Client, code: str, **options: Any) -> Any:
    """The second step."""
    return browser.post(CODE, {"code": code}, **options)


def errors_of(answer: Any) -> dict[str, list[str]]:
    """The errors of the form, by field."""
    return {name: list(errors) for name, errors in answer.context["form"].errors.items()}
