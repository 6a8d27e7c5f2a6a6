"""Parallel paths with the same bits on any backend, one BLAS thread, and plain interrupts."""

import _thread
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from oracles.fits import assert_same_fit, holes, scales_of
from threadpoolctl import threadpool_info, threadpool_limits

from comanifold import CoManifold
from comanifold._fit import messages as _messages
from comanifold._fit import sweep as _sweep
from comanifold._parallel import (
    map_in_threads,
    plain_interrupts,
    single_threaded_blas,
)


@contextmanager
def two_workers():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with two_workers() as client, client.as_current():
        yield client


@pytest.mark.parametrize("backend", ["threading", "loky", "sequential"])
def test_workers_of_joblib_give_the_same_bits(backend):
    X = holes()
    with parallel_config(backend, n_jobs=2):
        model = CoManifold(n_passes=2, keep_scales=True).fit(X)
    alone = CoManifold(n_passes=2, keep_scales=True).fit(X)
    assert_same_fit(model, alone)
    for scale in scales_of(alone):
        at = scale.l, scale.k
        np.testing.assert_array_equal(model.estimate_at(*at), alone.estimate_at(*at))


def test_a_backend_that_cannot_be_used_is_refused_at_once_with_one_that_can(monkeypatch):
    model = CoManifold()
    monkeypatch.setattr("comanifold._fit.passes.HeldOut", None)  # no work has begun
    for n_jobs in (1, 2):
        with (
            parallel_config("multiprocessing", n_jobs=n_jobs),
            pytest.raises(ValueError, match=r"backend 'multiprocessing'.*parallel_config.*loky"),
        ):
            model.fit(holes())


def _fit_within_workers():
    (model,) = Parallel(1)([delayed(CoManifold().fit)(holes())])
    return model


def test_fits_deep_inside_workers_of_joblib_give_the_same_bits():
    with parallel_config("threading", n_jobs=2):
        inner = delayed(lambda: Parallel(2)([delayed(_fit_within_workers)()] * 2)[0])
        models = Parallel(2)([inner()] * 2)
    for model in models:
        assert_same_fit(model, CoManifold().fit(holes()))


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_traversal_of_the_paper_ends_at_the_same_scale(backend):
    X = holes(seed=1)
    with parallel_config(backend, n_jobs=2):
        model = CoManifold.as_in_the_paper().fit(X)
    assert_same_fit(model, CoManifold.as_in_the_paper().fit(X))


def test_arrays_that_processes_get_as_files_give_the_same_bits():
    # From a megabyte on, joblib hands over arrays as files that can only be read.
    X = holes(400, 330)
    options = {"scale_weights": "cost", "start_scale": 4, "traversal": "paper"}
    with parallel_config("loky", n_jobs=2):
        model = CoManifold(**options).fit(X)
    assert_same_fit(model, CoManifold(**options).fit(X))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"traversal": "paper", "keep_scales": True},
        {"scale_weights": "cost", "n_passes": 2},
    ],
)
def test_a_dask_cluster_gives_the_same_bits(parameters):
    X = holes()
    with parallel_config("dask"):
        model = CoManifold(**parameters).fit(X)
    assert_same_fit(model, CoManifold(**parameters).fit(X))


def test_a_cluster_of_one_worker_gives_the_same_bits():
    distributed = pytest.importorskip("distributed")
    X = holes()
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        parallel_config("dask", client=client),
    ):
        model = CoManifold().fit(X)
    assert_same_fit(model, CoManifold().fit(X))


@pytest.mark.usefixtures("client")
def test_what_the_paths_share_is_sent_to_dask_once(monkeypatch):
    surfaces, matrices = [], []

    def counted(pickled):
        def reduce(self, protocol):
            pickled.append(self)
            return object.__reduce_ex__(self, protocol)

        return reduce

    for kind, pickled in (("SentSurface", surfaces), ("PackedMatrix", matrices)):
        method = counted(pickled)
        monkeypatch.setattr(getattr(_messages, kind), "__reduce_ex__", method, raising=False)
    with parallel_config("dask"):
        model = CoManifold(scale_weights="cost", n_passes=2, first_graphs="masked").fit(holes())
    # For each of the two surfaces to the scheduler, which is in this process, and from there to
    # one of the workers; not with each of the paths. The matrix once for both.
    assert len(scales_of(model)) > 20
    assert 1 <= len(surfaces) <= 4
    assert 1 <= len(matrices) <= 2


def _count_sent_bytes():
    """Count what this process sends over the connections of Dask."""
    from distributed.comm.tcp import TCP

    write = TCP.write
    TCP.n_sent = 0

    async def counted(self, *arguments, **options):
        n_bytes = await write(self, *arguments, **options)
        TCP.n_sent += n_bytes
        return n_bytes

    TCP.write, TCP.write_uncounted = counted, write


def _stop_counting():
    from distributed.comm.tcp import TCP

    TCP.write = TCP.write_uncounted
    return TCP.n_sent


@pytest.mark.parametrize("scale_weights", ["learned", "cost"])
def test_little_goes_over_the_network(client, scale_weights):
    X = holes(400, 330)
    _count_sent_bytes()
    client.run(_count_sent_bytes)
    with parallel_config("dask"):
        model = CoManifold(scale_weights=scale_weights).fit(X)
    n_sent = sum(client.run(_stop_counting).values()) + _stop_counting()
    # About 10 times here, more or less as paths move between the workers; less for a large matrix
    # (benchmarks/parallel.py), and more than 50 if sums and problems were sent.
    assert X.nbytes < n_sent < 13 * X.nbytes
    assert_same_fit(model, CoManifold(scale_weights=scale_weights).fit(X))


@pytest.mark.parametrize("n_saved", [0, 7, 30])
def test_a_killed_worker_of_dask_costs_no_results(tmp_path, n_saved):
    X = holes(60, 80)
    is_fitted = threading.Event()

    def kill(worker):
        while len(list(tmp_path.glob("*.npz"))) < n_saved and not is_fitted.is_set():
            time.sleep(0.005)
        os.kill(worker, signal.SIGKILL)

    # A cluster of its own: it does not always start another worker in its place.
    with two_workers() as client:
        worker = next(iter(client.run(os.getpid).values()))
        killer = threading.Thread(target=kill, args=(worker,))
        killer.start()
        with parallel_config("dask", client=client):
            model = CoManifold(checkpoint=tmp_path).fit(X)
        n_files = len(list(tmp_path.glob("*.npz")))
        is_fitted.set()
        killer.join()
        assert n_files > n_saved
        assert worker not in client.run(os.getpid).values()
    assert_same_fit(model, CoManifold().fit(X))


def test_what_each_arm_is_sent_is_less_than_what_they_share():
    import pickle

    X = holes(400, 30)
    shared, own = [], []

    def look(function, *arguments):
        if len(arguments) > 1:
            shared.append(len(pickle.dumps(arguments[0])))
            own.append(len(pickle.dumps(arguments[1:])))
        return function(*arguments)

    original = _sweep.in_parallel

    def watched(calls, **options):
        return original(((look, (function, *rest)) for function, rest in calls), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_sweep, "in_parallel", watched)
        CoManifold().fit(X)
    assert np.mean(own) < 0.5 * min(shared)
    # The matrix in its forms and the graphs, and nothing of the size of the distances.
    assert max(shared) < 10 * X.nbytes < 8 * 400**2


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_results_of_threads_come_in_order(n_jobs):
    def wait(number):
        time.sleep(0.01 * (number % 3))
        return number

    items = ((number,) for number in range(12))
    assert list(map_in_threads(wait, items, n_jobs=n_jobs)) == list(range(12))


def test_no_dask_is_loaded_unless_asked_for():
    code = (
        "import sys, numpy as np; from comanifold import CoManifold\n"
        "X = np.random.default_rng(0).normal(size=(8, 7))\n"
        "CoManifold(n_jobs=2, scale_weights='cost').fit(X)\n"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_leave_off_when_a_fit_is_interrupted(monkeypatch):
    def endless(self, start, step):  # noqa: ARG001
        while True:
            time.sleep(0.01)
            yield start

    CoManifold(n_jobs=2).fit(holes())
    before = threading.active_count()
    monkeypatch.setattr(_sweep.Surface, "path", endless)
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        CoManifold(n_jobs=2).fit(holes())
    timer.join()
    deadline = time.monotonic() + 20
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.01)
    assert threading.active_count() == before


FORKS = """
import multiprocessing
import numpy as np
from comanifold import CoManifold
from oracles.fits import holes

def fit(results):
    results.put(CoManifold(n_jobs=2).fit(holes()).row_embedding_)

expected = CoManifold(n_jobs=2).fit(holes()).row_embedding_
context = multiprocessing.get_context("fork")
results = context.Queue()
children = [context.Process(target=fit, args=(results,)) for _ in range(2)]
for child in children:
    child.start()
print([np.array_equal(results.get(timeout=120), expected) for _ in children])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_of_a_process_that_has_fitted_give_the_same_bits():
    done = subprocess.run(
        [sys.executable, "-c", FORKS],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=Path(__file__).parent,
    )
    assert done.stdout.strip() == "[True, True]"


def raise_from(cause):
    try:
        try:
            raise cause
        except BaseException as inner:
            raise SystemError("unpickling returned a result with an exception set") from inner
    except SystemError as inner:
        raise SystemError("a kernel returned a result with an exception set") from inner


def test_an_interrupt_behind_an_error_of_the_interpreter_is_an_interrupt():
    # The same one, which may know what it came from.
    interrupt = KeyboardInterrupt("as asked")
    with pytest.raises(KeyboardInterrupt) as caught, plain_interrupts():
        raise_from(interrupt)
    assert caught.value is interrupt


def test_other_errors_of_the_interpreter_stay_what_they_are():
    with pytest.raises(SystemError, match="a kernel"), plain_interrupts():
        raise_from(ValueError())


def n_threads():
    """Threads of each library; some can have only one."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def can_have_two_threads():
    """Return whether a library takes a second thread, also where it was started with one."""
    with threadpool_limits(2, user_api="blas"):
        return max(n_threads(), default=1) == 2


two_threads = pytest.mark.skipif(not can_have_two_threads(), reason="needs two threads")


def in_thread(function):
    result = []
    thread = threading.Thread(target=lambda: result.append(function()))
    thread.start()
    thread.join()
    return result[0]


def limited():
    with single_threaded_blas():
        return set(n_threads())


@two_threads
def test_any_thread_can_set_the_limit_after_another_has():
    """The first thread that set it was the only one that could."""
    before = n_threads()
    assert limited() == {1}
    assert in_thread(limited) == {1}
    assert limited() == {1}
    with threadpool_limits(2, user_api="blas"):
        inside = n_threads()
        assert max(inside) == 2
        assert limited() == {1}
        assert in_thread(limited) == {1}
        assert n_threads() == inside
    assert n_threads() == before


@two_threads
def test_the_last_caller_restores_the_limit_of_another_thread():
    before = n_threads()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with single_threaded_blas():
            entered.set()
            leave.wait(10)

    with threadpool_limits(2, user_api="blas"):
        inside = n_threads()
        assert max(inside) == 2
        with single_threaded_blas():
            other = threading.Thread(target=hold)
            other.start()
            entered.wait(10)
        assert set(n_threads()) == {1}
        leave.set()
        other.join()
        assert n_threads() == inside
    assert n_threads() == before
