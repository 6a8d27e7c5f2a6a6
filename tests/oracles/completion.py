"""The whole path of a completion, estimate by estimate."""

from comanifold._fit.completion import CompletionPath


def completion_path(X, kind):
    """Yield the estimates of X at all steps of a path."""
    path = CompletionPath(X, kind)
    for step in range(kind.n_steps):
        path.solve(step)
        yield path.estimate()
