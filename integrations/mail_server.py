"""The page of the mail server, for Global owners: its settings, and a test message."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.core.mail import EmailMessage
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path
from django.utils.text import capfirst
from django.views.decorators.cache import never_cache

from accesslist.changes import acting
from accesslist.throttles import throttle
from automation.agents.store import is_first_setup
from events.log.changes import NewEvent
from events.types import EventType
from integrations.channels.email import email_failure
from integrations.mail_settings import mail_server_is_set, mail_server_url
from integrations.messages import printable
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.links import base_url
from opsapi.api.principal import Actor
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import add_url, creation_url
from opsapi.console.forms import OpenForm
from opsapi.outbound.errors import MailError
from opsapi.outbound.mail import AUTOMATIC, mail_send
from opsapi.program import env_file
from opsapi.redaction import MASK
from opsapi.roles import Role

_LONGEST_ANSWER = 300


@dataclass(frozen=True, slots=True)
class MailServerTest:
    """The result of a test message; `fault` is None if the mail server accepted it."""

    to: str
    fault: str | None = None


def mail_server_test(*, to: str, sent_from: str, actor: Actor, now: datetime) -> MailServerTest:
    """Send a message to one address. Wait for the mail server for at most REQUEST_SECONDS.

    `sent_from`: the URL of the platform, for the text. The answer of the server is quoted, because only
    Global owners see it.

    Raises:
        ApiError: RATE_LIMITED, after OPSAPI_RATE_TEST_NOTIFICATIONS messages in a minute.
    """
    throttle("test messages of the mail server", settings.OPSAPI_RATE_TEST_NOTIFICATIONS, now)
    with acting(actor, now) as act:
        act.record(NewEvent(event_type=EventType.MAIL_SERVER_TESTED_AUDIT))
    mail = EmailMessage(
        subject="[TEST] Ops API can send e-mail",
        body=f"This is a test of the mail server, sent by {actor.name} from {sent_from}.\n",
        to=[to],
        headers=dict(AUTOMATIC),
    )
    try:
        mail_send(mail)
    except (OSError, ValueError) as error:  # MailError is an OSError.
        return MailServerTest(to, printable(_fault(error), _LONGEST_ANSWER))
    return MailServerTest(to)


def _fault(error: OSError | ValueError) -> str:
    if not isinstance(error, MailError):
        return f"Sending failed: {str(error) or type(error).__name__}"
    failure = email_failure(error)
    secrets = (settings.EMAIL_HOST_PASSWORD,)
    text = error.text.replace(secrets[0], MASK) if secrets[0] else error.text
    said = text or failure.detail
    return capfirst(f"{failure.reason}{failure.joint}{said}" if said else failure.reason)


_ONLY = (Role.GLOBAL_OWNER,)


class RecipientForm(OpenForm):
    """The recipient of a test message."""

    address = forms.EmailField(
        max_length=254,
        label="Send a test message to",
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )


@never_cache
def mail_server_page(request: HttpRequest) -> HttpResponse:
    """The settings of the mail server, and the result of a test message."""
    operator_of(request).authorise(_ONLY)
    if request.method != "POST":
        typed = {"address": getattr(request.user, "email_address", None)}
        return _page(request, RecipientForm(initial=typed))
    form = RecipientForm(request.POST)
    if not form.is_valid():
        return _page(request, form)
    try:
        test = mail_server_test(
            to=form.cleaned_data["address"],
            sent_from=base_url(request),
            actor=operator_of(request).actor(),
            now=clock.now(),
        )
    except ApiError as refusal:
        form.add_refusal(refusal)
        return _page(request, form)
    return _page(request, form, test=test)


def _page(request: HttpRequest, form: OpenForm, **result: Any) -> HttpResponse:
    context = {
        **admin.site.each_context(request),
        "title": "Mail server",
        "form": form,
        "settings": _settings(),
        "is_default": not mail_server_is_set(),
        "settings_file": os.environ.get("OPSAPI_ENV_FILE") or env_file(),
        "is_setup": is_first_setup(operator_of(request).grants),
        "next_url": creation_url("alerting.alertconfig", "presets"),
        "add_key_url": add_url("accesslist.apikey"),
    }
    return TemplateResponse(request, "console/mail_server.html", {**context, **result})


def _settings() -> Mapping[str, str]:
    user = settings.EMAIL_HOST_USER
    return {
        "Mail server": mail_server_url(),
        "Log-in": f"as {user}, {'with' if settings.EMAIL_HOST_PASSWORD else 'without'} a password"
        if user
        else "none",
        "Sender": settings.DEFAULT_FROM_EMAIL,
    }


_guarded: Callable[..., HttpResponse] = admin.site.admin_view(mail_server_page)

urlpatterns = [path("", _guarded, name="mail_server")]
