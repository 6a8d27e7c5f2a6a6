"""A fitted `CoManifold` as a figure."""

from typing import Any

from numpy.typing import ArrayLike


class PlottingMixin:
    """Draws what `CoManifold.fit` has found."""

    def plot(
        self,
        *,
        row_labels: ArrayLike | None = None,
        column_labels: ArrayLike | None = None,
        l: int | None = None,
        k: int | None = None,
        **options: Any,
    ) -> Any:
        """The whole result as a single Matplotlib figure.

        The matrix as given, organised and filled in, both embeddings, the clusters over the
        scales, the spectrum, and how well each scale was solved.

        Parameters
        ----------
        row_labels, column_labels : array-like, optional
            The group of each row and column, by which they are coloured.
        l, k : int, optional
            A scale to fill in the matrix with, and to take clusters from.
        **options
            See `comanifold.plotting.overview`.

        Returns
        -------
        figure : Figure
        """
        from .plotting import overview

        return overview(
            self, row_labels=row_labels, column_labels=column_labels, l=l, k=k, **options
        )
