"""The console and odd addresses in a browser: pages, refusals and redirects, never a fault."""

import random
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from pytest_django import Settings

from accesslist.models import Project, User
from tests.admin.rows import fill, make_operator, record_event
from tests.each import each
from tests.hostile.budget import COUNTED, budget
from tests.hostile.requests import ODD_QUERIES, ODD_SEGMENTS, ODD_TEXTS

PAGES = [f"/admin/{model._meta.app_label}/{model._meta.model_name}" for model in admin.site._registry]
RecordProperty = Callable[[str, object], None]
PER_PAGE = 1
NAMES = ["q", "p", "o", "e", "all", "_popup", "_to_field", "_changelist_filters", "id__exact", "next"]
NAMES += ["created__gte", "created__range", "group__org__name", "status__exact", "pk__in", "username"]
FORM = "application/x-www-form-urlencoded"
COOKIES = ['"\\000aaaaaaaaaa"', "a" * 4000, "a" * 32, "é" * 10, "'; --aaaaaaa", "", '"\\377\\377\\377aaaaa"']
pytestmark = [
    pytest.mark.django_db,
    # A date typed into the address bar has no zone: Django takes the console's, and says so.
    pytest.mark.filterwarnings("ignore:DateTimeField .* received a naive datetime:RuntimeWarning"),
]


@pytest.fixture
def operator(project: Project) -> User:
    """A Global owner; something of everything is there."""
    fill(project)
    record_event(project)
    return make_operator()


@each("page", PAGES)
def test_odd_addresses_are_answered(operator: User, page: str, record_property: RecordProperty) -> None:
    browser = Client(raise_request_exception=False)
    browser.force_login(operator)
    rng = random.Random(page)
    for _ in range(budget(PER_PAGE)):
        odd = rng.choice(
            ["", "", f"{rng.choice(ODD_SEGMENTS)}/change/", f"{rng.choice(ODD_SEGMENTS)}/", "add/"]
        )
        query = "&".join(f"{rng.choice(NAMES)}={rng.choice(ODD_TEXTS)}" for _ in range(rng.choice([1, 2, 3])))
        target = f"{page}/{odd}?{rng.choice(ODD_QUERIES) if rng.random() < 0.1 else query}"
        method = rng.choice(["GET", "GET", "GET", "POST", "HEAD", "PUT", "OPTIONS"])
        answer = browser.generic(method, target)
        assert answer.status_code < 500, f"{method} {target}"
    record_property(COUNTED, budget(PER_PAGE))


@each("cookie", COOKIES)
@each("name", ["sessionid", "csrftoken", "messages", "django_language"])
def test_odd_cookies_are_answered(project: Project, name: str, cookie: str) -> None:
    answer = Client(raise_request_exception=False).get("/admin/", HTTP_COOKIE=f"{name}={cookie}")
    assert answer.status_code in {200, 302}


@each("text", ["\0", "a\0b", "\ud800", "a" * 100_000, "é\u0301", "' OR 1=1 --"])
def test_odd_log_ins_are_refused(project: Project, text: str) -> None:
    browser = Client(raise_request_exception=False)
    sent = urlencode({"username": text, "password": text}, errors="surrogatepass")
    answer = browser.generic("POST", "/admin/login/?next=//evil.example/", sent, content_type=FORM)
    assert answer.status_code in {200, 400, 403}


def test_a_file_that_is_sent_along_is_written_nowhere(settings: Settings, tmp_path: Path) -> None:
    """No caller can write files: the disk may be full, or the directory may not exist."""
    settings.FILE_UPLOAD_TEMP_DIR = str(tmp_path / "nowhere")
    file = SimpleUploadedFile("disk.img", b"x" * (settings.FILE_UPLOAD_MAX_MEMORY_SIZE + 1))
    answer = Client().post("/admin/login/", {"username": "ada", "password": "wrong", "file": file})
    assert answer.status_code == 403
    assert answer.context["form"]["username"].value() == "ada"
