"""Settings of the documentation site: ``sphinx-build -W -n docs OUT`` builds the site without a network."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT), str(ROOT / "agents")]

from rankgym.version import __version__  # noqa: E402

project = "rankgym"
author = copyright = "The rankgym authors"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_pages"]
exclude_patterns = ["_ext", "_static", "_templates", "facts"]  # facts: parts of pages in models
templates_path = ["_templates"]
source_suffix = {".md": "markdown"}
suppress_warnings = ["misc.highlighting_failure"]  # prompts and "..." in examples are not Python

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4  # as on GitHub, so that links to sections work in both places

autodoc_member_order = "bysource"
autodoc_inherit_docstrings = False  # of other packages, in other forms
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_display_short_literal_types = True
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
# Types in signatures and bases that have no page: those of other packages, and of ours those that are not public.
nitpick_ignore_regex = [("py:class", r".*"), ("py:.*", r"(?!rankgym).*")]

html_theme = "furo"
html_title = f"rankgym {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False  # summaries are fetched, which browsers refuse from disk
pygments_style = "a11y-light"
pygments_dark_style = "a11y-dark"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#0b5c8f", "color-brand-content": "#0b5c8f"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
