"""The methods that the paper cites, on matrices where it is known what they should find.

Each line has a method, its score, and the ratio of that to the score of the first line of its
table, which is what one would do without the method.

    python benchmarks/cited.py                          # ten masks each; a quarter of an hour
    python benchmarks/cited.py --masks 3 --only distances,graphs

- distances: `RepairedDistances` of the subjects of lung500 and of points on curved sheets.
- few rows: distances between few rows with nearly all of thousands of entries missing.
- graphs: `GraphCompletion` of communities with known graphs, of ratings, and with gross outliers.
- trees: `Questionnaire` on lung500; neighbours and groups in strong noise, with `metric="tree"`.
- surfaces: `UnsupervisedRegression` on the columns of both linkage data sets.

Groups are those of k-means with the true number, scored by the adjusted Rand index. lung500 needs
COMANIFOLD_DATA or a download.
"""

import argparse
import warnings
from collections import defaultdict

import numpy as np
from graph_completion import Ratings
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import trustworthiness
from threadpoolctl import threadpool_limits

from comanifold import CoManifold, DiffusionMap, Graph, masked_distances
from comanifold.baselines import (
    GraphCompletion,
    Questionnaire,
    RepairedDistances,
    SoftImpute,
    UnsupervisedRegression,
)
from comanifold.datasets import load_lung500, make_linkage, make_linkage2, remove_entries
from comanifold.experiments._units import rand_index

N_NEIGHBORS = 10
REPAIRS = {"raised": "increase-only", "kernel-corrected": "kernel"}


class Scores:
    """Scores of methods in tables, printed as means over masks."""

    def __init__(self):
        self.tables = defaultdict(lambda: defaultdict(list))

    def add(self, table, method, score):
        self.tables[table][method].append(score)

    def print(self):
        for table, lines in self.tables.items():
            print(f"\n{table}, {len(next(iter(lines.values())))} masks")
            first = np.mean(next(iter(lines.values())))
            for method, scores in lines.items():
                mean = np.mean(scores)
                print(f"  {method:28s} {mean:6.3f} +- {np.std(scores):.3f}  {mean / first:6.2f}")
        self.tables.clear()


def missing_error(filled, complete, X):
    """Return the error of the missing entries of X, in standard deviations of all."""
    return np.sqrt(np.mean((filled - complete)[np.isnan(X)] ** 2)) / complete.std()


def scaled_error(distances, truth):
    """Return the relative error of finite distances, times the factor with which it is least."""
    upper = np.triu_indices(len(truth), 1)
    d, t = distances[upper], truth[upper]
    d, t = d[np.isfinite(d)], t[np.isfinite(d)]
    return np.linalg.norm(d * (d @ t) / (d @ d) - t) / np.linalg.norm(t)


def recall(distances, truth):
    """Return the share of the nearest points that are found."""
    found, true = (np.argsort(d, axis=1)[:, 1 : N_NEIGHBORS + 1] for d in (distances, truth))
    return np.mean([len(set(a) & set(b)) / N_NEIGHBORS for a, b in zip(found, true, strict=True)])


def random_waves(points, n_columns, rng):
    """Return smooth functions of the points: sums of cosines in random directions."""
    directions = rng.normal(size=(points.shape[1], 60)) / 0.4
    waves = np.cos(points @ directions + rng.uniform(0, 2 * np.pi, 60))
    return waves @ rng.normal(size=(60, n_columns))


def swiss_roll(points, n_columns, rng):
    """Return a rolled sheet, in random directions of a space of so many dimensions."""
    angle = 1.5 * np.pi * (1.0 + 2.0 * points[:, 0])
    roll = np.column_stack([angle * np.cos(angle), 21.0 * points[:, 1], angle * np.sin(angle)])
    return roll @ rng.normal(size=(3, n_columns))


def distances(scores, seed):
    data = load_lung500()
    complete = data.X.T
    truth = masked_distances(complete)
    for fraction in (0.8, 0.9):
        X = remove_entries(complete, fraction, random_state=1000 * seed + round(100 * fraction))
        found = {"masked": (masked_distances(X), DiffusionMap(3).fit_transform(X))}
        for name, method in REPAIRS.items():
            model = RepairedDistances(method, 3, embedding="diffusion").fit(X)
            found[name] = model.distances_, model.embedding_
        for name, (lengths, points) in found.items():
            table = f"lung500 subjects, {fraction:.0%} missing: "
            scores.add(table + "Rand index", name, rand_index(points, data.column_labels))
            scores.add(table + "error of distances", name, scaled_error(lengths, truth))
    for make in (random_waves, swiss_roll):
        rng = np.random.default_rng(seed)
        points = rng.uniform(size=(300, 2))
        X = make(points, 30, rng)
        X = remove_entries(X, 0.6, random_state=seed)
        found = {"masked": DiffusionMap(2).fit_transform(X)}
        for name, method in REPAIRS.items():
            found[name] = RepairedDistances(method, 2, embedding="diffusion").fit_transform(X)
        for name, embedded in found.items():
            table = f"{make.__name__.replace('_', ' ')}, 300 x 30, 60% missing: trustworthiness"
            scores.add(table, name, trustworthiness(points, embedded, n_neighbors=N_NEIGHBORS))


def few_rows(scores, seed):
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(4, 5000))
    complete = groups[rng.integers(4, size=80)] + rng.normal(size=(80, 5000))
    truth = squareform(pdist(complete))
    X = remove_entries(complete, 0.97, random_state=seed)
    table = "80 x 5,000, 97% missing: error of distances"
    scores.add(table, "CoManifold", scaled_error(CoManifold().fit(X).row_distances_, truth))
    scores.add(table, "masked", scaled_error(masked_distances(X), truth))
    for name, method in REPAIRS.items():
        scores.add(table, name, scaled_error(RepairedDistances(method, 1).fit(X).distances_, truth))


def graphs(scores, seed):
    rng = np.random.default_rng(seed)
    labels = [rng.integers(10, size=size) for size in (150, 200)]
    clean = rng.normal(size=(10, 10))[np.ix_(*labels)]
    noisy = clean + 0.1 * rng.normal(size=clean.shape)
    X = remove_entries(noisy, 0.9, random_state=seed)
    known = [group_graph(of_mode, rng) for of_mode in labels]
    table = "communities, 150 x 200, a tenth observed: error"
    without = GraphCompletion("factors", row_cost=0.0, column_cost=0.0).fit(X)
    scores.add(table, "factors without graphs", missing_error(without.filled_, clean, X))
    scores.add(table, "CoManifold", missing_error(CoManifold().fit(X).filled_, clean, X))
    for regularizer in ("dirichlet", "nuclear", "factors"):
        model = GraphCompletion(regularizer, row_graph=known[0], column_graph=known[1]).fit(X)
        scores.add(table, f"{regularizer} with graphs", missing_error(model.filled_, clean, X))

    data = Ratings(943, 1682, 100_000, seed=seed)
    model = GraphCompletion("factors", absent="missing").fit(data.X)
    offsets = model.mean_ + model.row_effects_[data.test[0]] + model.column_effects_[data.test[1]]
    table = "ratings, 943 x 1,682, 100,000 of them: error"
    scores.add(table, "effects alone", data.error(offsets))
    scores.add(table, "factors without graphs", data.error(model.predict_entries(*data.test)))
    model.set_params(row_graph=data.graphs[0], column_graph=data.graphs[1]).fit(data.X)
    scores.add(table, "factors with graphs", data.error(model.predict_entries(*data.test)))

    complete = load_lung500().X
    hit = rng.random(complete.shape) < 0.1
    size = rng.choice([-1, 1], hit.sum()) * rng.uniform(5, 10, hit.sum())
    X = complete.copy()
    X[hit] += size * complete.std()
    X = remove_entries(X, 0.3, random_state=seed)
    table = "lung500, a tenth gross outliers, 30% missing: error"
    for loss in ("squared", "l1"):
        filled = GraphCompletion(loss=loss).fit(X).filled_
        scores.add(table, f"loss {loss}", missing_error(filled, complete, X))


def group_graph(labels, rng):
    """Return a graph in which every node is joined to up to ten others of its group."""
    edges = set()
    for i, label in enumerate(labels):
        same = np.flatnonzero((labels == label) & (np.arange(len(labels)) != i))
        edges |= {(min(i, j), max(i, j)) for j in rng.permutation(same)[:10].tolist()}
    return Graph(len(labels), sorted(edges))


def trees(scores, seed):
    data = load_lung500()
    for fraction in (0.0, 0.5, 0.8):
        X = data.X.T
        if fraction:
            X = remove_entries(X, fraction, random_state=1000 * seed + round(100 * fraction))
        elif seed:
            continue
        table = f"lung500 subjects, {fraction:.0%} missing: Rand index"
        masked = DiffusionMap(3, bandwidth="local").fit_transform(X)
        scores.add(table, "masked", rand_index(masked, data.column_labels))
        for name, bandwidth in (("questionnaire", "auto"), ("same, local bandwidth", "local")):
            points = Questionnaire(3, bandwidth=bandwidth).fit_transform(X)
            scores.add(table, name, rand_index(points, data.column_labels))

    data = make_linkage2(random_state=seed)
    noise = np.random.default_rng(seed).normal(size=data.X.shape)
    X = data.X + data.X.std() * noise
    rows, columns = (squareform(pdist(points)) for points in (data.row_points, data.column_points))
    table = "linkage2 with noise as strong as the data, nothing missing: "
    for name, model in (
        ("CoManifold", CoManifold(3)),
        ('CoManifold, metric="tree"', CoManifold(3, metric="tree")),
        ("questionnaire", Questionnaire(3)),
    ):
        model.fit(X)
        scores.add(table + "neighbours of rows found", name, recall(model.row_distances_, rows))
        found = recall(model.column_distances_, columns)
        scores.add(table + "neighbours of columns found", name, found)
        found = rand_index(model.row_embedding_, data.row_labels)
        scores.add(table + "Rand index of rows", name, found)


def surfaces(scores, seed):
    for make in (make_linkage, make_linkage2):
        data = make(random_state=seed)
        X = remove_entries(data.X, 0.5, random_state=seed).T
        model = UnsupervisedRegression(random_state=0).fit(X)
        filled = SoftImpute().fit_transform(X)
        found = {
            "SoftImpute, diffusion map": (DiffusionMap(2).fit_transform(filled), filled),
            "unsupervised regression": (model.embedding_, model.filled_),
        }
        for name, (points, filled) in found.items():
            table = f"columns of {make.__name__[5:]}, half missing: "
            score = trustworthiness(data.column_points, points, n_neighbors=N_NEIGHBORS)
            scores.add(table + "trustworthiness", name, score)
            scores.add(table + "error", name, missing_error(filled, data.X.T, X))


PARTS = {
    "distances": distances,
    "few rows": few_rows,
    "graphs": graphs,
    "trees": trees,
    "surfaces": surfaces,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--masks", type=int, default=10)
    parser.add_argument("--only", default=",".join(PARTS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("score, standard deviation over masks, ratio to the first of the table")
    for part in options.only.split(","):
        scores = Scores()
        for seed in range(options.masks):
            PARTS[part](scores, seed)
        scores.print()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
