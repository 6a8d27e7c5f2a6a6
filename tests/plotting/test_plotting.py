"""What all plot functions have in common."""

import matplotlib.pyplot as plt
import pytest
from sklearn.exceptions import NotFittedError

from comanifold import CoManifold, plotting

_FUNCTIONS = [getattr(plotting, name) for name in plotting.__all__ if name != "STYLE"]


@pytest.mark.parametrize("draw", _FUNCTIONS)
def test_only_fitted_models_are_drawn(draw):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        draw(CoManifold())
    with pytest.raises(ValueError, match=r"must be a CoManifold, got str|must hold numbers"):
        draw("model")
    assert not plt.get_fignums()


@pytest.mark.parametrize("draw", [f for f in _FUNCTIONS if f is not plotting.overview])
def test_given_axes_are_returned_and_settings_left_alone(draw, model):
    before = dict(plt.rcParams)
    figure, ax = plt.subplots()
    assert draw(model, ax=ax) is ax
    assert draw(model) is not ax
    assert dict(plt.rcParams) == before
    assert len(plt.get_fignums()) == 2
    figure.canvas.draw()
