"""Which usernames look alike, and what none may hold (RFC 8265, UTS 39)."""

from hypothesis import given
from hypothesis import strategies as st

from accesslist.users.rules import LONGEST_SKELETON, character_fault, skeleton, username_key
from tests.each import each

LATIN, CYRILLIC_A, GREEK_CAPITAL_IOTA = "ada", "\u0430", "\u0399"


@each(
    ("name", "looks_like"),
    [
        (f"{CYRILLIC_A}da", LATIN),
        (f"{CYRILLIC_A}d{CYRILLIC_A}", LATIN),
        ("\uff41da", LATIN),
        ("\U0001d41ada", LATIN),
        ("\u0410DA", LATIN),
        ("aIi", "ali"),
        ("a1i", "ali"),
        ("lvan", "Ivan"),
        ("adrnin", "admin"),
        (f"ADM{GREEK_CAPITAL_IOTA}N", "ADMIN"),
        ("r00t", "rOOt"),
        ("\u017foo", "foo"),
        ("fi\u043ena", "\ufb01ona"),
        ("ada  lovelace", "ada lovelace"),
        ("ada@ex\u0430mple.com", "ada@example.com"),
        ("o\u2019brien", "o'brien"),
        ("u\u0432an", "u\u0299an"),
    ],
)
def test_names_that_look_alike_share_a_skeleton(name: str, looks_like: str) -> None:
    assert skeleton(name) == skeleton(looks_like)


@each(
    "names",
    [
        ("ada", "adam"),
        ("ada@example.com", "ada@example.org"),
        ("user1", "user2"),
        ("lia", "Ila"),
        ("mail", "mall"),
        ("\u0438\u0432\u0430\u043d", "ivan"),
        ("\u00e1da", "ada"),
        ("\u7530\u4e2d", "\u4e2d\u7530"),
    ],
)
def test_distinguishable_names_have_different_skeletons(names: tuple[str, str]) -> None:
    first, second = names
    assert skeleton(first) != skeleton(second)


@given(st.text(max_size=254))
def test_a_skeleton_fits_into_its_column_and_does_not_ask_for_case(name: str) -> None:
    assert len(skeleton(name)) <= LONGEST_SKELETON
    assert skeleton(username_key(name)) == skeleton(username_key(username_key(name)))


@each(
    "name",
    [
        "ada",
        "Ada Lovelace",
        "ada@example.com",
        "DOMAIN\\ada",
        "M\u00fcller",
        "\u0418\u0432\u0430\u043d",
        "\u7530\u4e2d\u592a\u90ce",
        "\u05d3\u05d5\u05d3@example.com",
        "\u0639\u0644\u064a",
        "\u0e2a\u0e21\u0e0a\u0e32\u0e22",
        "O\u2019Brien",
        "\U0001f600",
        "\ufb01ona",
        "a\u0301da",
    ],
    ids=ascii,
)
def test_ordinary_names_have_no_fault(name: str) -> None:
    assert character_fault(name) is None


@each("name", [" ada", "ada ", "ada\u00a0", "\u3000ada"], ids=ascii)
def test_no_name_begins_or_ends_with_a_blank(name: str) -> None:
    assert character_fault(name) == "it must not begin or end with a space"


@each(
    ("char", "named"),
    [
        ("\u200b", "U+200B (ZERO WIDTH SPACE)"),
        ("\u200d", "U+200D (ZERO WIDTH JOINER)"),
        ("\u202e", "U+202E (RIGHT-TO-LEFT OVERRIDE)"),
        ("\u2067", "U+2067 (RIGHT-TO-LEFT ISOLATE)"),
        ("\ufeff", "U+FEFF (ZERO WIDTH NO-BREAK SPACE)"),
        ("\u00ad", "U+00AD (SOFT HYPHEN)"),
        ("\u00a0", "U+00A0 (NO-BREAK SPACE)"),
        ("\u2028", "U+2028 (LINE SEPARATOR)"),
        ("\u0007", "U+0007 (no name)"),
        ("\ue000", "U+E000 (no name)"),
        ("\u0378", "U+0378 (no name)"),
        ("\u034f", "U+034F (COMBINING GRAPHEME JOINER)"),
        ("\u3164", "U+3164 (HANGUL FILLER)"),
        ("\ufe0f", "U+FE0F (VARIATION SELECTOR-16)"),
        ("\U000e0101", "U+E0101 (VARIATION SELECTOR-18)"),
        ("\u2800", "U+2800 (BRAILLE PATTERN BLANK)"),
    ],
    ids=ascii,
)
def test_invisible_characters_are_named(char: str, named: str) -> None:
    assert (
        character_fault(f"a{char}da")
        == f"it must not contain {named}, which is invisible or looks like a space"
    )
