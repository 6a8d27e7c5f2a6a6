"""Formulas as MathML, which browsers show by themselves: no script, nothing from a network."""

from docutils import nodes
from docutils.utils.math import latex2mathml
from sphinx.application import Sphinx


def _inline(translator, node: nodes.math) -> None:
    translator.body.append(_mathml(node, as_block=False))
    raise nodes.SkipNode


def _block(translator, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, *, as_block: bool) -> str:
    return latex2mathml.tex2mathml(node.astext(), as_block=as_block)


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("builder-inited", _choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _choose(app: Sphinx) -> None:
    app.config.html_math_renderer = "mathml"
