"""Sanders 1987: one algorithm for all information structures.

Paper name     here       meaning
I_i            I          informing set: whom this site tells that it has left
R_i            S          request set: whom it asks
(status set)   St         the sites that inform this one: {j : i in I_j}
CSSTAT         lock       the request that is inside, as far as this site has been told
GRANT, FAIL, INQUIRE, YIELD, RELEASE: Grant, Failed, Inquire, Yield, Release

Maekawa's algorithm, but a grant to a site that will not inform us when it leaves is no lock: the next
request may have one too. With I_i = {i} and R_i = all it is Ricart and Agrawala's algorithm, with
I_i = R_i = S_i it is Maekawa's.

The survey's conditions on the sets let I_i be empty, and then nothing excludes; see `structures.information`.
Its count is that of an uncontended entry: FAIL, INQUIRE and YIELD come on top.
"""

from __future__ import annotations

from soloist.algorithms._arbiter import Release, ReqID
from soloist.algorithms._card import Card, Formula, Option, Size
from soloist.algorithms.maekawa import Maekawa
from soloist.core import Site
from soloist.structures.information import Information, information


class Sanders(Maekawa):
    I: tuple[Site, ...]  # noqa: E741
    St: tuple[Site, ...]

    @classmethod
    def start(cls, me: Site, n: int, structure: Information) -> Sanders:  # type: ignore[override]
        return cls(me=me, n=n, S=structure.R[me], I=structure.I[me], St=structure.status(me), H=0, sn=0,
                   got=set(), inq=set(), failed=set(), lock=None, queue=[], inquired=False, told=set())  # fmt: skip

    def release(self) -> None:
        self.tell(self.I, Release(self.sn))

    def grant(self, request: ReqID) -> None:
        if request[1] not in self.St:
            self.lock = None
        super().grant(request)

    def decide(self) -> None:
        """Grant until somebody is locked."""
        super().decide()
        while self.lock is None and self.queue:
            super().decide()


def most(s: Size) -> float:
    """Besides what every entry costs: one FAIL from each in R_i, and one INQUIRE, YIELD and GRANT
    that its REQUEST may cause at each of them, itself included."""
    structure: Information = s.options["structure"]
    return max(inform + 6 * ask for inform, ask in structure.costs) + 3


CARD = Card(
    name="sanders",
    title="Sanders",
    paper="B. Sanders, The information structure of distributed mutual exclusion algorithms, ACM TOCS 5(3), 1987",
    section="survey of 21 algorithms (1993), section 5, permission-based algorithms; with request tags. The original was not at hand",
    process=Sanders,
    family="permission",
    capacity="1",
    channels="any",
    bound=Formula("|I-{i}| + 6|R-{i}| + 3 on average", most),
    light=Formula(
        "|I-{i}| + 2|R-{i}|",
        lambda s: sum(inform + 2 * ask for inform, ask in s.options["structure"].costs) / s.n,
    ),
    fairness="no-starvation",
    structure="information structure",
    options=(
        Option(
            "structure",
            "ricart-agrawala",
            "ricart-agrawala, maekawa, central, lamport, or sets I/R like 0,1/0+1,0+1",
            information,
        ),
    ),
)
