"""The pictures of docs/parameters.md: one fit, four embeddings, of groups and of branches.

Digits (10 groups, 30% missing), cells of pbmc68k_reduced (10 types, half missing) and of krumsiek11
(a simulated branching process with four ends, half missing), each fitted once and embedded four
times. The number is the adjusted Rand index of k-means with the true number of groups on the two
coordinates; for branches, the share of the 15 nearest neighbours in the complete data that are
among the 15 nearest in the picture.

    python benchmarks/pictures.py docs/figures/pictures.png

Needs scanpy (for the cells) and umap-learn; a minute or two.
"""

import argparse
import warnings

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from bandwidth import MATRICES, agreement
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from comanifold import CoManifold
from comanifold.datasets import remove_entries

EMBEDDINGS = {"diffusion": "diffusion map", "umap": "UMAP", "tsne": "t-SNE", "isomap": "Isomap"}
N_NEAREST = 15


def branches():
    import scanpy

    cells = scanpy.datasets.krumsiek11()
    return np.asarray(cells.X, dtype=float), cells.obs["cell_type"].to_numpy()


def neighbors_kept(complete, coordinates):
    """Return the share of the nearest neighbours of the complete data that are near here too."""
    true, found = (kneighbors_graph(points, N_NEAREST) for points in (complete, coordinates))
    return true.multiply(found).sum() / true.sum()


CASES = {
    "digits, 30% missing": (lambda: MATRICES["digits"](0), 0.3, None),
    "pbmc68k_reduced, 50% missing": (lambda: MATRICES["pbmc68k_reduced"](0), 0.5, None),
    "krumsiek11, 50% missing": (branches, 0.5, neighbors_kept),
}


def draw(path):
    figure, all_axes = plt.subplots(
        len(CASES), len(EMBEDDINGS), figsize=(12, 9), layout="constrained"
    )
    for axes, (title, (load, fraction, score)) in zip(all_axes, CASES.items(), strict=True):
        complete, labels = load()
        model = CoManifold().fit(remove_entries(complete, fraction, random_state=0))
        colours = pd.factorize(labels)[0]
        for ax, (name, words) in zip(axes, EMBEDDINGS.items(), strict=True):
            points = model.embed(name)
            ax.scatter(*points.T, c=colours, cmap="tab10", s=5, linewidths=0)
            number = score(complete, points) if score else agreement(points, labels)
            ax.set_title(f"{words}, {number:.2f}", fontsize=10)
            ax.set(xticks=[], yticks=[])
            print(f"{title:30s} {words:14s} {number:.2f}", flush=True)
        axes[0].set_ylabel(title)
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", help="where the picture is written")
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        draw(options.path)


if __name__ == "__main__":
    main()
