"""A headless Chromium, where there is one."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
)  # fmt: skip


def chromium() -> str:
    """The command; skips where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("there is no Chromium: install the package chromium to test pages as they are drawn")
    return found


def draw(
    page: Path, profile: Path, *, width: int = 1280, height: int = 900, dark: bool = False
) -> tuple[bytes, str]:
    """A screenshot of a page as PNG, and what its console said."""
    picture = profile.with_suffix(".png")
    words = [
        *FLAGS,
        f"--user-data-dir={profile}",
        f"--window-size={width},{height}",
        f"--screenshot={picture}",
    ]
    if dark:
        words += ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]
    ran = subprocess.run(
        [chromium(), *words, page.as_uri()], capture_output=True, text=True, timeout=120, check=False
    )
    assert picture.exists(), ran.stderr[-2000:]
    return picture.read_bytes(), "\n".join(line for line in ran.stderr.splitlines() if "CONSOLE" in line)


def tree(page: Path, profile: Path) -> str:
    """The page after its script has run."""
    words = [*FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()]
    ran = subprocess.run([chromium(), *words], capture_output=True, text=True, timeout=120, check=False)
    return ran.stdout


def pixels(picture: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of RGB bytes of an 8-bit PNG without interlacing."""
    width, height, depth, colour = struct.unpack(">IIBB", picture[16:26])
    assert depth == 8 and colour in (2, 6)
    step, data, place = 3 if colour == 2 else 4, b"", 8
    while place < len(picture):
        (size,) = struct.unpack(">I", picture[place : place + 4])
        if picture[place + 4 : place + 8] == b"IDAT":
            data += picture[place + 8 : place + 8 + size]
        place += size + 12
    raw, line, rows = zlib.decompress(data), width * step, []
    before = bytearray(line)
    for y in range(height):
        kind, now = raw[y * (line + 1)], bytearray(raw[y * (line + 1) + 1 : (y + 1) * (line + 1)])
        for i in range(line):
            left = now[i - step] if i >= step else 0
            up, corner = before[i], before[i - step] if i >= step else 0
            if kind == 1:
                now[i] = (now[i] + left) & 255
            elif kind == 2:
                now[i] = (now[i] + up) & 255
            elif kind == 3:
                now[i] = (now[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                far = abs(guess - left), abs(guess - up), abs(guess - corner)
                best = left if far[0] <= far[1] and far[0] <= far[2] else up if far[1] <= far[2] else corner
                now[i] = (now[i] + best) & 255
        rows.append(bytes(now))
        before = now
    if step == 4:
        rows = [bytes(b for i, b in enumerate(row) if i % 4 != 3) for row in rows]
    return width, height, rows
