"""What tests of programs that use Soloist need, and what its own tests, demo and benchmarks use.

Clusters in one process (`memory_cluster`, `tcp_cluster`) and of real processes (`Workers`); a `Witness` that judges
overlaps and fences; a `FencedStore` that refuses who comes too late; `FaultProxy`, `Proxies` and `Namespaces`, which cut,
stop and delay connections; a `Nemesis` that does all of it by a seed; `die_at`, which ends a process at a named point;
`ports`; and `eventually`, which waits for something to be so. It needs no test framework.
"""

from soloist.testing.clusters import connected, crash, memory_cluster, memory_nodes, started, tcp_cluster
from soloist.testing.crew import Crew
from soloist.testing.failpoints import die_at
from soloist.testing.judge import Fault, Judgement
from soloist.testing.namespaces import Namespaces
from soloist.testing.nemesis import Nemesis
from soloist.testing.ports import free_ports, ports
from soloist.testing.proxies import Proxies
from soloist.testing.proxy import FaultProxy, Mischief
from soloist.testing.store import FencedStore, StoreLine, Write
from soloist.testing.testimony import BlockingTestimony, Testimony, WitnessServer
from soloist.testing.waiting import eventually, until
from soloist.testing.witness import Findings, Statement, Witness
from soloist.testing.worker import Contend, Do, Done, Grab, Worker
from soloist.testing.workers import Workers

__all__ = [
    "BlockingTestimony",
    "Contend",
    "Crew",
    "Do",
    "Done",
    "Fault",
    "FaultProxy",
    "FencedStore",
    "Findings",
    "Grab",
    "Judgement",
    "Mischief",
    "Namespaces",
    "Nemesis",
    "Proxies",
    "Statement",
    "StoreLine",
    "Testimony",
    "Witness",
    "WitnessServer",
    "Worker",
    "Workers",
    "Write",
    "connected",
    "crash",
    "die_at",
    "eventually",
    "free_ports",
    "memory_cluster",
    "memory_nodes",
    "ports",
    "started",
    "tcp_cluster",
    "until",
]
