"""Penalties on the distance between two rows or two columns."""

from .._validation import check_choice
from ._compiled import CompiledPenalty, PenaltyKernel, compile_penalty
from ._penalties import MCP, Linear, Log, Penalty, Snowflake, check_penalty, rescale

__all__ = [
    "MCP",
    "CompiledPenalty",
    "Linear",
    "Log",
    "Penalty",
    "PenaltyKernel",
    "Snowflake",
    "check_penalty",
    "compile_penalty",
    "get_penalty",
    "rescale",
]

_NAMED = {"snowflake": Snowflake, "linear": Linear, "log": Log, "mcp": MCP}


def get_penalty(penalty: str | Penalty) -> Penalty:
    """The penalty of that name with its default parameters, or the checked object itself."""
    if isinstance(penalty, str):
        check_choice("penalty", penalty, sorted(_NAMED), "a Penalty object")
        return _NAMED[penalty]()
    if isinstance(penalty, type):
        raise ValueError(f"penalty must be an object, got the class {penalty.__name__}: call it")
    if type(penalty) not in _NAMED.values():
        check_penalty(penalty)
    return penalty
