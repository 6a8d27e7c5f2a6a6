"""Penalties as machine code: Omega and Omega' of many distances at a time, called by address.

The kernels of the solvers are compiled once, for all penalties. A penalty reaches them as two
addresses and an array of parameters, and both functions have the C signature

    void function(const double *z, intptr_t n, const double *parameters, double *out)

The built-in penalties are written in that form. The methods `value` and `derivative` of any other
penalty are compiled by Numba, with `self` replaced by a named tuple of its numeric attributes;
where that fails they are called back in Python.
"""

import ctypes
import logging
import warnings
from collections import namedtuple
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from numbers import Real
from threading import get_ident
from types import FunctionType
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ._penalties import BuiltIn, Penalty

_log = logging.getLogger(__name__)

_C_FUNCTION = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_void_p
)

# Distances at which compiled methods are compared with the methods themselves.
_PROBES = np.concatenate([[0.0], np.logspace(-12, 12, 97)])

# The compiled methods of a class by the names of its numeric attributes; None where Numba cannot
# compile them.
_compiled_methods: WeakKeyDictionary = WeakKeyDictionary()


class PenaltyKernel(NamedTuple):
    """A penalty as the solvers' kernels take it: addresses of two functions, and parameters."""

    value: int
    derivative: int
    parameters: NDArray[np.float64]


class CompiledPenalty:
    """A penalty that the solvers' kernels can call.

    Attributes
    ----------
    penalty : Penalty
    is_linear : bool
    kernel : PenaltyKernel
        Valid as long as this object lives.
    is_compiled : bool
        Whether it is machine code; otherwise the methods are called back in Python.
    """

    def __init__(
        self,
        penalty: "Penalty",
        functions: tuple,
        parameters: tuple[float, ...],
        errors: dict[int, BaseException] | None = None,
    ):
        self.penalty = penalty
        self.is_linear = getattr(penalty, "is_linear", False)
        self._functions = functions
        self._errors = errors
        self.is_compiled = errors is None
        self.kernel = PenaltyKernel(
            *(_address(function) for function in functions), np.array(parameters, dtype=float)
        )

    @classmethod
    def from_methods(cls, penalty: "Penalty") -> "CompiledPenalty":
        """Call the penalty's methods back in Python."""
        errors: dict[int, BaseException] = {}
        methods = penalty.value, penalty.derivative
        return cls(penalty, tuple(_call_back(method, errors) for method in methods), (), errors)

    def raise_errors(self) -> None:
        """Raise what a method has raised when compiled code called it in this thread."""
        error = self._errors.pop(get_ident(), None) if self._errors else None
        if error is not None:
            raise error

    def __reduce__(self):
        return compile_penalty, (self.penalty,)

    def value(self, z) -> NDArray[np.float64]:
        """Omega(z)."""
        return self._evaluate(self.kernel.value, z)

    def derivative(self, z) -> NDArray[np.float64]:
        """Omega'(z)."""
        return self._evaluate(self.kernel.derivative, z)

    def _evaluate(self, address: int, z) -> NDArray[np.float64]:
        z = np.asarray(z, dtype=float, order="C")
        out = np.empty_like(z, order="C")
        parameters = self.kernel.parameters.ctypes.data
        _C_FUNCTION(address)(z.ctypes.data, z.size, parameters, out.ctypes.data)
        self.raise_errors()
        return out[()]


def compile_penalty(penalty: "Penalty") -> CompiledPenalty:
    """Compile a penalty, or wrap its methods if Numba cannot compile them, with a logged note."""
    from ._penalties import BuiltIn, Rescaled

    if isinstance(penalty, CompiledPenalty):
        return penalty
    scale, inner = 1.0, penalty
    while isinstance(inner, Rescaled):
        scale, inner = scale * inner.scale, inner.penalty
    if scale == 1.0 and isinstance(inner, BuiltIn) and uses_kernels(type(inner)):
        return built_in(inner)
    compiled = _from_class(inner, scale)
    if compiled is not None and _agrees(compiled, penalty):
        compiled.penalty = penalty
        return compiled
    return CompiledPenalty.from_methods(penalty)


def built_in(penalty: "BuiltIn") -> CompiledPenalty:
    """The compiled form of a built-in penalty."""
    functions = tuple(_as_c_function(kernel) for kernel in penalty.kernels)
    return CompiledPenalty(penalty, functions, penalty.parameters)


def uses_kernels(cls: type) -> bool:
    """Whether a built-in penalty's class, which may be a user's subclass, uses its kernels."""
    from ._penalties import BuiltIn

    return cls.value is BuiltIn.value and cls.derivative is BuiltIn.derivative


def _signature():
    """The Numba type of the C signature at the head of this module."""
    from numba import types

    doubles = types.CPointer(types.float64)
    return types.void(doubles, types.intp, doubles, doubles)


@cache
def _as_c_function(function: Callable):
    """The C function of a kernel of a built-in penalty, compiled once."""
    from numba import cfunc

    options = {"cache": True, "error_model": "numpy", "fastmath": {"contract", "reassoc"}}
    return cfunc(_signature(), **options)(function)


def _address(function) -> int:
    """The address of a C function of Numba or ctypes."""
    if isinstance(function, _C_FUNCTION):
        return ctypes.cast(function, ctypes.c_void_p).value
    return function.address


def _call_back(method: Callable, errors: dict[int, BaseException]):
    """A C function that calls a Python method; `errors` has what that raises, by thread."""

    def call(z, n, _, out):
        # All in the block: ctypes would ignore an exception, Ctrl-C too, and keep what is in out.
        try:
            if n > 0:
                result = np.ctypeslib.as_array((ctypes.c_double * n).from_address(out))
                result[:] = np.nan
                result[:] = method(np.array((ctypes.c_double * n).from_address(z)))
        except BaseException as error:
            errors.setdefault(get_ident(), error)

    return _C_FUNCTION(call)


def _from_class(penalty: "Penalty", scale: float) -> CompiledPenalty | None:
    """The compiled methods of a penalty with its attributes, at another unit of distance."""
    cls = type(penalty)
    attributes = _numeric_attributes(penalty)
    names = tuple(attributes)
    known = _compiled_methods.setdefault(cls, {})
    if names not in known:
        try:
            functions = _compile_methods(cls, names)
        except Exception as error:  # Numba raises its own errors, and those of its parts
            functions = None
            reason = str(error).strip().splitlines() or [type(error).__name__]
            _log.warning(
                "penalty %s cannot be compiled and is evaluated in Python, which is slower: "
                "write value(z) and derivative(z) with NumPy functions of z and numeric "
                "attributes only (%s)",
                cls.__name__,
                reason[0],
            )
        known[names] = functions
    functions = known[names]
    if functions is None:
        return None
    parameters = 1.0 / scale, scale * scale, scale, *attributes.values()
    return CompiledPenalty(penalty, functions, parameters)


def _numeric_attributes(penalty: "Penalty") -> dict[str, float]:
    """The public attributes of a penalty that are numbers, by name."""
    found = {}
    for name in dir(penalty):
        if not name.startswith("_"):
            with suppress(Exception):  # a property may raise anything
                value = getattr(penalty, name)
                if isinstance(value, Real | np.bool_):
                    found[name] = float(value)
    return found


def _compile_methods(cls: type, names: tuple[str, ...]) -> tuple:
    """C functions of the methods `value` and `derivative`.

    Their parameters are the factor of the distance, the factors of value and of derivative, and
    the attributes.
    """
    from numba import carray, cfunc, njit
    from numba.np.unsafe.ndarray import to_fixed_tuple

    Attributes = namedtuple("Attributes", names)  # stands for `self` in compiled code
    n_attributes, n_parameters = len(names), 3 + len(names)

    def c_function(name, position):
        method = njit(error_model="numpy")(_with_numpy_floats(getattr(cls, name)))

        def call(z, n, parameters, out):
            distances = np.empty(n)
            for e in range(n):
                distances[e] = parameters[0] * z[e]
            given = carray(parameters, (n_parameters,))
            result = method(Attributes(*to_fixed_tuple(given[3:], n_attributes)), distances)
            for e in range(n):
                out[e] = parameters[position] * result[e]

        return cfunc(_signature())(call)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return c_function("value", 1), c_function("derivative", 2)


def _with_numpy_floats(method: Callable) -> Callable:
    """The same function with `float` read as `np.float64`: Numba does not know dtype=float."""
    names = {**method.__globals__, "float": np.float64}
    return FunctionType(
        method.__code__, names, method.__name__, method.__defaults__, method.__closure__
    )


def _agrees(compiled: CompiledPenalty, penalty: "Penalty") -> bool:
    """Whether compiled methods return the same as the methods themselves, at probes."""
    with np.errstate(all="ignore"):
        return all(
            np.allclose(found(_PROBES), expected(_PROBES.copy()), rtol=1e-9, atol=0.0)
            for found, expected in (
                (compiled.value, penalty.value),
                (compiled.derivative, penalty.derivative),
            )
        )
