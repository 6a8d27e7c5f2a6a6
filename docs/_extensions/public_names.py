"""Write the reference: one page for each public module, with all names of its `__all__`.

Modules that need a package which is not installed are skipped, with a logged note.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util import logging

# Modules, and the titles of their pages.
MODULES = {
    "comanifold": "Estimators and functions",
    "comanifold.model_selection": "Model selection",
    "comanifold.preprocessing": "Preprocessing",
    "comanifold.penalties": "Penalties",
    "comanifold.datasets": "Data sets",
    "comanifold.baselines": "Baselines",
    "comanifold.trees": "Partition trees",
    "comanifold.plotting": "Plotting",
    "comanifold.report": "The report page",
    "comanifold.tables": "Tables in files",
    "comanifold.annotated": "AnnData",
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
            logging.getLogger(__name__).info("reference: %s is skipped: %s", name, error)
    for name, module in found.items():
        _write(folder / f"{name}.md", _page(name, module))
    wanted = (
        {f"{name}.md" for name in found}
        | {"index.md"}
        | {
            f"{name}.{member}.rst"
            for name, module in found.items()
            for member in _described(module)
        }
    )
    # Delete the pages of names that are no longer public.
    for page in [*folder.glob("*.md"), *folder.glob("generated/*.rst")]:
        if page.name not in wanted:
            page.unlink()
    pages = "\n".join(found)
    _write(
        folder / "index.md",
        "# Reference\n\nEvery public name, by module. Anything else may change "
        "without notice.\n\n"
        f"```{{toctree}}\n:maxdepth: 2\n\n{pages}\n```\n",
    )


def _members(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)]


def _described(module: ModuleType) -> list[str]:
    """Return the names with a page of their own: classes and functions."""
    return [name for name in _members(module) if callable(getattr(module, name))]


def _page(name: str, module: ModuleType) -> str:
    prefix = name.removeprefix("comanifold").lstrip(".")
    described = _described(module)
    constants = [member for member in _members(module) if member not in described]
    listed = "\n".join(f"   {name}.{member}" for member in described)
    title = MODULES[name] + (f": `{name}`" if prefix else "")
    return (
        f"# {title}\n\n{(module.__doc__ or '').strip()}\n\n```{{eval-rst}}\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{listed}\n```\n"
        + "".join(f"\n`{member}`\n: {_shown(getattr(module, member))}\n" for member in constants)
    )


def _shown(value: Any) -> str:
    """Return the content of a constant as text; of a mapping only its type and length."""
    if isinstance(value, tuple | list | set | frozenset):
        return ", ".join(f"`{part}`" for part in value if part)
    return f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else repr(value)


def _write(path: Path, text: str) -> None:
    """Write a page if its text has changed: Sphinx rereads pages newer than its last build."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
