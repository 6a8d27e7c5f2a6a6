"""Expected time: a model of the steps of a fit, and its correction while they are carried out."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from .._parallel import single_threaded_blas
from ..model_selection import expected_folds
from .settings import Settings

# The stages that solve surfaces.
PASSES = ("learning weights", "solving")

# Seconds on the machine on which `speed_factor` is 1, from the processor time of the stages of fits
# from 30 x 40 to 30,000 x 20, 60% missing, of lung500 and of 700 single cells:
# `python benchmarks/announced.py --stages` prints them beside the model. The data matter: single
# steps differ from the model by up to three times, their sum by less.
#
# To complete a matrix: for each fold, and for each entry. The part that a single fold takes before
# its surface is solved; and what the whole matrix takes from there.
_COMPLETING, _COMPLETED_FIRST, _COMPLETED_FROM_FOLD = (0.02, 1.7e-6), 0.67, 0.1
# Graphs and first scale: for each product of two entries, distance and entry; those of the whole
# matrix, which start from the ones of a fold, are a part of it.
_GRAPHS, _GRAPHS_OF_ALL = (1.5e-10, 4e-8, 7e-7), 0.6
# Pairs of near points, where not all distances are computed: for each pair, point and entry.
_NEAR_PAIRS = 1e-8, 6e-5, 4e-7
# The surface with entries held out: for any matrix, for each row and column, and for each entry.
_SURFACE = 0.012, 6e-5, 7e-7
# The whole surface, of which only a part is needed if weights are learned.
_SURFACE_OF_ALL, _PART_NEEDED = 1.5, 0.4
# To add up the distances of a scale or completion: for each product and distance. How many have a
# learned weight, and how many scales there are.
_ADDING, _N_MEMBERS, _N_SCALES = (5e-11, 1.3e-8), 3, 100
# Completions with a weight, and variances: for any matrix, and for each entry.
_DISTANCES = 0.015, 2e-7
_STRUCTURE = 0.03, 3e-8
# Diffusion maps: for each dense distance, and for each point with sparse ones.
_DENSE_MAP, _SPARSE_MAP = 1.7e-7, 1.5e-4
# Clusters of a mode: for any, for each point, and for each entry.
_CLUSTERS = 0.08, 6e-5, 2e-7

# Other embeddings: for each point, and for each distance.
_LAYOUTS = {"tsne": (3e-3, 0.0), "umap": (1e-3, 0.0), "isomap": (0.0, 2e-7), "mds": (0.0, 4e-7)}

# Other penalties: the seconds of a surface over those of the snowflake, on lung500 and on 400 x 300
# entries; and for the linear penalty, for each pair of entries.
_SLOWER_PENALTIES = {"Log": 20.0, "MCP": 11.0}
_LINEAR = 4e-9

# Loading the compiled kernels, in the first fit of a process.
_LOADING = 0.8

# The part of a step that is done by other threads, with many of them: most of it for steps that do
# not need the ones before, little where one scale takes long. From the processor time of tasks, on
# two threads, of 300 x 200 to 2,000 x 1,500 entries.
_PARALLEL = {
    "completing": 0.9,
    "graphs": 0.7,
    "surface": 0.5,
    "distances": 1.0,
    "structure": 1.0,
    "clusters": 0.8,
}

# Seconds of `speed_factor` there.
_REFERENCE = 1.5e-3

# The share of all steps that must be done until what they took counts as much as the model. With
# less, the first step alone decides; with more, a busy machine is found out late.
_TRUST = 0.05

# The same for the steps of one kind.
_TRUST_OF_KIND = 0.3


class Step(NamedTuple):
    """A step of a fit.

    Attributes
    ----------
    stage : str
        See `FitProgress`.
    seconds : float
        How long it is expected to take, relative to other steps.
    kind : str
        Steps of the same kind are expected to differ from the model by the same factor.
    """

    stage: str
    seconds: float
    kind: str


class TimeLeft:
    """The time that the steps of a run still take, corrected by what the finished ones took.

    A step of e expected seconds is predicted to take e r_k. The factor r_k of its kind is that of
    the finished steps of this kind, and as long as these are few, that of all finished steps; this
    is 1 at the start.

    Parameters
    ----------
    steps : iterable of Step
    clock : callable, default=time.monotonic

    Attributes
    ----------
    fraction : float
        The finished part of the time of all steps, as of the last call of `update`. It never falls.
    seconds : float
        What is left.
    """

    def __init__(self, steps: Iterable[Step] = (), clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._started = self._step_started = clock()
        self._left = list(steps)
        self._total = sum(step.seconds for step in self._left)
        self._done: list[tuple[Step, float]] = []  # and the seconds that each took
        self._current: Step | None = None
        self.fraction = 0.0
        self.seconds = self._total

    def replan(self, steps: Iterable[Step]) -> None:
        """Replace the steps that are still to come."""
        self._left = list(steps)
        known = [step for step, _ in self._done] + ([self._current] if self._current else [])
        self._total = sum(step.seconds for step in [*known, *self._left])

    def begin(self, stage: str) -> None:
        """Finish the current step and begin the next one of a stage; those before it are skipped.

        A stage that is not expected adds a step of no expected time.
        """
        self._finish_step()
        places = [i for i, step in enumerate(self._left) if step.stage == stage]
        if places:
            self._current = self._left[places[0]]
            del self._left[: places[0] + 1]
        else:
            self._current = Step(stage, 0.0, stage)
        self.update()

    def update(self, share: float = 0.0) -> None:
        """Predict the time that is left, with a share of the current step done."""
        now = self._clock()
        expected: dict[str, float] = defaultdict(float)
        measured: dict[str, float] = defaultdict(float)
        left: dict[str, float] = defaultdict(float)
        for step, seconds in self._done:
            expected[step.kind] += step.seconds
            measured[step.kind] += seconds
        for step in self._left:
            left[step.kind] += step.seconds
        if self._current is not None:
            kind, seconds = self._current.kind, self._current.seconds
            expected[kind] += share * seconds
            measured[kind] += now - self._step_started
            left[kind] += (1.0 - share) * seconds
        prior = _TRUST * self._total
        factor = _ratio(sum(measured.values()) + prior, sum(expected.values()) + prior)
        self.seconds = 0.0
        for kind, seconds in left.items():
            prior = _TRUST_OF_KIND * (expected[kind] + seconds)
            self.seconds += seconds * _ratio(
                measured[kind] + prior * factor, expected[kind] + prior
            )
        elapsed = now - self._started
        if elapsed + self.seconds > 0.0:
            self.fraction = max(self.fraction, elapsed / (elapsed + self.seconds))

    def finish(self) -> None:
        """Finish the last step."""
        self._finish_step()
        self._left = []
        self.fraction, self.seconds = 1.0, 0.0

    def _finish_step(self) -> None:
        now = self._clock()
        if self._current is not None:
            self._done.append((self._current, now - self._step_started))
        self._current, self._step_started = None, now


def _ratio(measured: float, expected: float) -> float:
    return measured / expected if expected > 0.0 else 1.0


def expected_steps(
    settings: Settings,
    shape: tuple[int, int],
    *,
    n_folds: int | None = None,
    has_missing: bool = True,
    embedding: Any = "diffusion",
    n_jobs: int | None = None,
) -> list[Step]:
    """Return the steps of a fit, with the seconds that they take once everything is compiled.

    Parameters
    ----------
    settings : Settings
    shape : tuple of int
    n_folds : int, optional
        By default as many as are usual for this shape, with half of the entries missing.
    has_missing : bool, default=True
        Whether entries are missing, without which there are no folds and a single pass.
    embedding, n_jobs
        Parameters of `CoManifold`.
    """
    if n_folds is None:
        usual = expected_folds(shape[0] * shape[1] // 2)
        n_folds = usual if settings.learns_weights and has_missing else 0
    model = _CostModel(settings, shape)
    n_passes = settings.n_passes if has_missing else 1
    completed_first = _COMPLETED_FIRST if n_folds == 1 else 1.0
    completing = completed_first * model.completing()
    steps = [Step("completing", completing, "completing") for _ in range(n_folds)]
    for _ in range(n_folds):
        steps += model.passes(n_passes, is_fold=True, is_completed=True)
    if n_folds:
        completing = (1.0 - completed_first + _COMPLETED_FROM_FOLD) * model.completing()
        steps.append(Step("completing", completing, "completing"))
    steps += model.passes(n_passes, is_fold=False, is_completed=n_folds > 0)
    steps.append(Step("distances", _linear(_DISTANCES, model.n_entries), "distances"))
    steps.append(Step("structure", _linear(_STRUCTURE, model.n_entries), "structure"))
    for mode in (0, 1):
        steps.append(Step("embedding", model.embedding(embedding, mode), "embedding"))
    for mode in (0, 1):
        steps.append(Step("clusters", model.clusters(mode), "clusters"))
    n_workers = effective_n_jobs(n_jobs)
    factor = speed_factor()
    steps = [
        step._replace(seconds=factor * step.seconds * _parallel_time(step.kind, n_workers))
        for step in steps
    ]
    if not _is_loaded():
        steps[0] = steps[0]._replace(seconds=steps[0].seconds + factor * _LOADING)
    return steps


class _CostModel:
    """Seconds of the steps of a fit, with a single worker, on the reference machine."""

    def __init__(self, settings: Settings, shape: tuple[int, int]):
        self._settings, self._shape = settings, shape
        self._n_candidates = settings.n_candidates(shape)
        self.n_entries = shape[0] * shape[1]
        dense = [size for size, few in zip(shape, self._n_candidates, strict=True) if few is None]
        self._n_products = float(self.n_entries * sum(dense))
        self._n_distances = float(sum(size**2 for size in dense))

    def completing(self) -> float:
        return _linear(_COMPLETING, self.n_entries)

    def passes(self, n_passes: int, *, is_fold: bool, is_completed: bool) -> list[Step]:
        """Return the steps of all passes over the matrix, or over one with entries held out."""
        settings = self._settings
        is_completed = is_completed or settings.first_graphs == "masked"
        steps = []
        for number in range(1, n_passes + 1):
            is_last = number == n_passes
            graphs = self._graphs(with_pairs=number == 1)
            if not is_fold and is_completed:
                graphs *= _GRAPHS_OF_ALL
            if number == 1 and not is_completed:
                graphs += 0.3 * self.completing()
            surface = self._surface()
            if not is_fold:
                has_part = settings.learns_weights and is_last and not settings.keep_scales
                surface *= _SURFACE_OF_ALL * (_PART_NEEDED if has_part else 1.0)
            if not (is_fold and is_last):
                n_added = _N_MEMBERS if settings.learns_weights and is_last else _N_SCALES
                surface += n_added * self._adding()
            stage = "learning weights" if is_fold else "solving"
            steps += [Step("graphs", graphs, "graphs"), Step(stage, surface, "surface")]
        return steps

    def _graphs(self, *, with_pairs: bool) -> float:
        product, distance, entry = _GRAPHS
        seconds = product * self._n_products + distance * self._n_distances
        seconds += entry * self.n_entries
        pair, point, entry = _NEAR_PAIRS
        for size, few in zip(self._shape, self._n_candidates, strict=True):
            if few is not None and with_pairs:
                seconds += pair * size**2 + point * size + entry * self.n_entries
        return seconds

    def _surface(self) -> float:
        constant, point, entry = _SURFACE
        seconds = constant + point * sum(self._shape) + entry * self.n_entries
        name = type(self._settings.penalty).__name__
        if name == "Linear":
            return seconds + _LINEAR * float(self.n_entries) ** 2
        return seconds * _SLOWER_PENALTIES.get(name, 1.0)

    def _adding(self) -> float:
        product, distance = _ADDING
        n_sparse = sum(
            size * few
            for size, few in zip(self._shape, self._n_candidates, strict=True)
            if few is not None
        )
        return product * self._n_products + distance * (self._n_distances + n_sparse)

    def embedding(self, embedding: Any, mode: int) -> float:
        size = self._shape[mode]
        if isinstance(embedding, str) and embedding in _LAYOUTS:
            point, distance = _LAYOUTS[embedding]
            return point * size + distance * size**2
        return _DENSE_MAP * size**2 if self._n_candidates[mode] is None else _SPARSE_MAP * size

    def clusters(self, mode: int) -> float:
        constant, point, entry = _CLUSTERS
        return constant + point * self._shape[mode] + entry * self.n_entries


def _linear(constants: tuple[float, float], size: float) -> float:
    constant, slope = constants
    return constant + slope * size


def _parallel_time(kind: str, n_workers: int) -> float:
    """Return the time of a step with several workers over that with one."""
    part = _PARALLEL.get(kind, 0.0)
    return 1.0 - part + part / n_workers


@lru_cache(maxsize=1)
def speed_factor() -> float:
    """Return how much slower this machine is than the one on which the model was measured.

    A few hundredths of a second, once per process: products and sorting, of which a fit consists
    besides compiled loops. The shortest of some repetitions, because a fit runs long enough for
    other load to be found out while it runs.
    """
    rng = np.random.default_rng(0)
    A = rng.random((300, 300))
    times = []
    with single_threaded_blas():
        for _ in range(5):
            start = time.perf_counter()
            A @ A.T
            np.sort(A, axis=1)
            np.sqrt(A).sum()
            times.append(time.perf_counter() - start)
    return float(np.clip(min(times) / _REFERENCE, 0.2, 10.0))


def _is_loaded() -> bool:
    """Return whether a fit has loaded the compiled kernels into this process before."""
    from .. import metrics

    return bool(metrics._add_distances.signatures)
