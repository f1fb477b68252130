"""Which release belongs to which group, and what a group does unlike the next newer one."""

from itertools import pairwise

import pytest

from sim.vllm_releases import GROUPS, NEWEST, PriorityPolicy, VllmRelease, vllm_release

RUN = {  # the golden README's table
    "0.33.0": "0.33.0",
    "0.32.0": "0.31.0 0.32.0",
    "0.30.0": "0.24.0 0.27.1 0.28.0 0.29.0 0.30.0",
    "0.23.0": "0.19.1 0.20.2 0.21.0 0.22.1 0.23.0",
    "0.18.1": "0.12.0 0.15.1 0.18.1",
    "0.11.0": "0.9.2 0.10.2 0.11.0",
    "0.8.5": "0.8.5",
}


@pytest.mark.parametrize(("group", "name"), [(group, name) for group, run in RUN.items() for name in run.split()])
def test_every_release_that_was_run_is_in_its_group(group: str, name: str) -> None:
    assert vllm_release(name).group == group


@pytest.mark.parametrize(
    ("name", "group"),
    [("0.9.0", "0.8.5"), ("0.19.0", "0.18.1"), ("0.23.1", "0.23.0"), ("0.34.0", "0.33.0"), ("1.0", "0.33.0")],
)
def test_release_in_between_counts_with_the_nearest_older_one(name: str, group: str) -> None:
    assert vllm_release(name).group == group


@pytest.mark.parametrize("name", ["v0.10.2", "0.10.2rc1", "0.10.2+cu128", "0.10.2.post1"])
def test_release_number_may_have_trimmings(name: str) -> None:
    assert vllm_release(name).group == "0.11.0"


@pytest.mark.parametrize("name", ["", "main", "33", "latest 0.33.0"])
def test_name_without_a_release_number_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="has no release number"):
        vllm_release(name)


def test_release_older_than_any_known_is_refused() -> None:
    with pytest.raises(ValueError, match=r"'0\.8\.4' is older than the oldest known, 0\.8\.5"):
        vllm_release("0.8.4")


def test_changes_add_up_from_group_to_group() -> None:
    def departures(release: VllmRelease) -> set[str]:
        return {name for name in VllmRelease._fields[1:] if getattr(release, name) != getattr(NEWEST, name)}

    changed = [departures(release) for _, release in GROUPS]
    assert changed[0] == set()
    assert all(newer < older for newer, older in pairwise(changed))


def test_priority_is_reliable_from_0_12_0_on() -> None:
    assert vllm_release("0.12.0").priority == PriorityPolicy.RELIABLE
    assert vllm_release("0.11.0").priority == PriorityPolicy.UNRELIABLE
    assert vllm_release("0.8.5").priority == PriorityPolicy.NONE
