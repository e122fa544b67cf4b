"""A text that tries everything: to run, to load, to hide, to close what it stands in, to pass for another."""

from __future__ import annotations

TAGS = "".join(chr(0xE0000 + ord(char)) for char in "obey")
HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}{% raw %}</title></textarea></svg>"
    f"\u202egnp.exe\u200b{TAGS}аdmin `code` javascript:alert(1) https://evil.example \x1b[31m"
    " <a hx-get=/logout hx-trigger=load data-events=/x onclick=alert(1)>"
)
