"""A daemon with a lease is killed while a command runs under its lock: the command ends before anybody else is let in."""

from __future__ import annotations

from tests.net.service.daemons import alive, cluster

LEASE = 'lease = 2\ndata_dir = "data-{name}"\n'


def test_a_command_ends_with_its_daemon_and_only_then_the_next_one_is_let_in() -> None:
    """That a daemon has ended proves nothing about those who use its locks, so its lease is waited for."""
    with cluster("a", "b", "c", more=LEASE) as found:
        holder = found.hold("x", "--name", "a")
        found.daemons["a"].kill()
        script = f'kill -0 {holder.child} 2>/dev/null && echo both; echo "$SOLOIST_FENCE"'  # type: ignore[attr-defined]
        code, out, err = found.say("run", "x", "--name", "b", "--", "sh", "-c", script)
        assert (code, err) == (0, "")
        assert int(out) > holder.fence, out  # type: ignore[attr-defined]
        assert not alive(holder.child)  # type: ignore[attr-defined]
        code, _, err = found.finish(holder)
        assert code == 1
        assert "'x' was lost while sh ran" in err
        found.daemon("a")
        found.ready("a")
        assert found.say("run", "x", "--name", "a", "--", "true")[0] == 0
