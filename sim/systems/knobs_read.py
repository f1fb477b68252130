"""Which knobs make a difference: those of the system, less what other choices took away, plus what they brought."""

from dataclasses import astuple
from typing import TYPE_CHECKING

from sim.systems import PREEMPTIVE_ORDERS, SYSTEMS

if TYPE_CHECKING:
    from sim.scheduler_spec import Scheduler

ALWAYS = ("system", "max_num_seqs", "max_num_batched_tokens")
CHOICES = ("batching", "prefill", "reserve", "order", "preemption_mode", "victim")
RECOMBINED = (*CHOICES, "admission_interval_steps")

QUANTA = ("levels", "skip_levels")
PROMOTING = ("rank", "declared", "true_length", "true_remaining")
NEEDS: dict[str, tuple[str, ...]] = {  # knob: values of the five choices of which one must be in force
    "swap_space_gib": ("swap",),
    "swap_gb_s": ("swap",),
    "scheduler_reserve_full_isl": ("chunk",),
    "long_prefill_token_threshold": ("chunked", "alternate"),
    "conformal_window": ("conformal",),
    "history": ("peak_history",),
    "peak_share": ("peak_history", "peak_aggressive", "peak_cap"),
    "horizon": ("horizon",),
    "starvation_threshold": PROMOTING,
    "starvation_quantum": PROMOTING,
    "quantum_ms": QUANTA,
    "quantum_growth": QUANTA,
    "starvation_s": ("skip_levels",),
    "keep_share": ("refined",),
    "guard_wait_s": ("shortest_guarded",),
    "guard_factor": ("shortest_guarded",),
    "group_size": ("planned",),
    "batch_by_length": ("planned",),
    "recollect": ("planned",),
}
OWN_ONLY = ("starvation_s",)  # no choice brings it along to another system
OF_STAGES = ("async_scheduling",)
OF_BATCHES = ("hold", "batch_wait_s")


def is_in_general_loop(scheduler: "Scheduler", *, has_timeout: bool, has_stages: bool = False) -> bool:
    """Whether a loop of all combinations runs it; those have no prefix cache, priorities or releases of vLLM."""
    own = SYSTEMS[scheduler.system]
    is_plain = not (scheduler.is_recombined or has_timeout or has_stages)
    return own.engine == "general" or (own.engine == "calendar" and not is_plain)


def knobs_read(scheduler: "Scheduler", *, has_timeout: bool = False, has_stages: bool = False) -> tuple[str, ...]:
    """Fields of a scheduler that a run reads.

    Parameters
    ----------
    scheduler : Scheduler
        Need not be a combination that can run.
    has_timeout : bool
        Clients give up.
    has_stages : bool
        The model's layers are dealt over a pipeline.

    Returns
    -------
    tuple of str
        Names of fields; the five choices only where the system takes others than its own.
    """
    own = SYSTEMS[scheduler.system]
    if own.engine == "sglang":
        return (*ALWAYS, *own.knobs)
    in_force, usual = set(astuple(scheduler.choices)), set(astuple(own.choices))
    brought = [knob for knob, values in NEEDS.items() if knob not in OWN_ONLY and (in_force - usual) & set(values)]
    own_knobs = [knob for knob in own.knobs if knob not in NEEDS or in_force & set(NEEDS[knob])]
    if is_in_general_loop(scheduler, has_timeout=has_timeout, has_stages=has_stages):
        batches = OF_BATCHES if scheduler.choices.batching == "request" else ()
        delivery = ("delivery",) if scheduler.holds_batches else ()
        stages = OF_STAGES if has_stages and not scheduler.is_recombined else ()
        general = (*NEEDS, "watermark", *batches, *delivery, *stages)
        own_knobs = [knob for knob in own_knobs if knob in general]
    joins_at_intervals = scheduler.choices.order not in PREEMPTIVE_ORDERS
    recombined = RECOMBINED if joins_at_intervals else CHOICES
    return tuple(dict.fromkeys((*ALWAYS, *recombined, *own_knobs, *brought)))
