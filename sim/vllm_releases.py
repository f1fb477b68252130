"""What older vLLM releases do unlike the newest: one flag a rule, one row a group of releases.

Which releases were run, and that each group behaves alike, is in the golden README. The release in which a rule
changed lies between two of those; a release in between counts with the nearest older one that was run.

Source: README of the vLLM goldens, section 4.
"""

import re
from enum import IntEnum
from typing import NamedTuple


class PriorityPolicy(IntEnum):
    """What becomes of `scheduling_policy: priority`."""

    NONE = 0  # first come, first served only
    UNRELIABLE = 1  # requests of equal priority and arrival end the server
    RELIABLE = 2


class VllmRelease(NamedTuple):
    """Rules of a group of releases; the defaults are those of the newest."""

    group: str  # newest release of the group that was run
    priority_self_preempt_stops: bool = False  # priority: nobody is served after a request that preempted itself
    cap_applies_to_lone: bool = False  # long_prefill_token_threshold counts for a request that is alone, too
    watermark_exists: bool = True
    freed_blocks_all_to_back: bool = False  # of the free queue; else only those with a cache key
    full_isl_exists: bool = True  # scheduler_reserve_full_isl
    oversized_prompt_skipped: bool = False  # unchunked: over the budget lets others pass; returned in reversed order
    chunked_prefill_switch_ignored: bool = False  # prompts are always chunked
    priority: PriorityPolicy = PriorityPolicy.RELIABLE


NEWEST = VllmRelease("0.33.0")

# The changes add up from group to group. Each group with the oldest release of it that was run.
_0_32 = NEWEST._replace(group="0.32.0", priority_self_preempt_stops=True)
_0_30 = _0_32._replace(group="0.30.0", cap_applies_to_lone=True)
_0_23 = _0_30._replace(group="0.23.0", watermark_exists=False, freed_blocks_all_to_back=True)
_0_18 = _0_23._replace(group="0.18.1", full_isl_exists=False)
_0_11 = _0_18._replace(group="0.11.0", oversized_prompt_skipped=True, priority=PriorityPolicy.UNRELIABLE)
_0_8 = _0_11._replace(group="0.8.5", chunked_prefill_switch_ignored=True, priority=PriorityPolicy.NONE)
GROUPS: tuple[tuple[str, VllmRelease], ...] = (
    ("0.33.0", NEWEST),
    ("0.31.0", _0_32),
    ("0.24.0", _0_30),
    ("0.19.1", _0_23),
    ("0.12.0", _0_18),
    ("0.9.2", _0_11),
    ("0.8.5", _0_8),
)


def vllm_release(name: str) -> VllmRelease:
    """Rules of the release with that name, such as `0.12.0`, `v0.33.1` or `0.24.0rc2`.

    Raises
    ------
    ValueError
        No release number, or one older than any that was run.
    """
    numbers = _numbers(name)
    for oldest, release in GROUPS:
        if numbers >= _numbers(oldest):
            return release
    raise ValueError(f"vLLM release {name!r} is older than the oldest known, {GROUPS[-1][0]}")


def _numbers(name: str) -> tuple[int, ...]:
    """The release number; whatever follows it, such as `rc2`, does not count."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", name)
    if found is None:
        raise ValueError(f"vLLM release {name!r} has no release number such as {GROUPS[0][0]}")
    return tuple(int(part or 0) for part in found.groups())
