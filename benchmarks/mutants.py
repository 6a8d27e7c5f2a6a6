"""Mutation testing: change one operation of the source at a time, and run the tests.

    python benchmarks/mutants.py --number 100 --seed 0
    python benchmarks/mutants.py --per-file 10 --only baselines/_graph

A mutant is the source with one comparison, sum, product, number, "and" or "or" changed. The tests
of its module run until one fails and the mutant is killed; mutants that survive are printed, and
the ratio of killed ones. Files with compiled code are tested without compilation; the others with
compiled code from the cache, and with whole fits as well. Mutants are drawn uniformly at random,
from all files or as many from each.
Nothing in the working tree is changed. Needs a system that can fork.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent

# Modules to change, and their tests, quick ones first.
TESTS = {
    "graphs": ["tests/graphs"],
    "penalties": ["tests/penalties"],
    "metrics.py": ["tests/test_metrics.py"],
    "solvers": [
        "tests/solvers/test_problem.py",
        "tests/solvers/test_kernels.py",
        "tests/test_co_cluster_regressions.py",
        "tests/test_degenerate_inputs.py",
        "tests/solvers",
    ],
    "diffusion_map.py": ["tests/test_diffusion_map.py"],
    "_embedding/affinities.py": ["tests/test_diffusion_map.py"],
    "_embedding/tree_metric.py": ["tests/embedding/test_tree_metric.py"],
    "_embedding/distinguishing.py": ["tests/embedding/test_distinguishing.py"],
    "_fit/prepare.py": ["tests/fit/test_passes.py", "tests/fit/test_sweep.py"],
    "_tasks.py": ["tests/test_tasks.py"],
    "trees/_distances.py": ["tests/trees/test_distances.py"],
    "trees/_flexible.py": ["tests/trees/test_flexible.py"],
    "trees/_haar.py": ["tests/trees/test_haar.py"],
    "trees/_partition_tree.py": ["tests/trees/test_partition_tree.py"],
    "baselines/_graph_completion.py": ["tests/baselines/test_graph_completion.py"],
    "baselines/_graph_data.py": [
        "tests/baselines/test_graph_data.py",
        "tests/baselines/test_graph_completion.py",
    ],
    "baselines/_graph_factors.py": ["tests/baselines/test_graph_factors.py"],
    "baselines/_graph_fit.py": ["tests/baselines/test_graph_completion.py"],
    "baselines/_graph_selection.py": [
        "tests/baselines/test_graph_selection.py",
        "tests/baselines/test_graph_completion.py",
    ],
    "baselines/_graph_solvers.py": ["tests/baselines/test_graph_solvers.py"],
    "baselines/_lbfgs.py": ["tests/baselines/test_lbfgs.py"],
    "baselines/_low_rank.py": ["tests/baselines/test_low_rank.py"],
    "baselines/_metric_repair.py": ["tests/baselines/test_metric_repair.py"],
    "baselines/_nlpca.py": ["tests/baselines/test_nlpca.py"],
    "baselines/_questionnaire.py": ["tests/baselines/test_questionnaire.py"],
    "baselines/_radial_basis.py": ["tests/baselines/test_unsupervised_regression.py"],
    "baselines/_repaired_distances.py": ["tests/baselines/test_repaired_distances.py"],
    "baselines/_shrinkage.py": ["tests/baselines/test_shrinkage.py"],
    "baselines/_soft_impute.py": ["tests/baselines/test_soft_impute.py"],
    "baselines/_sparse_svd.py": ["tests/baselines/test_sparse_svd.py"],
    "baselines/_unsupervised_regression.py": ["tests/baselines/test_unsupervised_regression.py"],
}

# Tests with whole fits, which take minutes without compilation.
WHOLE = {
    "graphs": ["tests/test_sparse_distances.py"],
    "penalties": ["tests/test_co_cluster.py"],
    "metrics.py": ["tests/fit/test_passes.py", "tests/test_co_manifold.py"],
    "solvers": [
        "tests/test_degenerate_inputs.py",
        "tests/test_co_cluster.py",
        "tests/test_co_manifold.py",
    ],
    "diffusion_map.py": ["tests/test_co_manifold.py"],
    "_embedding/affinities.py": ["tests/test_co_manifold.py"],
}
TOO_LONG = "tests/solvers/test_fast.py::test_merging_leaves_a_lower_objective"

# Tests of the conventions for estimators, which say little about what is computed.
CONVENTIONS = "scikit_learn_checks"

# Time limit of a mutant: a multiple of the time of the source, plus some seconds.
MAX_RATIO, EXTRA_SECONDS = 3, 20.0

OTHER = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the change and the whole source of every possible mutant."""
    for place, node in enumerate(ast.walk(tree)):
        if not _can_change(node):
            continue
        changed = copy.deepcopy(tree)
        twin = next(other for i, other in enumerate(ast.walk(changed)) if i == place)
        before = ast.unparse(twin)
        _change(twin)
        yield node.lineno, f"{before}  ->  {ast.unparse(twin)}", ast.unparse(changed)


def _can_change(node: ast.AST) -> bool:
    match node:
        case ast.Compare(ops=[op]) | ast.BinOp(op=op) | ast.BoolOp(op=op):
            return type(op) in OTHER
        case ast.Constant(value=value):
            return isinstance(value, (int, float)) and not isinstance(value, bool)
    return False


def _change(node: ast.AST) -> None:
    match node:
        case ast.Compare(ops=[op]):
            node.ops = [OTHER[type(op)]()]
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            node.op = OTHER[type(op)]()
        case ast.Constant(value=value):
            node.value = value + 1 if isinstance(value, int) else 2.0 * value + 1.0


Drawn = tuple[str, Path, int, str, str]


def drawn(number: int, seed: int, only: str, per_file: int | None) -> list[Drawn]:
    """Return random mutants: the module, the file, and an item of `mutants`."""
    generator = random.Random(seed)
    everything: list[Drawn] = []
    for module in TESTS:
        at = ROOT / "src" / "comanifold" / module
        for path in sorted(at.rglob("*.py")) if at.is_dir() else [at]:
            if only in str(path):
                source = ast.parse(path.read_text())
                of_file = [(module, path.relative_to(ROOT), *m) for m in mutants(source)]
                if per_file is not None:
                    of_file = generator.sample(of_file, min(per_file, len(of_file)))
                everything += of_file
    if per_file is not None:
        return everything
    return generator.sample(everything, min(number, len(everything)))


def outcome(folder: Path, module: str, seconds: float, *, compiled: bool) -> str:
    """Return how the tests end on the source in a folder, in a process of its own."""
    child = os.fork()
    if child == 0:
        os.setpgrp()
        _run(folder, module, compiled=compiled)
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return {0: "survived", 1: "killed", 2: "killed"}.get(
                os.waitstatus_to_exitcode(status), "crashed"
            )
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "timeout"


def _run(folder: Path, module: str, *, compiled: bool) -> None:
    import numba
    import pytest

    tests = [*TESTS[module], *WHOLE.get(module, [])]
    if not compiled:
        tests = [*TESTS[module], f"--deselect={TOO_LONG}"]
        os.environ["NUMBA_DISABLE_JIT"] = "1"
        numba.config.DISABLE_JIT = True
    os.chdir(folder)
    sys.path.insert(0, str(folder / "src"))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    os._exit(
        pytest.main(
            [
                "-x",
                "-q",
                "-p",
                "no:cacheprovider",
                "--assert=plain",
                "-k",
                f"not {CONVENTIONS}",
                *tests,
            ]
        )
    )


def _limit(folder: Path, module: str, compiled: bool) -> float:
    """Return the time limit of a mutant; the tests must pass on the unchanged source."""
    for _ in range(2 if compiled else 1):  # the first time compiles
        began = time.monotonic()
        ended = outcome(folder, module, seconds=3600.0, compiled=compiled)
        if ended != "survived":
            raise SystemExit(f"the tests of {module} fail without a change: {ended}")
        took = time.monotonic() - began
    how = "compiled" if compiled else "not compiled"
    print(f"{module}, {how}: {took:.0f} s without a change", flush=True)
    return MAX_RATIO * took + EXTRA_SECONDS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-file", type=int, help="of each file, instead of --number of all")
    parser.add_argument("--only", default="", help="files whose path has this in it")
    arguments = parser.parse_args()
    os.environ["HYPOTHESIS_PROFILE"] = "ci"
    missing = [t for tests in (*TESTS.values(), *WHOLE.values()) for t in tests]
    missing = [test for test in missing if not (ROOT / test).exists()]
    if missing:
        raise SystemExit(f"TESTS or WHOLE names files that do not exist: {missing}")
    # Imported once for all children: libraries that take long to import and are not changed.
    import cvxpy  # noqa: F401
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import sklearn.manifold
    import sklearn.utils.estimator_checks  # noqa: F401

    counts: dict[Path, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "tree"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "results"))
        chosen = drawn(arguments.number, arguments.seed, arguments.only, arguments.per_file)
        limits: dict[tuple[str, bool], float] = {}
        for module, path, line, what, source in chosen:
            original = (folder / path).read_text()
            compiled = "njit" not in original and "@kernel" not in original
            if (module, compiled) not in limits:
                limits[module, compiled] = _limit(folder, module, compiled)
            (folder / path).write_text(source)
            ended = outcome(folder, module, limits[module, compiled], compiled=compiled)
            (folder / path).write_text(original)
            counts.setdefault(path, Counter())[ended] += 1
            if ended == "survived":
                print(f"{path}:{line}  {what}", flush=True)
    if len(counts) > 1:
        for path, of_file in counts.items():
            _print_counts(str(path), of_file)
    _print_counts("all", sum(counts.values(), Counter()))


def _print_counts(name: str, counts: Counter[str]) -> None:
    n_mutants = counts.total()
    n_killed = n_mutants - counts["survived"]
    print(f"{name}: {n_killed} of {n_mutants} ({n_killed / n_mutants:.0%}) killed: {dict(counts)}")


if __name__ == "__main__":
    main()
