"""Links to folders of the repository become links to the pages that are made from them.

So the same link works where the Markdown files are read in the repository, and on the site.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Folders as they are linked from pages, and the pages of the site.
PAGES = {
    "../examples": "auto_examples/index",
    "../src/comanifold": "reference/index",
}


def setup(app: "Sphinx") -> dict:
    app.connect("source-read", lambda _app, _name, source: rewrite(source))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def rewrite(source: list[str]) -> None:
    """Replace the links in the text of a page, the only element of `source`."""
    for folder, page in PAGES.items():
        source[0] = source[0].replace(f"]({folder})", f"]({page})")
