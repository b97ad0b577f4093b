"""manage.py bootstrap."""

import io
import re

import pytest
from django.core.management import CommandError, call_command

from accesslist.models import AccessListEntry, User
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import KeyPair

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    """What the command prints."""
    printed = io.StringIO()
    call_command("bootstrap", *arguments, stdout=printed)
    return printed.getvalue()


def test_it_makes_the_first_user_and_a_key_that_opens_the_api() -> None:
    printed = run("ada")
    public, private = re.findall(r"(?m)^(?:public|private) key +(\S+)$", printed)
    assert re.fullmatch(r"[a-z0-9]{6}", public)
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", private)
    assert ApiClient(KeyPair("", public, private)).get("/globalEvents").status_code == 200
    assert User.objects.get().username == "ada"


def test_a_shell_can_take_the_key_while_people_still_read_the_rest() -> None:
    taken, read = io.StringIO(), io.StringIO()
    call_command("bootstrap", "ada", "--export", stdout=taken, stderr=read)
    line = re.fullmatch(r"export PUBLIC_KEY=([a-z0-9]{6}) PRIVATE_KEY=([0-9a-f-]{31})\n", taken.getvalue())
    assert line
    assert ApiClient(KeyPair("", *line.groups())).get("/globalEvents").status_code == 200
    (password,) = re.findall(r"(?m)^password +(\S+)$", read.getvalue())
    assert User.objects.get(username="ada").check_password(password)


def test_it_puts_ranges_on_the_access_list() -> None:
    run("ada", "--access-list", "10.0.0.0/8", "--access-list", "192.0.2.1")
    blocks = set(AccessListEntry.objects.values_list("cidr_block", flat=True))
    assert blocks == {"10.0.0.0/8", "192.0.2.1/32"}


def test_an_invalid_range_is_refused_in_one_line_and_creates_nothing() -> None:
    with pytest.raises(CommandError, match="accessList"):
        run("ada", "--access-list", "10.0.0.1/8")
    assert not User.objects.exists()


def test_it_names_invisible_characters_and_creates_nothing() -> None:
    with pytest.raises(CommandError, match=r"U\+200B"):
        run("ada\u200b")
    assert not User.objects.exists()


def test_it_refuses_when_a_user_exists() -> None:
    run("ada")
    with pytest.raises(CommandError, match="already exists"):
        run("grace")
    assert User.objects.count() == 1


@each("username", ["a" * 255, "a\nb", ""])
def test_it_refuses_a_name_that_the_api_would_refuse(username: str) -> None:
    with pytest.raises(CommandError, match="username"):
        run(username)
    assert not User.objects.exists()
