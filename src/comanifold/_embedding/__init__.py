"""Affinities, eigenvectors, orderings, clusters and new points from distances."""
