"""How good a model is right now, from the few labels that were asked: estimates and plans."""

from lasec.metrics.estimate import Costs, Estimate, Interval, Method, Metric, Over
from lasec.metrics.meter import Meter
from lasec.metrics.planner import Plan, plan

__all__ = ["Costs", "Estimate", "Interval", "Meter", "Method", "Metric", "Over", "Plan", "plan"]
