"""The experiments of the paper and their figures, as run by `comanifold reproduce`."""

from ._reproduce import EXPERIMENTS, QUICK, Plan, RunProgress, RunResults, reproduce

__all__ = ["EXPERIMENTS", "QUICK", "Plan", "RunProgress", "RunResults", "reproduce"]
