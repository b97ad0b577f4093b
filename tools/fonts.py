# /// script
# requires-python = ">=3.11"
# dependencies = ["fonttools==4.68.0", "brotli==1.2.1"]
# ///
"""The fonts of the console: `make fonts` writes `opsapi/static/console/fonts` (needs uv and npm).

Run it after you add an icon to `tools/icons.txt`, or after an upgrade of the theme. The icons are a part of
the theme's font. The text font is Inter with a variable weight, in parts: browsers load a part if a page has
a character of it.
"""

import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from fontTools.varLib import instancer

ROOT = Path(__file__).resolve().parent.parent
ICONS = ROOT / "tools" / "icons.txt"
FONTS = ROOT / "opsapi" / "static" / "console" / "fonts"
THEME = "lib/python3*/site-packages/unfold/static/unfold/fonts/material-symbols"

_INTER = "inter-ui@4.1.1"
_INTER_SHA256 = "e392e4d71f18a7c1f23dfecd833d68fa05eeab41862686584e80fd2b5d87e9c0"
_INTER_FILE = "package/variable/InterVariable.woff2"
_SIZE = 14
"""Of the axis of optical sizes, which browsers set by the size of the text: the console's text is small."""
_WEIGHTS = (400, 700)
_PARTS = {
    "latin": "20-7E A0-FF 131 152-153 2000-206F 20AC 2122 2190-2199 2212 2215 221E 2248 2260 2264-2265"
    " 25B2-25C3 25CF 2713",
    "latin-extended": "100-130 132-151 154-24F 300-36F 1E00-1EFF",
    "others": "250-2FF 370-10FF 1F00-1FFF 2070-20AB 20AD-2121 2123-218F 219A-2211 2213-2214 2216-221D"
    " 221F-2247 2249-225F 2261-2263 2266-25B1 25C4-25CE 25D0-2712 2714-FFFD",
}
"""Ranges of characters, in hexadecimal numbers."""

_ICON_CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_FACES = """/* Written by tools/fonts.py. */
@font-face {
  font-family: "Material Symbols Outlined";
  font-display: block;
  src: url("icons.woff2") format("woff2");
}
"""
_FACE = """
@font-face {{
  font-family: "Inter";
  font-weight: {weights};
  font-display: swap;
  src: url("inter-{part}.woff2") format("woff2");
  unicode-range: {ranges};
}}
"""


def main() -> None:
    """Write the fonts, their licences and their style sheet."""
    FONTS.mkdir(exist_ok=True)
    theme = next((ROOT / ".venv").glob(THEME))
    _write_icons(theme / "Material-Symbols-Outlined.woff2", ICONS.read_text("utf-8").split())
    (FONTS / "LICENSE-material-symbols.txt").write_bytes((theme / "LICENSE").read_bytes())
    with _inter() as archive:
        (FONTS / "LICENSE-inter.txt").write_bytes(_member(archive, "package/LICENSE.txt"))
        font = _without_sizes(_member(archive, _INTER_FILE))
    sheet = _FACES
    for part, ranges in _PARTS.items():
        _write_text_font(font, part, ranges)
        written = ", ".join(f"U+{each}" for each in ranges.split())
        sheet += _FACE.format(part=part, ranges=written, weights=" ".join(map(str, _WEIGHTS)))
    (FONTS / "fonts.css").write_text(sheet, "utf-8")
    for file in sorted(FONTS.iterdir()):
        sys.stdout.write(f"{file.stat().st_size:>8,} {file.name}\n")


def _write_icons(path: Path, names: list[str]) -> None:
    font = TTFont(path, recalcTimestamp=False)
    glyphs = _icons_by_name(font)
    if unknown := sorted(set(names) - set(glyphs)):
        raise SystemExit(f"{ICONS.name}: {', '.join(unknown)}: no icon of the theme's font has this name")
    options = _options()
    # Otherwise the letters would keep all icons: the name of an icon is a ligature of its letters.
    options.layout_closure = False
    subsetter = Subsetter(options)
    subsetter.populate(glyphs=[glyphs[name] for name in names], text=_ICON_CHARACTERS)
    subsetter.subset(font)
    _save(font, "icons")


def _icons_by_name(font: TTFont) -> dict[str, str]:
    """The glyph of each icon. Some icons have several names."""
    characters = {glyph: chr(code) for code, glyph in font.getBestCmap().items() if code < 128}
    found = {}
    for lookup in font["GSUB"].table.LookupList.Lookup:
        for table in lookup.SubTable:
            ligatures = getattr(table, "ExtSubTable", table).ligatures
            for first, each in ligatures.items():
                for ligature in each:
                    name = "".join(characters.get(glyph, "?") for glyph in (first, *ligature.Component))
                    found[name] = ligature.LigGlyph
    return found


def _without_sizes(content: bytes) -> bytes:
    font = TTFont(io.BytesIO(content), recalcTimestamp=False)
    instancer.instantiateVariableFont(font, {"opsz": _SIZE, "wght": _WEIGHTS}, inplace=True)
    written = io.BytesIO()
    font.save(written)
    return written.getvalue()


def _write_text_font(content: bytes, part: str, ranges: str) -> None:
    font = TTFont(io.BytesIO(content), recalcTimestamp=False)
    options = _options()
    options.layout_features = [*options.layout_features, "tnum"]
    subsetter = Subsetter(options)
    subsetter.populate(unicodes=_characters(ranges))
    subsetter.subset(font)
    _save(font, f"inter-{part}")


def _options() -> Options:
    options = Options()
    options.flavor = "woff2"
    options.hinting = False
    return options


def _save(font: TTFont, name: str) -> None:
    font.flavor = "woff2"
    font.save(FONTS / f"{name}.woff2")


def _characters(ranges: str) -> Iterable[int]:
    for each in ranges.split():
        first, _, last = each.partition("-")
        yield from range(int(first, 16), int(last or first, 16) + 1)


def _inter() -> tarfile.TarFile:
    with tempfile.TemporaryDirectory() as directory:
        command = ["npm", "pack", "--silent", "--pack-destination", directory, _INTER]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 a fixed command
        [archive] = Path(directory).iterdir()
        content = archive.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != _INTER_SHA256:
        raise SystemExit(f"{_INTER}: the checksum is {found} instead of {_INTER_SHA256}")
    return tarfile.open(fileobj=io.BytesIO(content))


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise SystemExit(f"{_INTER}: {name} is not a file")
    return file.read()


if __name__ == "__main__":
    main()
