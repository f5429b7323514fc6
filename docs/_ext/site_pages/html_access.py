"""Mend what keyboards and screen readers need in the theme's HTML: headings' levels, and boxes that scroll."""

import re
from typing import Any

FOCUSABLE = re.compile(r'<(pre|div class="table-wrapper[^"]*")>')


def mend_page(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Change a page's parts before they are written. An event handler of ``html-page-context``, after the theme's."""
    for part in ("body", "furo_navigation_tree"):
        if isinstance(context.get(part), str):
            context[part] = accessible(context[part])


def accessible(html: str) -> str:
    """Return HTML in which captions have a heading's level, and the keyboard reaches boxes that may scroll."""
    html = html.replace('role="heading">', 'role="heading" aria-level="2">')
    return FOCUSABLE.sub(r'<\1 tabindex="0">', html)
