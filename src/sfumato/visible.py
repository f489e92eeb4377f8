"""Names and labels of tables as people may see them, on a terminal or a page."""

from __future__ import annotations

_VISIBLE = {code: f"\\x{code:02x}" for code in [*range(9), *range(11, 32), *range(127, 160)]}
_VISIBLE |= {
    code: f"\\u{code:04x}"
    for code in [0x061C, *range(0x200B, 0x2010), *range(0x2028, 0x202F), *range(0x2060, 0x206A), 0xFEFF]
}


def visible(text: str) -> str:
    """`text` with control and direction characters spelled out, so that a name can neither move the cursor
    nor turn round what stands beside it.
    """
    return text.translate(_VISIBLE)
