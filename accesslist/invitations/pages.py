"""The pages of a person who opens the link of an invitation, below /admin/invitation/.

The token is the fragment of the link, which browsers do not send (`opsapi.setup_link`). The page sends it in
the body of a POST. Then a signed cookie of these pages replaces it, with the hash of its secret: it
survives a log-in, and no URL or log contains it.
"""

from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.auth import login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from accesslist.backends import user_with_password
from accesslist.invitations.changes import (
    Acceptance,
    LinkRefusedError,
    invitation_accept,
    invitation_accept_as_new,
)
from accesslist.invitations.forms import ExistingUserForm, InvitationTokenForm, InvitedUserForm
from accesslist.invitations.models import Invitation
from accesslist.invitations.rules import LinkFault, Proof, proof_of
from accesslist.invitations.store import invitation_proved, roles_split
from accesslist.login.attempts import attempt_give_back
from accesslist.metrics import FailedAuthentication, count_failure
from accesslist.principal import UserPrincipal
from accesslist.throttles import throttle
from accesslist.users.models import User
from opsapi import clock
from opsapi.api.addresses import client_address, counted_range, remote_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.forms import OpenForm
from opsapi.console.login_policy import LoginRefusedError, login_policy
from opsapi.console.site import name_actor, refuse_hosts_of_others
from opsapi.page_paths import INVITATION_PATH
from opsapi.roles import ROLE_WORDS, role_names

COOKIE = "opsapi_invitation"
PROOF_LASTS = timedelta(hours=1)
"""The time to accept after the link was opened."""
_SALT = "accesslist.invitations"  # cookies outlive the names of modules
_TITLE = "Invitation"
_WRONG = "Incorrect username or password."
_CODE_NEEDED = "Enter a code from your authenticator."

Page = Callable[[HttpRequest, Proof, Invitation], HttpResponse]


def _with_invitation(page: Page) -> Callable[[HttpRequest], HttpResponse]:
    """A page for visitors who opened a link that works. Others are asked for the token, or see the reason."""

    @never_cache
    @require_http_methods(["GET", "HEAD", "POST"])
    def answer(request: HttpRequest) -> HttpResponse:
        refuse_hosts_of_others(request)
        if first := login_policy().first_page(request):
            return redirect(first)
        proof = _proof_in(request)
        if proof is None:
            status = 200 if request.method != "POST" else 403
            return _page(request, "console/invitation_token.html", InvitationTokenForm(), status)
        invitation = invitation_proved(proof, clock.now())
        if isinstance(invitation, LinkFault):
            return _refused(request, invitation)
        try:
            return page(request, proof, invitation)
        except LinkRefusedError as refusal:
            return _refused(request, refusal.fault)

    return answer


@never_cache
@require_POST
def token_page(request: HttpRequest) -> HttpResponse:
    """Accept the token, and lead to the invitation."""
    refuse_hosts_of_others(request)
    form = InvitationTokenForm(request.POST)
    try:
        _count_attempt("invitation token", request)
    except ApiError as refusal:
        form.add_refusal(refusal)
        return _limited(_page(request, "console/invitation_token.html", form, refusal.status), refusal)
    proof = proof_of(form.cleaned_data["token"]) if form.is_valid() else None
    invitation = invitation_proved(proof, clock.now()) if proof else LinkFault.UNKNOWN
    if proof is None or isinstance(invitation, LinkFault):
        count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        return _refused(request, invitation if isinstance(invitation, LinkFault) else LinkFault.UNKNOWN)
    response = redirect("invitation")
    response.set_signed_cookie(
        COOKIE,
        f"{proof.invitation_id}.{proof.token_hash}",
        salt=_SALT,
        max_age=PROOF_LASTS,
        path=INVITATION_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def _start(request: HttpRequest, proof: Proof, invitation: Invitation) -> HttpResponse:
    """For somebody who is logged in, a button; for others, the form of a new account."""
    user = request.user
    if isinstance(user, User):
        if request.method != "POST":
            return _invitation_page(request, "console/invitation_accept.html", OpenForm(), invitation)
        return _accept_as(request, proof, invitation, user)
    if request.method != "POST":
        form = InvitedUserForm(address=invitation.email_address)
        return _invitation_page(request, "console/invitation.html", form, invitation)
    form = InvitedUserForm(request.POST, address=invitation.email_address)
    limited = None
    if form.is_valid():
        try:
            _count_attempt("invitation account", request)
            accepted = invitation_accept_as_new(
                proof=proof, new=form.new_user, remote_address=remote_address(request), now=clock.now()
            )
            return _let_in(request, invitation, accepted)
        except ApiError as refusal:
            form.add_refusal(refusal)
            limited = refusal if refusal.code is ErrorCode.RATE_LIMITED else None
    page = _invitation_page(request, "console/invitation.html", form, invitation)
    return _limited(page, limited) if limited else page


def _count_attempt(bucket: str, request: HttpRequest) -> None:
    """Raises: ApiError: RATE_LIMITED, after OPSAPI_LOGIN_ATTEMPTS attempts of the address in a minute."""
    address = counted_range(client_address(request))
    throttle(f"{bucket} {address}", settings.OPSAPI_LOGIN_ATTEMPTS, clock.now())


def _limited(page: HttpResponse, refusal: ApiError) -> HttpResponse:
    page.status_code = refusal.status
    for name, value in refusal.headers.items():
        page[name] = value
    return page


def _accept_as(request: HttpRequest, proof: Proof, invitation: Invitation, user: User) -> HttpResponse:
    """Accept as the user of this session."""
    form = OpenForm(request.POST)
    actor = UserPrincipal(user, remote_address(request)).actor()
    try:
        accepted = invitation_accept(proof=proof, actor=actor, now=clock.now())
    except ApiError as refusal:
        form.add_refusal(refusal)
        return _invitation_page(request, "console/invitation_accept.html", form, invitation)
    return _done(request, invitation, accepted)


def _existing(request: HttpRequest, proof: Proof, invitation: Invitation) -> HttpResponse:
    """The log-in of somebody with an account, also of an account that has lost all its roles."""
    if request.user.is_authenticated:
        return redirect("invitation")
    form = ExistingUserForm(request.POST if request.method == "POST" else None)
    status = 200
    if form.is_valid():
        try:
            user = _logged_in(request, form)
            if user is not None:
                actor = UserPrincipal(user, remote_address(request)).actor()
                accepted = invitation_accept(proof=proof, actor=actor, now=clock.now())
                return _let_in(request, invitation, accepted)
        except LoginRefusedError as refusal:
            form.add_error(None, refusal)
            status = 429 if refusal.retry_after else 403
        except ApiError as refusal:
            form.add_refusal(refusal)
    return _invitation_page(request, "console/invitation_existing.html", form, invitation, status)


def _logged_in(request: HttpRequest, form: ExistingUserForm) -> User | None:
    """The user with this name, password and code; None if one is wrong, which the form then shows.

    Raises:
        LoginRefusedError: too many attempts failed.
    """
    typed, policy = form.cleaned_data, login_policy()
    attempt = policy.admit(request, typed["username"])
    user = user_with_password(typed["username"], typed["password"])
    if user is None:
        count_failure(FailedAuthentication.CONSOLE_CREDENTIALS)
        form.add_error(None, ValidationError(_WRONG))
        return None
    if policy.wants_code(user) and not _code_taken(request, form, user):
        return None
    attempt_give_back(attempt)
    return user


def _code_taken(request: HttpRequest, form: ExistingUserForm, user: User) -> bool:
    code = form.cleaned_data["code"]
    if not code:
        form.add_error("code", ValidationError(_CODE_NEEDED))
        return False
    try:
        login_policy().take_code(request, user, code)
    except LoginRefusedError:
        raise
    except ValidationError as wrong:
        form.add_error("code", wrong)
        return False
    return True


def _let_in(request: HttpRequest, invitation: Invitation, accepted: Acceptance) -> HttpResponse:
    """Log the user in, unless nobody may log in."""
    if login_policy().is_closed():
        return _done(request, invitation, accepted)
    request.session.flush()  # as at a log-in: others may know its key
    login(request, accepted.user)
    name_actor(request)
    response = _done(request, invitation, accepted)
    login_policy().let_in(request, response, {})
    return response


def _done(request: HttpRequest, invitation: Invitation, accepted: Acceptance) -> HttpResponse:
    given = role_names((grant.role for grant in accepted.given), conjunction="and")
    messages.success(request, f"You joined {invitation.place}. Your roles there: {given}.")
    if accepted.lost:
        lost = role_names((grant.role for grant in accepted.lost), conjunction="and")
        messages.warning(request, f"Not given, because {invitation.inviter_name} no longer can: {lost}.")
    return _forgotten(redirect("admin:index"))


def _proof_in(request: HttpRequest) -> Proof | None:
    """The proof in the cookie; None without a valid cookie."""
    value = request.get_signed_cookie(COOKIE, default="", salt=_SALT, max_age=PROOF_LASTS) or ""
    invitation_id, _, token_hash = value.partition(".")
    return Proof(invitation_id, token_hash) if token_hash else None


def _refused(request: HttpRequest, fault: LinkFault) -> HttpResponse:
    """Say why the link does not work; 404 for a link that never was, 410 for the others."""
    status = 404 if fault is LinkFault.UNKNOWN else 410
    context = {**admin.site.each_context(request), "title": _TITLE, "fault": fault.value}
    page = TemplateResponse(request, "console/invitation_refused.html", context, status=status)
    return _forgotten(page)


def _forgotten(response: HttpResponse) -> HttpResponse:
    response.delete_cookie(COOKIE, path=INVITATION_PATH, samesite="Lax")
    return response


def _invitation_page(
    request: HttpRequest, template: str, form: OpenForm, invitation: Invitation, status: int = 200
) -> HttpResponse:
    given, lost = roles_split(invitation)
    return _page(
        request,
        template,
        form,
        status,
        invitation=invitation,
        given=[ROLE_WORDS[grant.role] for grant in given],
        lost=[ROLE_WORDS[grant.role] for grant in lost],
    )


def _page(
    request: HttpRequest, template: str, form: OpenForm, status: int, **context: object
) -> HttpResponse:
    shared = {**admin.site.each_context(request), "title": _TITLE, "form": form}
    return TemplateResponse(request, template, {**shared, **context}, status=status)


urlpatterns = [
    path("", _with_invitation(_start), name="invitation"),
    path("token/", token_page, name="invitation_token"),
    path("existing/", _with_invitation(_existing), name="invitation_existing"),
]
