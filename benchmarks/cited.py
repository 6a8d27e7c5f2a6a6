"""The methods that the paper cites, on matrices where it is known what they should find.

Each line has a method, its score, and the ratio of that to the score of the first line of its
table, which is what one would do without the method. Nearly all tables have a line of CoManifold,
with its defaults.

    python benchmarks/cited.py                          # ten masks each; half an hour
    python benchmarks/cited.py --masks 3 --only distances,graphs

- distances: `RepairedDistances` of the subjects of lung500 and of points on curved sheets.
- few rows: distances between few rows with nearly all of thousands of entries missing, with times.
- graphs: `GraphCompletion` of communities with known graphs, of ratings, and with gross outliers.
- trees: `Questionnaire` on lung500.
- tree metric: `CoManifold(metric="tree")` with noise of 0, 1 and 2 standard deviations of the data:
  near neighbours in the matrix without noise that are found, and groups.
- surfaces: `UnsupervisedRegression` and `MaskedIsomap` on the columns of both linkage data sets;
  `UnsupervisedRegression` on a sheet of many frequencies, and on a checkerboard.
- blocks: `SparseSVD` on small blocks in noise, and on large ones that overlap.
- times: of one fit of each method to two matrices; the ratio is to a fit of CoManifold.

Groups are those of k-means on two coordinates with the true number, scored by the adjusted Rand
index. Neighbours are the ten nearest. Errors of distances are relative, after a common factor has
been fitted; errors of filled-in values are those of missing entries, in standard deviations of the
complete matrix. Seconds are CPU time. lung500 needs COMANIFOLD_DATA or a download.
"""

import argparse
import time
import warnings
from collections import defaultdict
from itertools import product

import numpy as np
from bandwidth import MATRICES
from graph_completion import Ratings
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans
from sklearn.manifold import trustworthiness
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from comanifold import CoManifold, DiffusionMap, Graph, masked_distances
from comanifold.baselines import (
    NLPCA,
    ConvexClustering,
    GraphCompletion,
    MaskedIsomap,
    Questionnaire,
    RepairedDistances,
    SoftImpute,
    SparseSVD,
    UnsupervisedRegression,
)
from comanifold.datasets import (
    load_lung500,
    make_checkerboard,
    make_curve,
    make_linkage,
    make_linkage2,
    remove_entries,
)

N_NEIGHBORS = 10
REPAIRS = ("increase-only", "kernel")
ALL_REPAIRS = (*REPAIRS, "decrease-only")
ALL_REPAIRS = (*REPAIRS, "decrease-only")


class Scores:
    """Scores of methods in tables, printed as means over masks."""

    def __init__(self):
        self.tables = defaultdict(lambda: defaultdict(list))

    def add(self, table, method, score):
        self.tables[table][method].append(score)

    def print(self):
        for table, lines in self.tables.items():
            print(f"\n{table}; masks: {len(next(iter(lines.values())))}")
            first = np.mean(next(iter(lines.values())))
            for method, scores in lines.items():
                mean = np.mean(scores)
                spread = np.std(scores)
                print(f"  {method:30s} {mean:7.3f} +- {spread:.3f}  {mean / first:7.3g}")
        self.tables.clear()


def rand_index(points, labels):
    """Return the adjusted Rand index of k-means with the true number of groups."""
    found = KMeans(len(np.unique(labels)), n_init=20, random_state=0).fit_predict(points)
    return adjusted_rand_score(labels, found)


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
        found = {"masked": (masked_distances(X), DiffusionMap(2).fit_transform(X))}
        models = {
            **{method: RepairedDistances(method, 2, embedding="diffusion") for method in REPAIRS},
            "kernel, 1.4 medians": RepairedDistances(bandwidth_factor=1.4),
        }
        for method, model in models.items():
            model.fit(X)
            found[method] = model.distances_, model.embedding_
        model = CoManifold(2).fit(X)
        found["CoManifold"] = model.row_distances_, model.row_embedding_
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
        for method in REPAIRS:
            found[method] = RepairedDistances(method, 2, embedding="diffusion").fit_transform(X)
        found["CoManifold"] = CoManifold(2).fit(X).row_embedding_
        for name, embedded in found.items():
            table = f"{make.__name__.replace('_', ' ')}, 300 x 30, 60% missing: trustworthiness"
            scores.add(table, name, trustworthiness(points, embedded, n_neighbors=N_NEIGHBORS))


def few_rows(scores, seed):
    rng = np.random.default_rng(seed)
    groups = rng.normal(size=(4, 5000))
    complete = groups[rng.integers(4, size=80)] + rng.normal(size=(80, 5000))
    truth = squareform(pdist(complete))
    X = remove_entries(complete, 0.97, random_state=seed)
    methods = {
        "CoManifold": lambda: CoManifold().fit(X).row_distances_,
        "masked": lambda: masked_distances(X),
        **{
            name: lambda name=name: RepairedDistances(name, 1).fit(X).distances_ for name in REPAIRS
        },
    }
    if not seed:
        CoManifold().fit(X[:20, :50])  # compile
    for name, measure in methods.items():
        started = time.process_time()
        found = measure()
        seconds = time.process_time() - started
        table = "80 x 5,000, 97% missing: "
        scores.add(table + "error of distances", name, scaled_error(found, truth))
        scores.add(table + "nearest rows found", name, recall(found, truth))
        scores.add(table + "seconds", name, seconds)


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
    scores.add(table, "CoManifold", missing_error(CoManifold().fit(X).filled_, complete, X))


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
        methods = {"masked": DiffusionMap, "questionnaire": Questionnaire}
        for bandwidth in ("auto", "local"):
            for name, make in methods.items():
                points = make(2, bandwidth=bandwidth).fit_transform(X)
                name = f"{name}, {bandwidth} bandwidth"
                scores.add(table, name, rand_index(points, data.column_labels))
        points = CoManifold(2).fit(X).row_embedding_
        scores.add(table, "CoManifold", rand_index(points, data.column_labels))


def tree_metric(scores, seed):
    matrices = {name: MATRICES[name] for name in ("lung500", "wine", "digits", "breast cancer")}
    matrices["linkage2"], matrices["bumps on a circle"] = MATRICES["linkage2"], bumps
    methods = {
        "CoManifold": CoManifold,
        'CoManifold, metric="tree"': lambda: CoManifold(metric="tree"),
        "questionnaire": Questionnaire,
    }
    for (name, make), level, fraction in product(matrices.items(), (0, 1, 2), (0.0, 0.5)):
        complete, labels = make(seed)
        noise = np.random.default_rng(seed).normal(size=complete.shape)
        X = complete + level * complete.std() * noise
        X = remove_entries(X, fraction, random_state=seed) if fraction else X
        table = f"{name}, noise {level}, {fraction:.0%} missing: "
        for method, model in methods.items():
            found = model().fit(X)
            for mode, distances, known in (
                ("rows", found.row_distances_, complete),
                ("columns", found.column_distances_, complete.T),
            ):
                share = recall(distances, masked_distances(known))
                scores.add(table + f"neighbours of {mode} found", method, share)
            if labels is not None:
                index = rand_index(found.row_embedding_, labels)
                scores.add(table + "Rand index of rows", method, index)


def bumps(seed):
    """Return bumps on a circle, as in examples/plot_questionnaire.py; there are no labels."""
    rng = np.random.default_rng(seed)
    position, place = (np.sort(rng.uniform(0, 2 * np.pi, n)) for n in (80, 150))
    return np.exp(1.5 * (np.cos(position[:, None] - place) - 1)), None


def surfaces(scores, seed):
    for make in (make_linkage, make_linkage2):
        data = make(random_state=seed)
        for fraction in (0.5, 0.8):
            X = remove_entries(data.X, fraction, random_state=seed).T
            model = UnsupervisedRegression(random_state=0).fit(X)
            filled = SoftImpute().fit_transform(X)
            ours = CoManifold().fit(X)
            found = {
                "SoftImpute, diffusion map": (DiffusionMap(2).fit_transform(filled), filled),
                "unsupervised regression": (model.embedding_, model.filled_),
                "Isomap, shared entries": (MaskedIsomap(2).fit_transform(X), None),
                "CoManifold": (ours.row_embedding_, ours.filled_),
            }
            for name, (points, filled) in found.items():
                table = f"columns of {make.__name__[5:]}, {fraction:.0%} missing: "
                score = trustworthiness(data.column_points, points, n_neighbors=N_NEIGHBORS)
                scores.add(table + "trustworthiness", name, score)
                if filled is not None:
                    scores.add(table + "error", name, missing_error(filled, data.X.T, X))

    rng = np.random.default_rng(seed)
    sheet = random_waves(rng.uniform(size=(300, 2)), 15, rng)
    board = make_checkerboard(100, 80, noise=0.0, random_state=seed).X
    for name, clean, noise in (("sheet, 300 x 15", sheet, 0.05), ("checkerboard", board, 1.0)):
        noisy = clean + noise * clean.std() * rng.normal(size=clean.shape)
        X = remove_entries(noisy, 0.5, random_state=seed)
        compare_filled(scores, f"{name}, half missing: error", clean, X, UnsupervisedRegression())


def blocks(scores, seed):
    rng = np.random.default_rng(seed)
    small, large = np.zeros((2, 300, 200))
    small[20:45, 30:45], small[100:140, 90:105] = 2.0, -2.0
    large[:180, :120] += 2.0
    large[120:, 80:] -= 2.0
    for name, clean in (("small blocks", small), ("large blocks that overlap", large)):
        X = remove_entries(clean + rng.normal(size=clean.shape), 0.3, random_state=seed)
        table = f"{name} in 300 x 200, 30% missing: error"
        compare_filled(scores, table, clean, X, SparseSVD(2))


def times(scores, seed):
    if seed:
        return  # one fit of each is enough
    small = remove_entries(make_curve(20, 15, random_state=0).X, 0.5, random_state=0)
    for shape in ((300, 200), (1000, 400)):
        data = make_curve(*shape, noise=0.5, random_state=seed)
        X = remove_entries(data.X, 0.5, random_state=seed)
        models = {
            "CoManifold": CoManifold(),
            'CoManifold, metric="tree"': CoManifold(metric="tree"),
            "DiffusionMap": DiffusionMap(),
            "SoftImpute": SoftImpute(),
            "Questionnaire": Questionnaire(),
            "UnsupervisedRegression": UnsupervisedRegression(random_state=0),
            "MaskedIsomap": MaskedIsomap(),
            "ConvexClustering": ConvexClustering(),
            "SparseSVD": SparseSVD(2),
            "NLPCA": NLPCA(random_state=0),
            **{f"RepairedDistances, {name}": RepairedDistances(name) for name in ALL_REPAIRS},
            **{
                f"GraphCompletion, {name}": GraphCompletion(name)
                for name in ("dirichlet", "nuclear", "factors")
            },
            "GraphCompletion, l1": GraphCompletion(loss="l1"),
        }
        for name, model in models.items():
            if name in ("NLPCA", "GraphCompletion, nuclear") and shape[0] > 300:
                continue  # minutes
            model.fit(small)  # compile
            started = time.process_time()
            model.fit(X)
            seconds = time.process_time() - started
            scores.add("seconds, {} x {}, half missing".format(*shape), name, seconds)


def compare_filled(scores, table, clean, X, model):
    """Add the errors of SoftImpute, CoManifold and another model that fills in."""
    for other in (SoftImpute(), CoManifold(), model):
        name = type(other).__name__
        scores.add(table, name, missing_error(other.fit(X).filled_, clean, X))


PARTS = {
    "distances": distances,
    "few rows": few_rows,
    "graphs": graphs,
    "trees": trees,
    "tree metric": tree_metric,
    "surfaces": surfaces,
    "blocks": blocks,
    "times": times,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--masks", type=int, default=10)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--only: no part {min(unknown)!r}; parts are {', '.join(PARTS)}")
    warnings.simplefilter("ignore")
    print("score, standard deviation over masks, ratio to the first of the table")
    for part in parts:
        scores = Scores()
        for seed in range(options.masks):
            PARTS[part](scores, seed)
        scores.print()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
