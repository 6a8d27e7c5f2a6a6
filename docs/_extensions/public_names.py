"""The pages of the reference, one for each public module: what is in its `__all__`, and all of it.

Modules that need a package which is not installed are left out, and a note says so.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

# Module, and what the page is called.
MODULES = {
    "comanifold": "Estimators and functions",
    "comanifold.penalties": "Penalties",
    "comanifold.datasets": "Data sets",
    "comanifold.baselines": "Baselines",
    "comanifold.plotting": "Plotting",
    "comanifold.report": "The report page",
    "comanifold.tables": "Tables in files",
    "comanifold.anndata": "AnnData",
}
FOLDER = "reference"


def setup(app: Sphinx) -> dict:
    # Before Sphinx looks for pages, so that autosummary knows them.
    app.connect("config-inited", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write_pages(app: Sphinx, _config: Config) -> None:
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(exist_ok=True)
    found = {}
    for name in MODULES:
        try:
            found[name] = import_module(name)
        except ImportError as error:
            logging.getLogger(__name__).info("reference: %s is left out: %s", name, error)
    for name, module in found.items():
        _write(folder / f"{name}.md", _page(name, module))
    for stale in set(folder.glob("*.md")) - {folder / f"{name}.md" for name in found}:
        if stale.name != "index.md":
            stale.unlink()
    pages = "\n".join(found)
    _write(
        folder / "index.md",
        "# Reference\n\nEvery public name, by module. Whatever is not listed here may change "
        "without notice.\n\n"
        f"```{{toctree}}\n:maxdepth: 2\n\n{pages}\n```\n",
    )


def _page(name: str, module: ModuleType) -> str:
    prefix = name.removeprefix("comanifold").lstrip(".")
    members = [
        member
        for member in getattr(module, "__all__", ["co_manifold"])
        if not isinstance(getattr(module, member), ModuleType)
    ]
    listed = "\n".join(f"   {name}.{member}" for member in members)
    title = MODULES[name] + (f": `{name}`" if prefix else "")
    return (
        f"# {title}\n\n{(module.__doc__ or '').strip()}\n\n```{{eval-rst}}\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n```\n"
    )


def _write(path: Path, text: str) -> None:
    """Only where it differs: Sphinx reads again what is newer than its last build."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
