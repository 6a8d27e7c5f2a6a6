"""The run of `comanifold fit`: fit, check, further layouts, and writing, in one bar."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._checkpoints import (
    Checkpoints,
    automatic_checkpoint,
    refuse_nothing_to_resume,
    remove_automatic_checkpoints,
)
from ._figures import possible_figures
from ._output import Output, RunBar, duration
from ._pages import write_pages
from ._results import (
    FILES,
    KIND,
    MARKER,
    FitResults,
    Layouts,
    Run,
    expected_bytes,
    layout_file,
    preprocessing_note,
    write_results,
)
from ._summary import figures_step, find, say_summary

if TYPE_CHECKING:
    from .. import CoManifold
    from ..model_selection import HeldOutErrors
    from ..preprocessing import Preprocessor
    from ..tables import Table

# The smallest number of held-out entries on which an error is measured, and the seed by which
# they are chosen: not a usual one, with which users may have removed just these entries.
_MIN_HELD_OUT = 20
_SEED = 7_310_524_681

# Seconds to compare with KNN and SoftImpute, where that is done, to write tables and the model, and
# to draw figure and report: for any table, and for each entry. Measured from 500 x 56 to
# 3,000 x 1,000.
_COMPARING = 0.1, {"knn": 5e-6, "soft_impute": 1.2e-6}
_WRITING, _DRAWING = (0.1, 1.3e-6), (2.4, 1.3e-6)
# Seconds to draw all figures once, for each format, and to load and run further layouts for each
# point; of UMAP more, because it is compiled.
_FIGURES, _LAYOUT, _UMAP = 3.0, (0.5, 3e-3), 12.0
# Seconds to compile, in the first fit after installation.
_COMPILING = 30.0


@dataclass(frozen=True)
class FitOptions:
    """Where the results of a fit go, and what they contain."""

    out: Path
    force: bool = False
    annotations: tuple[Path, ...] = ()
    title: str | None = None
    figures: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()
    check: bool = True
    checkpoint: Path | None = None
    checkpoint_after: float = 120.0
    resume: bool = False

    def refuse_taken_folder(self) -> None:
        """Raise FileExistsError if results cannot be written. Nothing is changed."""
        from .._io import check_folder

        try:
            check_folder(self.out, kind=KIND, overwrite=self.force)
        except FileExistsError as error:
            message = str(error).replace("or overwrite it", "or replace its results with --force")
            raise FileExistsError(message) from error

    def possible_files(self) -> list[str]:
        """Return the names of all files that may be written."""
        layouts = [layout_file(name, mode) for name in self.layouts for mode in ("row", "column")]
        return [*FILES, *layouts, *possible_figures(self.figures)]


def fit_table(
    table: "Table",
    options: FitOptions,
    preprocessor: "Preprocessor",
    model: "CoManifold",
    output: Output,
    *,
    in_figures: dict[str, list[str]] | None = None,
    given: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Fit a table, write all results to a folder, print a summary, and return the findings.

    `in_figures` names the annotations that figures show, by mode, and `given` has the options of
    the command, to be stored.
    """
    from .._embedding.layouts import check_installed
    from .._io import OwnedFolder, check_space

    for name in options.layouts:
        check_installed(name)
    X = preprocessor.fit_transform(table.values)
    if note := preprocessing_note(preprocessor):
        output.say(f"  {note}")
    model.set_params(keep_scales=True)
    steps = ["fit", "check"] if options.check and _needs_second_fit(model, X) else ["fit"]
    parts = _expected_parts(model, X.shape, steps, options)
    say_expected_time(output, sum(parts.values()))
    with OwnedFolder(options.out, KIND) as folder:
        # Better before the fit than after it.
        folder.refuse_taken(options.possible_files())
        check_space(folder.path, expected_bytes(model, X.shape))
        checkpoints = _checkpoints(folder.path, options, model, X, steps)
        if options.resume:
            refuse_nothing_to_resume(checkpoints, options.out)
        if found := checkpoints.found():
            output.say(found)
        with RunBar(parts, quiet=output.quiet) as bar:
            try:
                model.set_params(checkpoint=checkpoints.steps.get("fit"))
                bar.begin("fitting")
                fitted = fit_model(model, X, bar)
                errors = (
                    _held_out_errors(model, X, checkpoints.steps, bar) if options.check else None
                )
                layouts, skipped = _further_layouts(model, options.layouts, bar)
            except KeyboardInterrupt:
                bar.stop()
                checkpoints.say_kept()
                raise
            bar.begin("writing")
            model.set_params(checkpoint=None)
            model.set_names(rows=table.row_names, columns=table.column_names)
            messages = [*fitted.warnings, *_warnings(table, preprocessor, model, errors)]
            results = FitResults(
                table,
                preprocessor,
                model,
                {mode: model.find_clusters(mode) for mode in ("row", "column")},
                find(model, errors, messages, fitted.seconds),
                layouts,
            )
            run = Run.of(results, options.title or "", in_figures or {}, given or {})
            with folder.publish(last=MARKER) as temporary:
                files = write_results(temporary.file, results, run)
                bar.begin("drawing")
                pages, not_drawn = write_pages(
                    temporary.file, model, run, layouts=layouts, formats=options.figures
                )
        if options.checkpoint is None:
            remove_automatic_checkpoints(folder.path)
    findings = {
        **run.findings,
        "notes": results.notes(),
        "files": [*pages, *files],
        "skipped": [*skipped, *not_drawn],
    }
    findings["next_steps"] = [*findings["next_steps"], *figures_step(pages, options.out)]
    say_summary(output, findings, options.out)
    return findings


def _checkpoints(
    out: Path, options: FitOptions, model: "CoManifold", X: Any, steps: list[str]
) -> Checkpoints:
    """Return where finished parts are kept: nowhere if the fit takes little time."""
    if options.checkpoint is not None:
        return Checkpoints({step: options.checkpoint / step for step in steps}, options.checkpoint)
    found = Checkpoints(
        {step: automatic_checkpoint(out, model, X, step) for step in steps}, options.out
    )
    seconds = len(steps) * model.expected_seconds(X.shape)
    # What an earlier run has kept is used in any case.
    is_long = options.resume or seconds > options.checkpoint_after or found.n_parts()
    return found if is_long else Checkpoints({}, options.out)


def _further_layouts(
    model: "CoManifold", names: tuple[str, ...], bar: RunBar
) -> tuple[Layouts, list[str]]:
    """Return further layouts of rows and columns by name, and why some could not be made."""
    layouts: Layouts = {}
    skipped = []
    if names:
        bar.begin("layouts")
    for number, name in enumerate(names):
        bar.update(number / len(names), name)
        try:
            rows, columns = (
                collect_warnings(lambda mode=mode, name=name: model.embed(name, mode=mode))[0]
                for mode in ("row", "column")
            )
        except ValueError as error:
            skipped.append(f"--layouts {name} was left out, because {error}")
        else:
            layouts[name] = rows, columns
    return layouts, skipped


@dataclass(frozen=True)
class Fitted:
    """The warnings and the time of a fit."""

    warnings: list[str]
    seconds: float


def fit_model(model: "CoManifold", X: Any, bar: RunBar) -> Fitted:
    """Fit a model and show the progress; warnings are collected."""
    started = time.perf_counter()
    _, messages = collect_warnings(
        lambda: model.fit(X, progress=lambda at: bar.update(at.fraction, at.stage))
    )
    return Fitted(messages, time.perf_counter() - started)


def _expected_parts(
    model: "CoManifold", shape: tuple[int, int], steps: list[str], options: FitOptions
) -> dict[str, float]:
    """Return the parts of a run, with about the seconds that each takes."""
    from .._fit.expected_time import speed_factor
    from ..model_selection import compared_methods

    seconds, factor = model.expected_seconds(shape), speed_factor()
    n_entries = shape[0] * shape[1]
    parts = {"fitting": seconds + compile_seconds()}
    if options.check:
        least, of_methods = _COMPARING
        per_entry = sum(of_methods.get(name, 0.0) for name in compared_methods(shape))
        # A second fit is compared as well.
        again = seconds if "check" in steps else 0.0
        parts["checking"] = again + factor * (least + per_entry * n_entries)
    if options.layouts:
        least, per_point = _LAYOUT
        each = least + per_point * sum(shape)
        umap = _UMAP if "umap" in options.layouts else 0.0
        parts["layouts"] = factor * (each * len(options.layouts) + umap)
    for name, (least, per_entry) in (("writing", _WRITING), ("drawing", _DRAWING)):
        parts[name] = factor * (least + per_entry * n_entries)
    parts["drawing"] += factor * _FIGURES * len(options.figures)
    return parts


def collect_warnings(function: Callable[[], Any]) -> tuple[Any, list[str]]:
    """Call a function; return its result, and the distinct warnings that it gave."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function()
    return result, list(dict.fromkeys(str(warning.message) for warning in caught))


def compile_seconds() -> float:
    """Return how long it takes to compile: nothing after the first fit on a machine."""
    from .._fit.expected_time import speed_factor
    from .._fit.progress import is_compiled

    return 0.0 if is_compiled() else speed_factor() * _COMPILING


def say_expected_time(output: Output, seconds: float) -> None:
    """Print about how long a command will take, and that the first fit compiles."""
    from .._fit.progress import is_compiled

    output.say(f"Expected time: about {duration(seconds)}")
    if not is_compiled():
        output.say("  with half a minute to compile: this is the first fit after installation")


def _needs_second_fit(model: "CoManifold", X: Any) -> bool:
    """Whether the error on held-out entries is that of a second fit: the first holds out none.

    As far as is known before the fit: an outlier, which counts as missing, is found by it.
    """
    import numpy as np

    missing = np.isnan(X)
    filled_in = missing & ~missing.all(axis=0) & ~missing.all(axis=1, keepdims=True)
    return model.scale_weights != "learned" or not filled_in.any()


def _held_out_errors(
    model: "CoManifold", X: Any, checkpoints: dict[str, Path], bar: RunBar
) -> "HeldOutErrors | None":
    """Return errors on entries held out by the fit, or from a second fit; None if too few are."""
    import numpy as np
    from sklearn.base import clone

    from ..model_selection import compare_held_out, held_out_errors, hold_out

    n_held_out = len(model.held_out_["value"])
    if n_held_out:
        bar.begin("checking")
        return compare_held_out(model) if n_held_out >= _MIN_HELD_OUT else None
    seed = np.random.RandomState(np.random.PCG64(_SEED))
    held_out = hold_out(X, min_held_out=_MIN_HELD_OUT, random_state=seed)
    if held_out is None:
        return None
    second = clone(model).set_params(keep_scales=False, checkpoint=checkpoints.get("check"))
    bar.begin("checking")
    fit_model(second, held_out.rest(), bar)
    return held_out_errors(held_out, second.filled_)


def _warnings(
    table: "Table",
    preprocessor: "Preprocessor",
    model: "CoManifold",
    errors: "HeldOutErrors | None",
) -> list[str]:
    """Return warnings about structure and the error on held-out entries, and doubts about data."""
    from .._embedding.structure import structure_warnings
    from .._summary import unreliable_estimates
    from ..tables import find_doubts

    doubts = find_doubts(table, **preprocessor.get_params())
    noise = structure_warnings(model.row_p_value_, model.column_p_value_)
    return [*noise, *unreliable_estimates(errors, "--neighbors"), *table.doubts, *doubts]
