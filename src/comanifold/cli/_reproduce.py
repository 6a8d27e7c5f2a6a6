"""`comanifold reproduce`: the experiments of the paper."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from ._output import ProgressBar, plain_errors, say_resumable

_NAMES = ("workflow", "embeddings", "clustering", "appendix", "geometry", "filling")

_SECONDS_TO_CONNECT = 10


@click.command(epilog="Example: comanifold reproduce all --out results --jobs 4")
@click.argument("what", metavar="[WHAT]...", nargs=-1, type=click.Choice(("all", *_NAMES)))
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder for tables and figures. Finished parts in it are not computed again.",
)
@click.option(
    "--realizations",
    type=click.IntRange(min=1),
    help="Masks for each fraction of missing entries: 30, or 3 with --quick.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=os.cpu_count() or 1,
    help="Number of parallel jobs; by default one per processor.",
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Address of the scheduler of a Dask cluster to compute on instead of --jobs processes, "
    "such as tcp://HOST:8786. Its workers need comanifold and the data.",
)
@click.option(
    "--only",
    type=click.Choice(_NAMES),
    multiple=True,
    help="Restrict WHAT to this experiment; may be repeated.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A quarter of an hour of one core: 3 masks; 10, 50 and 90% missing.",
)
def reproduce(
    what: tuple[str, ...],
    out: Path,
    realizations: int | None,
    jobs: int,
    dask: str | None,
    only: tuple[str, ...],
    quick: bool,
) -> None:
    """Run the experiments of the paper and draw its figures.

    WHAT is "all" (the default) or some of: workflow (Figure 1), embeddings (Figure 2),
    clustering (Figure 3), appendix, geometry (Figure 2 in numbers), filling (error of the
    filled-in entries).

    An interrupted run resumes when the same command is given again.
    """
    chosen = set(_NAMES) if not what or "all" in what else set(what)
    names = [name for name in _NAMES if name in chosen and (not only or name in only)]
    if not names:
        raise click.UsageError(f"--only {' '.join(only)} leaves nothing of {' '.join(what)}")
    try:
        from .. import experiments
    except ImportError as error:
        raise click.ClickException(
            f"this needs {error.name}: pip install 'comanifold[experiments]'"
        ) from error
    plan = experiments.QUICK if quick else experiments.Plan()
    if realizations:
        plan = replace(plan, realizations=realizations)
    try:
        with plain_errors():
            out.mkdir(parents=True, exist_ok=True)
            with _cluster(dask), ProgressBar() as bar:
                result = experiments.reproduce(
                    names,
                    out,
                    plan=plan,
                    n_jobs=jobs,
                    progress=lambda at: bar.update(at.n_done, at.n_units, at.last or "resuming"),
                )
    except KeyboardInterrupt:
        say_resumable(out / "data")
        raise
    for file in [*result.tables, *result.figures, *result.texts]:
        click.echo(file)
    if result.failures:
        lines = [f"  {f.unit.table} {f.unit.name}: {f.reason}" for f in result.failures]
        raise click.ClickException(
            f"{len(lines)} parts failed; run the same command to try them again:\n"
            + "\n".join(lines[:10])
        )


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """Let joblib use the Dask cluster at an address, if one is given."""
    if address is None:
        yield
        return
    try:
        from dask.distributed import Client
    except ImportError as error:
        raise click.ClickException(
            f"--dask needs {error.name}: pip install 'comanifold[dask]'"
        ) from error
    from joblib import parallel_config

    try:
        client = Client(address, timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise click.ClickException(f"no Dask scheduler at {address}: {error}") from error
    with client, parallel_config("dask"):
        yield
