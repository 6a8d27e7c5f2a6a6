"""Progress: the callable of `fit`, the log, scikit-learn's callbacks, expected times."""

import logging
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from oracles.fits import holes
from sklearn.base import clone

from comanifold import CoManifold, FitProgress
from comanifold._fit.expected_time import Step, TimeLeft, expected_steps
from comanifold._fit.progress import log_to_stderr
from comanifold._fit.settings import check_settings


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
    names = [*(2 * n_folds * [learning]), solving, solving]
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
def test_progress_is_reported_for_every_step_and_path(n_jobs):
    heard, threads = [], set()

    def listen(event):
        heard.append(event)
        threads.add(threading.get_ident())

    X = holes()
    model = CoManifold(n_jobs=n_jobs).fit(X, progress=listen)
    assert threads == {threading.get_ident()}
    assert all(isinstance(event, FitProgress) for event in heard)
    stages = [event.stage for event in heard]
    changes = [
        stage for stage, before in zip(stages, ["", *stages], strict=False) if stage != before
    ]
    n_folds = len(np.unique(model.held_out_["fold"]))
    assert changes == [
        "completing",
        *(n_folds * ["graphs", "learning weights"]),
        *["completing", "graphs", "solving", "distances", "structure", "embedding", "clusters"],
    ]
    # Each fold has four paths of completion.
    assert stages.index("graphs") == 5 * n_folds
    done = [event.n_done for event in heard]
    assert done[0] == 0
    assert done == sorted(done)
    assert heard[-1].n_done == heard[-1].n_expected
    fractions = [event.fraction for event in heard]
    assert fractions == sorted(fractions)
    assert fractions[0] >= 0.0
    assert fractions[-2] < 1.0
    assert fractions[-1] == 1.0
    assert heard[-1].seconds_left == 0.0
    assert all(event.seconds_left > 0.0 for event in heard[:-1])
    np.testing.assert_array_equal(model.filled_, CoManifold().fit(X).filled_)


@pytest.mark.parametrize(
    "parameters", [{}, {"n_passes": 2}, {"scale_weights": "cost"}, {"embedding": "isomap"}]
)
@pytest.mark.parametrize("is_complete", [False, True])
def test_all_stages_of_a_fit_are_expected(parameters, is_complete):
    X = np.nan_to_num(holes()) if is_complete else holes()
    model = CoManifold(**parameters)
    heard = []
    model.fit(X, progress=heard.append)
    steps = expected_steps(
        check_settings(model),
        X.shape,
        n_folds=len(np.unique(model.held_out_["fold"])),
        has_missing=not is_complete,
    )
    assert {event.stage for event in heard} == {step.stage for step in steps}


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


def test_tall_matrices_take_longer_by_their_pairs_of_rows():
    tall, square = (CoManifold().expected_seconds(shape) for shape in ((60_000, 20), (1200, 1000)))
    assert tall > 2 * square


def test_other_parameters_are_expected_to_take_longer():
    usual = CoManifold().expected_seconds((800, 300))
    for parameters in ({"penalty": "log"}, {"embedding": "tsne"}, {"keep_scales": True}):
        assert CoManifold(**parameters).expected_seconds((800, 300)) > usual
    assert CoManifold(n_jobs=2).expected_seconds((800, 300)) < usual


class Clock:
    """A clock that is set by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_the_time_left_is_corrected_by_what_steps_took():
    clock = Clock()
    steps = [Step("a", 10.0, "first"), Step("b", 10.0, "second"), Step("c", 80.0, "second")]
    left = TimeLeft(steps, clock)
    assert (left.fraction, left.seconds) == (0.0, 100.0)
    left.begin("a")
    assert left.seconds == pytest.approx(100.0)
    clock.now += 30.0  # three times as long as expected
    left.begin("b")
    assert 180.0 < left.seconds < 270.0
    clock.now += 30.0
    left.begin("c")
    assert 200.0 < left.seconds < 245.0
    before = left.fraction
    clock.now += 200.0
    left.update(0.5)
    assert left.fraction >= before
    clock.now += 200.0
    left.finish()
    assert (left.fraction, left.seconds) == (1.0, 0.0)


def test_steps_that_are_skipped_or_not_expected_do_no_harm():
    clock = Clock()
    left = TimeLeft([Step(name, 5.0, name) for name in "abc"], clock)
    left.begin("b")
    assert left.seconds == pytest.approx(10.0)
    left.begin("x")
    clock.now += 1.0
    left.begin("c")
    assert 0.0 < left.seconds < 10.0


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
