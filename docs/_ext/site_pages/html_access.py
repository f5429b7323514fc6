"""Mend what keyboards, screen readers and narrow screens need in the theme's HTML."""

import re
from typing import Any

FOCUSABLE = re.compile(r'<(pre|div class="table-wrapper[^"]*")>')
NAME = re.compile(r"(?<=<h[12]>)[\w.]+(?=<a )")  # a heading that is a name in Python
JOINT = re.compile(r"(?<=[._])(?=\w)|(?<=[a-z])(?=[A-Z])")
PICTURE = re.compile(r'<img [^>]*?src="([^"]+)"[^>]*>')


def mend_page(app: Any, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Change a page's parts before they are written. An event handler of ``html-page-context``, after the theme's."""
    for part in ("body", "furo_navigation_tree"):
        if isinstance(context.get(part), str):
            context[part] = accessible(context[part])


def accessible(html: str) -> str:
    """Return HTML whose captions have a level, whose boxes have focus, and whose long names and pictures fit.

    Captions get a heading's level. The keyboard reaches boxes that may scroll. Names in headings break between their
    words. A picture links to its file, because its words are small on a narrow screen.
    """
    html = html.replace('role="heading">', 'role="heading" aria-level="2">')
    html = NAME.sub(lambda name: JOINT.sub("<wbr>", name[0]), html)
    html = PICTURE.sub(r'<a href="\1">\g<0></a>', html)
    return FOCUSABLE.sub(r'<\1 tabindex="0">', html)
