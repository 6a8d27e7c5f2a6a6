"""A million sparse ratings by GraphCompletion("factors"): CPU time and error, against ALS.

    python benchmarks/graph_completion.py [--entries 1000000] [--rows 6000] [--columns 4000]
    python benchmarks/graph_completion.py --errors

Synthetic ratings: effects of rows and columns, communities of both, a few tastes that vary within
them, and noise. The rival is alternating least squares without graphs, with exact solutions for
each row and column, in NumPy: as many rounds as it takes to reach the objective of our fit without
graphs at the same penalty. Our time is also compared with that of the products P(D H') H which the
steps would need without the blocks of the Hessian.
Errors are root mean square differences from the ratings without noise, at entries not observed.

With --errors instead: errors on removed entries of some matrices, in standard deviations of these,
by all kinds of GraphCompletion with graphs of nearest neighbours, SoftImpute and CoManifold; means
of two masks, and CPU seconds. For lung500 set COMANIFOLD_DATA.
"""

# ruff: noqa: E402

import argparse
import os
import time
import warnings

# Before NumPy and Numba are imported: they read these once.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from _problems import lung500
from scipy import sparse
from sklearn.datasets import load_digits, load_wine

from comanifold import CoManifold, Graph
from comanifold.baselines import GraphCompletion, SoftImpute
from comanifold.baselines._graph_data import Entries, effects_of_entries
from comanifold.baselines._graph_factors import FactorCosts, FactorProblem
from comanifold.baselines._graph_solvers import Stopping
from comanifold.datasets import make_checkerboard, remove_entries

RANK = 10
N_TEST = 100_000

MODELS = {
    "CoManifold": CoManifold(),
    "SoftImpute": SoftImpute(),
    "dirichlet": GraphCompletion(),
    "bic": GraphCompletion(selection="bic"),
    "nuclear": GraphCompletion("nuclear"),
    "factors": GraphCompletion("factors"),
    "no graphs": GraphCompletion("factors", row_cost=0.0, column_cost=0.0),
    "l1": GraphCompletion(loss="l1"),
}

# Products for one round: five steps and the gradient, for both factors.
PRODUCTS_IN_ROUND = 12


class Ratings:
    """Synthetic ratings and graphs of their communities."""

    def __init__(self, n_rows, n_columns, n_entries, seed=0):
        rng = np.random.default_rng(seed)
        self.shape = n_rows, n_columns
        self.effects = [0.5 * rng.normal(size=n) for n in self.shape]
        groups = [rng.integers(n // 40, size=n) for n in self.shape]
        self.tastes = [
            (rng.normal(size=(labels.max() + 1, 5))[labels] + 0.3 * rng.normal(size=(n, 5))) / 3
            for labels, n in zip(groups, self.shape, strict=True)
        ]
        self.graphs = [community_graph(labels, rng) for labels in groups]
        flat = rng.choice(n_rows * n_columns, n_entries + N_TEST, replace=False)
        places = np.divmod(flat, n_columns)
        self.test = [index[n_entries:] for index in places]
        rows, columns = (index[:n_entries] for index in places)
        values = self.at(rows, columns) + 0.8 * rng.normal(size=n_entries)
        self.X = sparse.csr_array((values, (rows, columns)), shape=self.shape)

    def at(self, rows, columns):
        """Return ratings without noise."""
        product = np.einsum("ij,ij->i", self.tastes[0][rows], self.tastes[1][columns])
        return 3.0 + self.effects[0][rows] + self.effects[1][columns] + product

    def error(self, predicted):
        """Return the error of predictions of the test entries."""
        return np.sqrt(np.mean((predicted - self.at(*self.test)) ** 2))


def community_graph(labels, rng):
    """Return a graph in which every node is joined to five others of its community."""
    order = np.lexsort((rng.random(len(labels)), labels))
    edges = [np.column_stack([order[:-k], order[k:]]) for k in range(1, 6)]
    edges = np.concatenate(edges)
    return Graph(len(labels), edges[labels[edges[:, 0]] == labels[edges[:, 1]]])


def timed(call):
    """Return the result of a call, and the CPU seconds it took."""
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def least_squares(X, H, penalty):
    """Return the factor of the rows of X with the other one fixed, exactly."""
    W = np.zeros((X.shape[0], H.shape[1]))
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        h = H[X.indices[part]]
        W[i] = np.linalg.solve(h.T @ h + penalty * np.eye(H.shape[1]), h.T @ X.data[part])
    return W


def alternate(problem, costs, goal, start):
    """Return the rounds of alternating least squares until the objective is at most `goal`."""
    X, (_, H) = problem.X, start
    T = X.T.tocsr()
    n_rounds, value = 0, np.inf
    while value > goal and n_rounds < 100:
        W = least_squares(X, H, costs.penalty)
        H = least_squares(T, W, costs.penalty)
        n_rounds, value = n_rounds + 1, problem.objective(W, H, costs)
    return n_rounds


def matrices():
    """Yield names and complete matrices."""
    X, name = lung500(0.0)
    yield name, X
    yield "digits, 500 rows", load_digits().data[:500]
    wine = load_wine().data
    yield "wine", (wine - wine.mean(axis=0)) / wine.std(axis=0)
    rng = np.random.default_rng(0)
    tastes = rng.dirichlet([0.4, 0.4, 0.4], size=300) @ rng.normal(size=(3, 120))
    ratings = 3.0 + tastes + 0.4 * rng.normal(size=120)
    yield "ratings, 300 x 120", ratings + 0.5 * rng.normal(size=ratings.shape)
    yield "checkerboard", make_checkerboard(random_state=0).X


def compare_errors():
    """Print errors of all models on all matrices."""
    warnings.simplefilter("ignore")
    print(f"{'matrix':20} missing " + " ".join(f"{name:>15}" for name in MODELS))
    for name, complete in matrices():
        for fraction in (0.5, 0.8):
            cells = []
            for model in MODELS.values():
                errors, times = [], []
                for seed in (10, 11):
                    X = remove_entries(complete, fraction, random_state=seed)
                    missing = np.isnan(X)
                    _, seconds = timed(lambda model=model, X=X: model.fit(X))
                    off = (model.filled_ - complete)[missing]
                    errors.append(np.sqrt(np.mean(off**2)) / complete[missing].std())
                    times.append(seconds)
                cells.append(f"{np.mean(errors):7.3f} {min(times):5.1f} s")
            print(f"{name:20} {fraction:7.0%} " + " ".join(f"{c:>15}" for c in cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--columns", type=int, default=4000)
    parser.add_argument("--errors", action="store_true", help="errors on small matrices instead")
    options = parser.parse_args()
    if options.errors:
        compare_errors()
        return
    small = Ratings(400, 300, 5000)
    graphs = dict(zip(("row_graph", "column_graph"), small.graphs, strict=True))
    GraphCompletion("factors", absent="missing", **graphs).fit(small.X)  # compile

    data = Ratings(options.rows, options.columns, options.entries)
    graphs = dict(zip(("row_graph", "column_graph"), data.graphs, strict=True))
    print(f"{data.X.nnz} entries of {data.shape[0]} x {data.shape[1]}, rank {RANK}; CPU seconds\n")
    model = GraphCompletion("factors", rank=RANK, absent="missing")
    runs = {
        "settings chosen, no graphs": model,
        "settings chosen, both graphs": GraphCompletion(**{**model.get_params(), **graphs}),
    }
    for name, run in runs.items():
        _, seconds = timed(lambda run=run: run.fit(data.X))
        offsets = run.mean_ + run.row_effects_[data.test[0]] + run.column_effects_[data.test[1]]
        print(
            f"{name:30} {seconds:7.2f} s   error {data.error(run.predict_entries(*data.test)):.3f}"
            f"   (effects alone {data.error(offsets):.3f})"
        )

    _, entries = effects_of_entries(Entries.of_sparse(data.X))
    problem = FactorProblem(entries, None, None)
    costs = FactorCosts(model.penalty_, 0.0, 0.0)
    start = problem.start(RANK)
    found, ours = timed(lambda: problem.solve(costs, Stopping(1e-4, 100), start))
    n_rounds, other = timed(lambda: alternate(problem, costs, found.history[-1], start))
    W, H = found.W, found.H
    _, one = timed(lambda: [problem.rows.multiply(W, H, 1.0, 0.0) for _ in range(10)])
    bound = one / 10 * PRODUCTS_IN_ROUND * found.n_iter
    print(f"\nat penalty {costs.penalty:.3g}, no graphs, from the same start:")
    print(f"{'ours':30} {ours:7.2f} s   {found.n_iter} rounds")
    print(f"{'ALS to the same objective':30} {other:7.2f} s   {n_rounds} rounds")
    print(f"ratio ALS / ours {other / ours:.1f}; ours / its products alone {ours / bound:.2f}")


if __name__ == "__main__":
    main()
