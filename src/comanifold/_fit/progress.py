"""Progress of a fit, told to the callbacks of scikit-learn 1.9 and newer."""

from collections.abc import Callable
from typing import Any

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """No callbacks before scikit-learn 1.9."""

    def with_callbacks(method: Callable) -> Callable:
        return method


class Progress:
    """The tasks of a fit: its passes, and their tasks, the arms of the surface.

    Arms may be solved by other processes and are told from this one when they are done: they
    begin and end at the same moment. Callbacks look on. That one would like to stop is not
    heard, because a fit has no result before it has seen all scales.

    Parameters
    ----------
    model : estimator, optional
        Whose callbacks are told.
    n_passes : int
        How many there are at most.
    """

    def __init__(self, model: Any = None, n_passes: int = 0):
        self._model = model
        self._tasks: list[Any] = []
        # Told of every arm in any version of scikit-learn, if the model has been given one.
        self._listener = getattr(model, "_listener", None)
        if hasattr(model, "_init_callback_context"):
            self._tasks.append(model._init_callback_context(max_subtasks=n_passes))

    def begin_fit(self, X: Any) -> None:
        for task in self._tasks:
            task.call_on_fit_task_begin(estimator=self._model, X=X)

    def begin_pass(self, name: str) -> None:
        if self._listener is not None:
            self._listener.begin_pass(name)
        self._begin(name, max_subtasks=None)

    def arm_done(self) -> None:
        if self._listener is not None:
            self._listener.arm_done()
        self._begin("arm")
        self.end()

    def end(self, X: Any = None) -> None:
        """Of the task that was begun last."""
        if self._tasks:
            self._tasks.pop().call_on_fit_task_end(estimator=self._model, X=X)

    def _begin(self, name: str, **options: Any) -> None:
        if self._tasks:
            self._tasks.append(self._tasks[-1].subcontext(task_name=name, **options))
            self._tasks[-1].call_on_fit_task_begin(estimator=self._model)
