"""The fast way and the slow way come to the same: nodes without each special case keep all rules."""

from __future__ import annotations

import asyncio

import pytest

from soloist.bench import lock_ablations
from soloist.bench.ablation import PARTS, check, without
from soloist.bench.lock_ablations import Ratio, Worth, table
from soloist.bench.lock_figures import Contended
from soloist.bench.locks import Measurement, System
from soloist.cli import main
from soloist.core import UsageError
from soloist.net import Node
from soloist.net.member.company import USUAL_LEASE
from soloist.testing import Witness, tcp_cluster
from tests.net.helpers import run

ENTRIES, TASKS = 20, 3


async def contend(node: Node, witness: Witness) -> None:
    for _ in range(ENTRIES):
        async with node.lock("x") as hold:
            with witness.inside_with("x", node.name, hold.fence):
                await asyncio.sleep(0)


@pytest.mark.parametrize("parts", [(), *((part,) for part in PARTS), tuple(PARTS)], ids=",".join)
def test_nodes_without_it_keep_all_rules(parts: tuple[str, ...]) -> None:
    """As many entries, nobody inside together, fences without a gap, nothing under way at the end."""

    async def main() -> None:
        witness = Witness(remember=True)
        async with tcp_cluster("abc", shortcut="shortcut" not in parts) as nodes:
            async with asyncio.TaskGroup() as group:
                for node in nodes * TASKS:
                    group.create_task(contend(node, witness))
            assert witness.problems() == []
            fences = [fence for _, fence in witness.findings()["x"].order]
            assert fences == list(range(fences[0], fences[0] + len(nodes) * TASKS * ENTRIES))
            assert witness.inside == []
            assert [node.holds for node in nodes] == [{}, {}, {}]

    with without(parts):
        run(main())


def test_what_is_switched_off_is_on_again_afterwards() -> None:
    from soloist.net.engine import instance, outgoing, switchboard, turns
    from soloist.net.engine.turns import Turns
    from soloist.net.link import connection
    from soloist.net.member import gate

    def parts() -> list[object]:
        return [
            outgoing.EAGER,
            switchboard.EAGER,
            instance.CONTENDED,
            turns.LOOK_SECONDS,
            Turns.rouse_now,
            instance.ALONE,
            outgoing.SINGLE,
            connection.READ_AT_ONCE,
            gate._one_at_a_time,
        ]

    before = parts()
    with without(PARTS):
        assert all(now is not then for now, then in zip(parts(), before, strict=True))
    assert parts() == before


def test_an_unknown_part_is_named() -> None:
    with pytest.raises(UsageError, match="unknown part 'eagre'; did you mean eager"):
        check(["listening", "eagre"])


def test_the_table_says_how_far_a_median_is_to_be_trusted() -> None:
    ratio = Ratio(1.234, 0.9, 1.5)
    _, cells = table([Worth("eager", ratio, ratio, ratio, 3)])
    assert cells == [("eager", "1.23 (0.90-1.50)", "1.23 (0.90-1.50)", "1.23 (0.90-1.50)", "3")]


def test_what_only_a_lease_has_is_measured_beside_nodes_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float | None]] = []

    def sample(system: System, *_: object) -> Measurement:
        asked.append((system.setting, system.lease))
        return Measurement(system.name, "any", 1.0, [Contended(4, 1.0, 1.0, 1)], 1.0)

    monkeypatch.setattr(lock_ablations, "sample", sample)
    steps: list[tuple[int, int]] = []
    lock_ablations.measure(
        ["eager", "gate"], rounds=1, progress=lambda done, total: steps.append((done, total))
    )
    lease = USUAL_LEASE
    alike = [("nothing", None), ("without eager", None), ("without gate", lease)]
    assert asked == [("whole", None), ("whole", lease), *alike]
    assert steps == [(done, 5) for done in range(1, 6)]


@pytest.mark.parametrize(
    ("missing", "said"),
    [("failed: client 1 died", "failed: client 1 died"), (None, "nothing was measured in that time")],
)
def test_what_cannot_be_measured_is_one_line(
    missing: str | None, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        lock_ablations, "sample", lambda system, *_: Measurement(system.name, "any", missing=missing)
    )
    assert main(["bench", "locks", "--without", "eager", "--rounds", "2"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"soloist: {said}" + ("" if missing else "; give more --seconds")
    ]


def test_the_table_is_there_for_a_page_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = Measurement("any", "any", 2.0, [Contended(4, 100.0, 1.0, 3)], 50.0)
    monkeypatch.setattr(lock_ablations, "sample", lambda system, *_: row)
    assert main(["bench", "locks", "--without", "eager", "--rounds", "1", "--markdown"]) == 0
    same = "1.00 (1.00-1.00)"
    assert capsys.readouterr().out.splitlines() == [
        "| without | re-entry | entries/s, 4 processes | hand-off | longest run |",
        "| --- | ---: | ---: | ---: | ---: |",
        f"| nothing | {same} | {same} | {same} | 3 |",
        f"| eager | {same} | {same} | {same} | 3 |",
    ]
