"""Where the embedded server's socket is, whatever the data directory is called."""

from pathlib import Path

from opsapi.embedded.layout import LONGEST_SOCKET_PATH, SHORT_PARENT, SOCKET_NAME, Layout
from tests.each import each

OVERHEAD = len(f"/postgres/{SOCKET_NAME}")


@each(
    ("data_dir", "is_short"),
    [
        ("/srv/ops", False),
        ("/srv/with a space", False),
        ("/" + "x" * (LONGEST_SOCKET_PATH - OVERHEAD - 1), False),
        ("/" + "x" * (LONGEST_SOCKET_PATH - OVERHEAD), True),
        ("/" + "ü" * ((LONGEST_SOCKET_PATH - OVERHEAD) // 2 + 1), True),
        ("/srv/a,b", True),
        ('/srv/a"b', True),
        ("/srv/a\\b", True),
        ("/srv/a\nb", True),
    ],
)
def test_the_socket_directory(data_dir: str, is_short: bool) -> None:
    layout = Layout(Path(data_dir))
    assert (layout.socket_dir.parent == SHORT_PARENT) is is_short
    assert is_short or layout.socket_dir == Path(data_dir) / "postgres"


def test_two_data_directories_never_share_one() -> None:
    assert Layout(Path("/" + "x" * 120)).socket_dir != Layout(Path("/" + "y" * 120)).socket_dir


def test_the_entry_for_django() -> None:
    assert Layout(Path("/srv/ops")).django_database() == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "opsapi",
        "USER": "opsapi",
        "PASSWORD": "",
        "HOST": "/srv/ops/postgres",
        "PORT": "5432",
    }
