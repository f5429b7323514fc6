"""Sphinx extension: pages made from the code before a build, and docstrings made ready for autodoc.

``environment_pages``, ``agent_pages``, ``task_pages`` and ``api_pages`` return Markdown pages, ``model_facts`` tables
for pages written by hand, ``charts`` and ``concept_pictures`` pictures as SVG; ``files`` writes them under docs, where
git ignores them.
"""

import gc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from site_pages.files import write_files

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def make_pages(app: "Sphinx") -> None:
    """Make all pages and pictures. Runs when the builder is ready, before pages are read."""
    from site_pages import agent_pages, api_pages, concept_pictures, environment_pages, model_facts, task_pages

    made: dict[str, str | bytes] = {}
    for part in (environment_pages, agent_pages, task_pages, api_pages, concept_pictures, model_facts):
        made |= part.make(Path(app.srcdir))
    write_files(Path(app.srcdir), made)


def setup(app: "Sphinx") -> dict[str, Any]:
    """Connect the extension."""
    from site_pages.docstring_rst import prepare_docstring, shorten_signature
    from site_pages.html_access import mend_page

    gc.set_threshold(100_000, 20, 20)  # an eighth of a build's time went to garbage collections
    app.connect("builder-inited", make_pages)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=100)  # before napoleon, which has 500
    app.connect("autodoc-process-signature", shorten_signature)
    app.connect("html-page-context", mend_page, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
