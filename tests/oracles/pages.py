"""A report page: its arrays, what it shows in a browser, and what people do to it there."""

import base64
import csv
import io
import zlib
from pathlib import Path

import numpy as np

# Names of the rows and columns of the page that most tests share.
ROWS, COLUMNS = [f"gene {i}" for i in range(40)], [f"sample {j}" for j in range(25)]

# What JavaScript has under these names.
TYPES = {
    "Float64Array": np.float64,
    "Float32Array": np.float32,
    "Int32Array": np.int32,
    "Uint16Array": np.uint16,
    "Uint8Array": np.uint8,
}


def unpack(packed):
    """An array of the page, without its shape."""
    raw = zlib.decompress(base64.b64decode(packed["data"]))
    return np.frombuffer(raw, dtype=TYPES[packed["type"]])


def observed_on_page(packed):
    """The observed entries of the page, in the organised order."""
    low, step = unpack(packed["low"]), unpack(packed["step"])
    codes = unpack(packed["codes"]).reshape(-1, len(low))
    return np.where(codes == np.iinfo(codes.dtype).max, np.nan, low + step * codes)


def picture(page):
    """The matrix as it is drawn, in the organised order."""
    rows = page.evaluate("""() => document.getElementById("matrix").data[0].z.map((row) =>
        Array.from(row, (value) => (Number.isNaN(value) ? null : value)))""")
    return np.array(rows, dtype=float)


def drawn(page, plot, what):
    return page.evaluate(f"() => document.getElementById('{plot}').{what}")


def slide(page, which, step):
    """Move a slider; it is among the scales, which are closed at first."""
    page.evaluate("document.getElementById('scale-controls').open = true")
    page.locator(f"#{which}-scale").fill(str(step))


def exponents_of(model):
    """Return l and k of each scale of a model."""
    return list(zip(model.scales_["l"].tolist(), model.scales_["k"].tolist(), strict=True))


def shown_scale(page, model):
    """Return l and k of the scale that is framed in the map of scales."""
    frame = drawn(page, "map", "layout.shapes[0]")
    l, k = int(frame["y0"] + 0.5), int(frame["x0"] + 0.5)
    assert (l, k) in exponents_of(model)
    return l, k


def organised(model, values):
    return values[np.ix_(model.row_order_, model.column_order_)]


def saved(page, button):
    with page.expect_download() as download:
        page.get_by_role("button", name=button, exact=True).click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return list(csv.reader(io.StringIO(text, newline="")))


def drag(page, plot, start, end):
    """From one place to another, as shares of the width and height of a plot."""
    box = page.locator(f"#{plot} .nsewdrag").first.bounding_box()
    places = [
        (box["x"] + across * box["width"], box["y"] + down * box["height"])
        for across, down in (start, end)
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=5)
    page.mouse.up()
