"""The jobs of Length tail: counterfactual runs, and runs of other spreads at equal mean."""

from ui.job import Job, kept, start, task

from sim.scenario import Scenario
from sim.studies.counterfactuals import Cell, Impossible, Measured, cells, measure
from sim.studies.length_spread import CVS, SpreadPoint, spread_point
from sim.workload import Trace

Spread = float | None  # None: the scenario's own outputs
Outcome = Measured | Impossible


@kept()
def counterfactual_job(scenario: Scenario, trace: Trace | None) -> Job[Cell, Outcome]:
    """Runs of the counterfactuals of the scenario on screen, started where they are new."""
    return start({cell: task(measure, scenario, cell, trace) for cell in cells(scenario, trace)})


@kept()
def spread_job(scenario: Scenario, trace: Trace | None) -> Job[Spread, SpreadPoint]:
    """Runs of other spreads, started where they are new."""
    spreads: tuple[Spread, ...] = (None, *CVS)
    return start({cv: task(spread_point, scenario, cv, trace) for cv in spreads})
