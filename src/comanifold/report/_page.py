"""From the data of a page to its HTML: one file, with nothing that it could load."""

import base64
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

# In the order in which they need each other.
_SCRIPTS = ("data", "colours", "matrix", "embedding", "scales", "tables", "page")

# Plotly adds a style sheet of its own that is empty at first and filled rule by rule,
_EMPTY = ""
# and those of its geographical maps, unless it finds elements of their names.
_MAP_STYLES = re.compile(r'getElementById\("([0-9a-f]{64})"\)')


def page_html(data: dict[str, Any]) -> bytes:
    """The whole page."""
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ImportError(
            f"the report needs {error.name}: pip install 'comanifold[report]'"
        ) from error
    script = "".join(_read(f"{name}.js") for name in _SCRIPTS)
    scripts = {"plotly": get_plotlyjs(), "page": script}
    style = _read("page.css")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    page = environment.from_string(_read("page.html")).render(
        data=data,
        json=json_for_html(data),
        style=style,
        scripts=scripts,
        taken_names=_MAP_STYLES.findall(scripts["plotly"]),
        policy=_policy(list(scripts.values()), [style, _EMPTY]),
    )
    # A lone surrogate, which a name may have, is no UTF-8 and becomes a replacement character.
    return page.encode("utf-8", "xmlcharrefreplace")


def json_for_html(data: Any) -> str:
    """JSON in ASCII that ends no element and begins none, wherever it is put."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _policy(scripts: list[str], styles: list[str]) -> str:
    """What the browser is to allow: these scripts and styles, and nothing from anywhere."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts)}",
            f"style-src-elem {_hashes(styles)}",
            # Plotly places text with style attributes; nothing else can write one.
            "style-src-attr 'unsafe-inline'",
            "img-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _hashes(texts: list[str]) -> str:
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in texts]
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


def _read(name: str) -> str:
    return files(__package__).joinpath("page", name).read_text(encoding="utf-8")
