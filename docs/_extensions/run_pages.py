"""Run the code of pages that show its output, in a folder of the build.

A page in `RUN` shows files that its own code and commands write, as in
``![](_generated/tutorial/overview.png)``.
"""

import shutil
from pathlib import Path

import matplotlib.pyplot as plt
from page_code import RUN, run_page
from sphinx.application import Sphinx
from sphinx.util import logging


def setup(app: Sphinx) -> dict:
    app.connect("builder-inited", run)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def run(app: Sphinx) -> None:
    for name in RUN:
        page = Path(app.srcdir) / f"{name}.md"
        folder = Path(app.srcdir) / "_generated" / name
        stamp = folder / "page.md"
        if stamp.exists() and stamp.read_bytes() == page.read_bytes():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        logging.getLogger(__name__).info("running the code of %s ...", page.name)
        run_page(page, folder)
        plt.close("all")
        shutil.copyfile(page, stamp)
