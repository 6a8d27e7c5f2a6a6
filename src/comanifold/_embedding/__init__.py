"""From distances to affinities, coordinates, orders and clusters."""
