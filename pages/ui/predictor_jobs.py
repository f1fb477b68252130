"""The jobs of Predictor: the map of errors, the limits, published predictors, and capacities in money."""

from ui.job import Job, kept, start, task

from sim.scenario import Scenario
from sim.studies.alternatives import Alternative
from sim.studies.predictor.break_even import Trial, run_trial, trials
from sim.studies.predictor.error_map import ErrorCell, cells, run_cell
from sim.studies.predictor.published import PublishedHere, names, run_published
from sim.studies.predictor.uses import Measured, Use, own_error
from sim.studies.predictor.worth import other_uses, tried_use
from sim.workload import Trace


@kept()
def error_job(scenario: Scenario, trace: Trace | None) -> Job[ErrorCell, Measured]:
    """Runs of every error of a reservation, started where they are new."""
    every = cells(own_error(scenario)[1])
    return start({cell: task(run_cell, scenario, Use.RESERVE, cell, trace) for cell in every})


@kept()
def trial_job(scenario: Scenario, trace: Trace | None) -> Job[Trial, Measured]:
    """Runs without a predictor, of other spreads of an ordering, and of other delays."""
    bias, spread = own_error(scenario)
    return start({trial: task(run_trial, scenario, trial, bias, trace) for trial in trials(spread)})


@kept()
def published_job(scenario: Scenario, trace: Trace | None) -> Job[str, PublishedHere]:
    """Published predictors on these requests."""
    return start({name: task(run_published, scenario, name, trace) for name in names()})


@kept()
def use_job(scenario: Scenario, trace: Trace | None) -> Job[Use, Alternative]:
    """What one replica sustains, by use that is not its scheduler's own; its own is `capacity_jobs.base_job`."""
    return start({use: task(tried_use, scenario, use, trace) for use in other_uses(scenario)})
