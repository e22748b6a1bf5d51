"""A daemon with a lease is killed while a command runs under its lock: the command ends before anybody else is let in."""

from __future__ import annotations

from soloist.testing import ports, until
from tests.net.service.daemons import SECONDS, alive, cluster

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


def test_held_for_a_command_that_was_killed_until_it_is_broken() -> None:
    """kill -9 of `soloist run`: its client is gone and has released nothing."""
    with cluster("a", more=LEASE) as found:
        assert found.say("run", "x", "--on-holder-loss", "hold", "--", "true")[0] == 0
        holder = found.hold("x", "--on-holder-loss", "hold")
        holder.kill()
        until(lambda: found.json("status")["withheld"], "it is held for who is lost")
        lost = f"a held it with fence {holder.fence} and was lost: `soloist break x` frees it"  # type: ignore[attr-defined]
        code, _, err = found.say("run", "x", "--timeout", "0", "--", "true")
        assert code == 1
        assert lost in err
        assert f"withheld     x: {lost}" in found.say("status")[1]
        (row,) = found.json("holders")["holders"]
        assert (row["node"], row["lost"]) == ("a", "lost: `soloist break x` frees it")
        code, out, _ = found.say("break", "x")
        assert (code, out.splitlines()[0]) == (0, f"x was taken from a (fence {holder.fence})")  # type: ignore[attr-defined]
        assert found.say("run", "x", "--lock-delay", "1s", "--", "true")[0] == 0
        code, _, err = found.say("run", "x", "--on-holder-loss", "keep", "--", "true")
        assert (code, err) == (2, "soloist: --on-holder-loss must be release or hold, not 'keep'\n")


def test_a_daemon_with_a_port_for_clients_outwaits_those_of_the_process_before() -> None:
    """Without a lease: they may be cut off, and the new process knows nothing of what they hold."""
    with ports("port") as there:
        more = f'clients = "{there["port"]}"\nsession_lease = 1000\ndata_dir = "data-{{name}}"\n'
        with cluster("a", more=more) as found:
            assert found.say("run", "x", "--", "true")[0] == 0  # where nobody was before nobody is waited for
            found.daemons["a"].kill()
            found.daemons["a"].wait()
            found.daemon("a")
            found.ready("a")
            trouble = found.json("status")["trouble"]
            assert trouble.startswith(
                "the cluster has not begun: clients of the process before may hold locks"
            )
            found.daemons["a"].terminate()
            assert found.daemons["a"].wait(SECONDS) == 0
