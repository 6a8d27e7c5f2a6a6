"""From a matrix to its multi-scale distances: settings, passes over the surface, weights."""
