"""Formulas as MathML, which browsers show by themselves: no script, nothing from a network."""

import html
import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

# What the converter does not know, in words that it does: \dots, and \frac12 for \frac{1}{2}.
_OTHER_WORDS = ((r"\\dots\b", r"\\ldots"), (r"\\([td]?frac)(\d)(\d)", r"\\\1{\2}{\3}"))


def _inline(translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, as_block: bool) -> str:
    text = node.astext()
    for known, other in _OTHER_WORDS:
        text = re.sub(known, other, text)
    try:
        return latex2mathml.tex2mathml(text, as_block=as_block)
    except MathError as error:
        logging.getLogger(__name__).warning("formula %r: %s", text, error, location=node)
        return f"<code>{html.escape(text)}</code>"


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
