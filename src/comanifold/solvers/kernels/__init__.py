"""Compiled functions over arrays; each has a slow NumPy version in tests/oracles.

`kernel` compiles a function when it is first called. Names are short and mathematical here: V are
the values of m x n blocks, and whatever is written for rows serves columns with V transposed.
"""

from numba import njit

# No check for divisions by zero, which would keep loops from being vectorised.
# No wrapper for calls from C, which nothing uses and which would be compiled all the same.
kernel = njit(
    cache=True,
    nogil=True,
    fastmath={"contract", "reassoc"},
    error_model="numpy",
    no_cfunc_wrapper=True,
)

# For a function with few callers: compiled as a part of them and not by itself. Every level of
# compiled calls makes LLVM optimise all that is below it again.
inlined = njit(
    cache=True,
    nogil=True,
    fastmath={"contract", "reassoc"},
    error_model="numpy",
    inline="always",
)
