"""Memory that this process may use: the machine's, or what a container or a job has been granted."""

import pytest

from vvcv.runtime import memory
from vvcv.runtime.memory import granted_memory, largest_system

GB = 2**30
UNLIMITED = 9223372036854771712  # as version 1 says it


def a_machine(root, groups, limits):
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    for name, limit in limits.items():
        file = root / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{limit}\n")
    return str(root)


@pytest.mark.parametrize(
    ("groups", "limits", "granted"),
    [
        ("0::/\n", {"memory.max": 2 * GB}, 2 * GB),  # inside a container
        ("0::/job/step\n", {"job/memory.max": 3 * GB, "job/step/memory.max": "max"}, 3 * GB),  # of a batch system
        ("0::/job/step\n", {"job/memory.max": 3 * GB, "job/step/memory.max": GB}, GB),
        ("5:cpu:/a\n4:memory:/docker/1\n0::/\n", {"memory/memory.limit_in_bytes": GB}, GB),  # its own root is mounted
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": UNLIMITED}, UNLIMITED),
        ("0::/\n", {"memory.max": "max"}, float("inf")),
        ("0::/\n", {}, float("inf")),
        ("nonsense\n", {"memory.max": 1}, float("inf")),
    ],
)
def test_the_smallest_limit_of_the_groups_around_a_process_counts(tmp_path, groups, limits, granted):
    assert granted_memory(a_machine(tmp_path, groups, limits)) == granted


def test_a_container_has_room_for_what_it_was_granted(monkeypatch):
    monkeypatch.setattr(memory, "granted_memory", lambda: 1e9)
    assert memory.physical_memory() == 1e9
    rows = largest_system()
    assert memory.bytes_needed(rows) < 0.81e9 < memory.bytes_needed(rows + 300)
