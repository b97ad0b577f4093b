"""The page of the mail server, for Global Owners; the second step of the first set-up."""

import os
from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.cache import never_cache

from automation.selectors.agents import any_agent_exists
from integrations.mail_server.send import mail_server_test
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.links import base_url
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import add_url_named
from opsapi.console.forms import OpenForm
from opsapi.environment import READ
from opsapi.hostnames import host_and_port
from opsapi.program import env_file
from opsapi.roles import Role

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
    groups = operator_of(request).groups()
    context = {
        **admin.site.each_context(request),
        "title": "Mail server",
        "form": form,
        "settings": _settings(),
        "is_default": _url() == READ["EMAIL_URL"].default,
        "settings_file": os.environ.get("OPSAPI_ENV_FILE") or env_file(),
        "is_setup": not any_agent_exists(),
        "add_agent_url": add_url_named(
            "automation.agent", **({"group": groups[0].id} if len(groups) == 1 else {})
        ),
        "add_key_url": add_url_named("accesslist.apikey"),
    }
    return TemplateResponse(request, "console/mail_server.html", {**context, **result})


def _settings() -> Mapping[str, str]:
    """The settings in force, without the password."""
    user = settings.EMAIL_HOST_USER
    return {
        "Mail server": _url(),
        "Log-in": f"as {user}, {'with' if settings.EMAIL_HOST_PASSWORD else 'without'} a password"
        if user
        else "none",
        "Sender": settings.DEFAULT_FROM_EMAIL,
    }


def _url() -> str:
    scheme = "smtp+ssl" if settings.EMAIL_USE_SSL else "smtp+tls" if settings.EMAIL_USE_TLS else "smtp"
    return f"{scheme}://{host_and_port(settings.EMAIL_HOST, settings.EMAIL_PORT)}"
