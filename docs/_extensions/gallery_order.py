"""Order of the examples: kinds of data, then features, then how the method works."""

ORDER = (
    "linkage",
    "genes",
    "cells_and_genes",
    "ratings",
    "neurons",
    "users_items",
    "graph_completion",
    "sensors",
    "value_missing",
    "pictures",
    "new_points",
    "trees",
    "sparse_distances",
    "questionnaire",
    "scale_weights",
    "choose_neighbors",
    "penalties",
    "one_sided",
    "repaired_distances",
    "sparse_svd",
    "unsupervised_regression",
)


class Order:
    """Sort key of the examples; those not in `ORDER` come last, by name."""

    def __init__(self, folder: str):
        self.folder = folder

    def __call__(self, item: str) -> tuple[int, str]:
        name = item.removeprefix("plot_").removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)
