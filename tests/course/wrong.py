"""Typical wrong hand-ins: the worked solution of an exercise, with one thing wrong."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

SOLUTIONS = Path(__file__).parents[2] / "teaching" / "solutions"


def solution(number: int) -> str:
    return (SOLUTIONS / f"exercise{number}.py").read_text()


class Wrong(NamedTuple):
    exercise: int
    name: str
    property: str
    """What is broken."""
    before: str
    after: str

    def text(self) -> str:
        whole = solution(self.exercise)
        assert whole.count(self.before) == 1, f"{self.name}: {whole.count(self.before)} times"
        return whole.replace(self.before, self.after)


WRONG = (
    # A token that goes round.
    Wrong(
        1,
        "keeps the token for ever",
        "deadlock",
        "    def release(self) -> None:\n        self.pass_on()",
        "    def release(self) -> None:\n        return",
    ),
    Wrong(
        1,
        "enters though it never asked",
        "error",
        "if self.phase is WAITING:",
        "if self.phase is not WAITING or True:",
    ),
    Wrong(1, "two tokens", "exclusion", "if self.me == 0:", "if self.me <= 1:"),
    Wrong(
        1,
        "passes the token on and enters",
        "exclusion",
        "            self.enter()\n        else:\n            self.pass_on()",
        "            self.enter()\n        self.pass_on()",
    ),
    Wrong(1, "runs off the end of the ring", "error", "(self.me + 1) % self.n", "self.me + 1"),
    Wrong(
        1,
        "nobody has the token at first",
        "deadlock",
        "    def begin(self) -> None:\n        if self.me == 0:\n            self.pass_on()\n\n",
        "",
    ),
    # A coordinator.
    Wrong(2, "serves the last one first", "starvation", "self.queue.pop(0)", "self.queue.pop()"),
    Wrong(
        2,
        "does not go on when somebody leaves",
        "deadlock",
        "        self.busy = False\n        self.grant_next()",
        "        self.busy = False",
    ),
    Wrong(
        2,
        "the coordinator helps itself",
        "exclusion",
        "            self.on_request(0, Request())\n",
        "            self.enter()\n",
    ),
    Wrong(
        2, "grants whatever it is asked", "exclusion", "if self.queue and not self.busy:", "if self.queue:"
    ),
    Wrong(
        2,
        "leaves without a word",
        "deadlock",
        "        else:\n            self.send(0, Release())",
        "        else:\n            return",
    ),
    Wrong(2, "a handler that nobody calls", "mistake", "    @on(Grant)\n", ""),
    # Lamport.
    Wrong(3, "does not acknowledge", "deadlock", "        self.send(j, Ack(self.C))\n", ""),
    Wrong(3, "its clock stays behind", "deadlock", "self.C = max(self.C, t + 1)", "self.C += 1"),
    Wrong(
        3,
        "no order among equal numbers",
        "exclusion",
        "all(mine <= (t, j) for j, t in self.q.items())",
        "all(mine[0] <= t for t in self.q.values())",
    ),
    Wrong(
        3,
        "does not look again when somebody leaves",
        "deadlock",
        "        self.q.pop(j, None)\n        self.enter_if_first()",
        "        self.q.pop(j, None)",
    ),
    Wrong(
        3,
        "forgets all requests when one leaves",
        "exclusion",
        "self.q.pop(j, None)",
        "self.q = {self.me: self.q[self.me]} if self.me in self.q else {}",
    ),
    Wrong(
        3, "leaves without a word", "deadlock", "        self.multicast(self.others, Release(self.C))\n", ""
    ),
    # Ricart and Agrawala.
    Wrong(4, "equal numbers both give way", "exclusion", "(self.sn, self.me) < (m.sn, j)", "self.sn < m.sn"),
    Wrong(4, "equal numbers both insist", "deadlock", "(self.sn, self.me) < (m.sn, j)", "self.sn <= m.sn"),
    Wrong(
        4,
        "never answers what it deferred",
        "deadlock",
        "        for j in self.deferred:\n            self.send(j, REPLY)\n",
        "",
    ),
    Wrong(
        4,
        "does not learn numbers",
        "exclusion",
        "            self.H = m.sn\n",
        "            self.H = self.H\n",
    ),
    Wrong(4, "answers twice", "exclusion", "        self.deferred = []\n", ""),
    Wrong(
        4,
        "waits for its own answer",
        "deadlock",
        "self.outstanding = self.n - 1",
        "self.outstanding = self.n",
    ),
    # Suzuki and Kasami.
    Wrong(
        5,
        "serves requests that were served",
        "error",
        "self.phase is IDLE and self.is_waiting(j)",
        "self.phase is IDLE",
    ),
    Wrong(5, "does not say that it was served", "error", "        self.LN[self.me] = self.RN[self.me]\n", ""),
    Wrong(5, "keeps a copy of the token", "exclusion", "        self.have_privilege = False\n", ""),
    Wrong(
        5,
        "the queue stays at home",
        "service",
        "Privilege(tuple(self.Q), tuple(self.LN))",
        "Privilege((), tuple(self.LN))",
    ),
    Wrong(5, "a list in a message", "mistake", "    Q: tuple[Site, ...]\n", "    Q: list[Site]\n"),
    Wrong(
        5,
        "passes the token on while inside",
        "exclusion",
        "if self.have_privilege and self.phase is IDLE and",
        "if self.have_privilege and",
    ),
    # Raymond's tree.
    Wrong(6, "asks again and again", "too large", " and not self.asked", ""),
    Wrong(
        6,
        "enters because the token came",
        "error",
        "        self.holder = self.me\n        self.assign_privilege()",
        "        self.holder = self.me\n        self.enter()",
    ),
    Wrong(6, "serves the last one first", "starvation", "self.q.pop(0)", "self.q.pop()"),
    Wrong(6, "thinks that it has asked", "deadlock", "            self.asked = False\n", ""),
    Wrong(6, "gives the token away while inside", "exclusion", " and self.phase is not INSIDE", ""),
    Wrong(
        6,
        "does not pass requests on",
        "deadlock",
        "        self.q.append(j)\n        self.assign_privilege()\n        self.make_request()",
        "        self.q.append(j)\n        self.assign_privilege()",
    ),
    # Naimi and Trehel.
    Wrong(
        7,
        "the owner does not give it up",
        "deadlock",
        "elif self.token and self.phase is IDLE:\n            self.pass_token(m.i)",
        "elif self.token and self.phase is IDLE:\n            self.next = m.i",
    ),
    Wrong(
        7, "gives the token away while inside", "exclusion", "self.token and self.phase is IDLE", "self.token"
    ),
    Wrong(7, "keeps its successor for the next time", "error", "            self.next = None\n", ""),
    Wrong(7, "does not know that it has the token", "deadlock", "        self.token = True\n", ""),
    Wrong(
        7,
        "passes a request on as its own",
        "error",
        "            self.send(self.last, m)\n",
        "            self.send(self.last, Request(self.me))\n",
    ),
    Wrong(
        7,
        "does not know that it asked last",
        "deadlock",
        "        self.send(self.last, Request(self.me))\n        self.last = self.me\n",
        "        self.send(self.last, Request(self.me))\n",
    ),
    # K entries.
    Wrong(8, "one too many", "exclusion", "if count) < self.k", "if count) <= self.k"),
    Wrong(
        8, "one at a time", "capacity", "sum(1 for count in self.owe if count) < self.k", "not any(self.owe)"
    ),
    Wrong(
        8,
        "does not look when an answer comes",
        "deadlock",
        "        self.owe[j] -= m.count\n        self.enter_if_few_owe()",
        "        self.owe[j] -= m.count",
    ),
    Wrong(
        8,
        "forgets what it is owed",
        "exclusion",
        "            self.owe[j] += 1\n",
        "            self.owe[j] = 1\n",
    ),
    Wrong(
        8,
        "answers while inside",
        "exclusion",
        "if self.phase is not IDLE and mine_first:",
        "if self.phase is WAITING and mine_first:",
    ),
    Wrong(
        8,
        "never answers what it deferred",
        "deadlock",
        "                self.send(j, Reply(self.defer[j]))",
        "                self.H += 0",
    ),
    # Maekawa.
    Wrong(
        9,
        "does not give back",
        "deadlock",
        "            self.asked_back.add(j)\n            self.give_back()",
        "            return",
    ),
    Wrong(
        9,
        "gives back while inside",
        "exclusion",
        "if self.phase is WAITING and m.t == self.t:",
        "if m.t == self.t:",
    ),
    Wrong(
        9,
        "asks back once in a lifetime",
        "deadlock",
        "self.lock, self.inquired = self.queue.pop(0), False",
        "self.lock = self.queue.pop(0)",
    ),
    Wrong(
        9,
        "who gives back is forgotten",
        "deadlock",
        "            insort(self.queue, self.lock)\n",
        "            self.clock += 0\n",
    ),
    Wrong(
        9,
        "the younger one asks for the lock",
        "deadlock",
        "self.queue[0] < self.lock",
        "self.queue[0] > self.lock",
    ),
    Wrong(
        9,
        "an INQUIRE that comes early is forgotten",
        "service",
        "            self.asked_back.add(j)\n",
        "            self.asked_back |= {j} & self.got\n",
    ),
    # Lodha and Kshemkalyani: one error left in.
    Wrong(
        10,
        "own requests do not raise H",
        "exclusion",
        "self.sn = self.H = self.H + 1",
        "self.sn = self.H + 1",
    ),
    Wrong(
        10,
        "queues what has been served",
        "deadlock",
        "        if self.done < m.R:\n            insort(self.LRQ, m.R)",
        "        insort(self.LRQ, m.R)",
    ),
    Wrong(10, "a REQUEST does not say what is done", "deadlock", "        self.drop(m.last)\n", ""),
    Wrong(
        10,
        "a FLUSH counts as an answer",
        "exclusion",
        '        """RcvFlush."""\n',
        '        """RcvFlush."""\n        self.RV.add(j)\n',
    ),
    Wrong(
        10,
        "enters without asking",
        "error",
        "if self.phase is WAITING and len(self.RV) == self.n and self.LRQ[0] == self.timestamp():",
        "if len(self.RV) == self.n and self.LRQ and self.LRQ[0] == self.timestamp():",
    ),
    Wrong(
        10,
        "does not look when it is alone",
        "deadlock",
        "self.last))\n        self.check_execute_cs()\n",
        "self.last))\n",
    ),
)
