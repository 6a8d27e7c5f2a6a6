"""The experiments of the paper, and their figures, from data to picture."""

from ._experiments import EXPERIMENTS, QUICK, Plan
from ._reproduce import Outcome, Progress, reproduce

__all__ = ["EXPERIMENTS", "QUICK", "Outcome", "Plan", "Progress", "reproduce"]
