"""Progress: the callable of `fit`, the log, scikit-learn's callbacks, expected times."""

import logging
import pickle
import subprocess
import sys

import numpy as np
import pytest
from oracles.fits import holes
from sklearn.base import clone

from comanifold import CoManifold, FitProgress
from comanifold._fit.progress import log_to_stderr


class Listener:
    """Notes the tasks that it hears of."""

    def __init__(self, wish=False):
        self.heard, self.wish = [], wish

    def setup(self, estimator, context):  # noqa: ARG002
        self.heard.append(("set up", context.task_name, context.max_subtasks))

    def teardown(self, estimator, context):  # noqa: ARG002
        self.heard.append(("torn down", context.task_name, context.max_subtasks))

    def on_fit_task_begin(self, estimator, context):
        assert isinstance(estimator, CoManifold)
        self.heard.append(("begin", context.task_name, context.task_id))

    def on_fit_task_end(self, estimator, context):  # noqa: ARG002
        self.heard.append(("end", context.task_name, context.task_id))
        return self.wish


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks yet")


@pytest.mark.usefixtures("callback")
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_passes_and_paths_are_the_tasks_of_a_fit(n_jobs):
    listener = Listener()
    X = holes()
    model = CoManifold(n_passes=2, n_jobs=n_jobs).set_callbacks(listener).fit(X)
    heard = listener.heard
    assert heard[:2] == [("set up", "fit", None), ("begin", "fit", 0)]
    assert heard[-2:] == [("end", "fit", 0), ("torn down", "fit", None)]
    learning, solving = "learning weights", "solving"
    passes = [what[:2] for what in heard if what[1] in (learning, solving)]
    n_folds = len(np.unique(model.held_out_["fold"]))
    names = [solving, *(2 * n_folds * [learning]), solving]
    assert passes == [(what, name) for name in names for what in ("begin", "end")]
    paths = [number for what, name, number in heard if name == "path" and what == "end"]
    assert len(paths) > 20
    assert paths.count(0) == 2 + 2 * n_folds
    np.testing.assert_array_equal(
        model.row_embedding_, CoManifold(n_passes=2).fit(X).row_embedding_
    )


@pytest.mark.usefixtures("callback")
def test_a_callback_cannot_cut_a_fit_short():
    X = holes()
    model = CoManifold().set_callbacks(Listener(wish=True)).fit(X)
    np.testing.assert_array_equal(model.filled_, CoManifold().fit(X).filled_)


@pytest.mark.usefixtures("callback")
def test_a_fit_that_fails_is_torn_down_and_can_be_repeated():
    listener = Listener()
    model = CoManifold().set_callbacks(listener)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((9, 8), np.inf))
    assert listener.heard[-1][0] == "torn down"
    model.fit(holes())
    assert listener.heard[-2][:2] == ("end", "fit")
    again = pickle.loads(pickle.dumps(clone(model).set_callbacks()))
    again.fit(holes())


def test_the_bar_of_scikit_learn(callback, capsys):
    CoManifold().set_callbacks(callback.ProgressBar()).fit(holes())
    shown = capsys.readouterr().out
    assert "CoManifold - fit" in shown
    assert "CoManifold - learning weights" in shown


def test_in_a_pipeline(callback):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    pipeline = make_pipeline(StandardScaler(), CoManifold()).set_callbacks(callback.ProgressBar())
    assert pipeline.fit_transform(holes()).shape == (30, 2)


def test_fits_work_without_the_callbacks_of_scikit_learn(tmp_path):
    code = """
import sys
import numpy as np
import sklearn.base, sklearn.cluster, sklearn.manifold, sklearn.pipeline, sklearn.preprocessing
sys.modules["sklearn.callback"] = None
from comanifold import CoManifold
assert not hasattr(CoManifold, "set_callbacks")
X = np.load(sys.argv[1])
np.save(sys.argv[1], CoManifold().fit(X).row_distances_)
"""
    file = tmp_path / "X.npy"
    np.save(file, holes())
    subprocess.run([sys.executable, "-c", code, file], check=True)
    np.testing.assert_array_equal(np.load(file), CoManifold().fit(holes()).row_distances_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_is_reported_after_every_path(n_jobs):
    heard = []
    X = holes()
    model = CoManifold(n_jobs=n_jobs).fit(X, progress=heard.append)
    assert all(isinstance(event, FitProgress) for event in heard)
    assert [event.stage for event in heard] == sorted(event.stage for event in heard)
    assert {event.stage for event in heard} == {"learning weights", "solving"}
    done = [event.n_done for event in heard]
    assert done[0] == 0
    assert done == sorted(done)
    assert all(0 <= event.fraction <= 1 for event in heard)
    assert heard[-1].fraction == 1.0
    assert all(event.fraction < 1.0 for event in heard[:-1])
    np.testing.assert_array_equal(model.filled_, CoManifold().fit(X).filled_)


def test_a_progress_that_cannot_be_called_is_refused():
    with pytest.raises(ValueError, match="progress must be a callable or None"):
        CoManifold().fit(holes(), progress=3)


def test_verbose_fits_log_to_the_handlers_of_the_user(caplog, capfd):
    with caplog.at_level(logging.INFO, logger="comanifold"):
        CoManifold(verbose=1).fit(holes())
    assert [r.levelno for r in caplog.records] == [logging.INFO] * 6
    assert "fold 5: " in caplog.text
    assert "pass 1 of 1: " in caplog.text
    assert capfd.readouterr().err == ""
    assert not logging.getLogger("comanifold").handlers


def test_larger_matrices_are_expected_to_take_longer():
    seconds = [CoManifold().expected_seconds((n, n // 2)) for n in (100, 1000, 10_000)]
    assert seconds == sorted(seconds)
    assert CoManifold(n_passes=2).expected_seconds((1000, 500)) > seconds[1]
    assert CoManifold(scale_weights="cost").expected_seconds((1000, 500)) < seconds[1]


@pytest.mark.parametrize("levels", [(1, 2), (2, 1), (1, 1)])
@pytest.mark.parametrize("first_out", [0, 1])
def test_verbose_fits_at_the_same_time_leave_the_logger_as_it_was(levels, first_out, capfd):
    logger = logging.getLogger("comanifold")
    before = logger.level, list(logger.handlers), logger.propagate
    fits = [log_to_stderr(level) for level in levels]
    for fit in fits:
        fit.__enter__()
    fits.pop(first_out).__exit__(None, None, None)
    logger.info("still there")
    fits.pop().__exit__(None, None, None)
    logger.info("over")
    assert capfd.readouterr().err == "still there\n"
    assert (logger.level, logger.handlers, logger.propagate) == before
