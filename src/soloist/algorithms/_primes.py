"""Raynal's prime numbers, exactly: what both of his algorithms compute with.

Site i has a prime A_i and a variable X_i, at first A_i, but 1 at site 0. On leaving, X_i becomes X_i A_i / A_j
where j = i+1 mod N is its successor. With Q the product of all A_i, site i may enter when the product T of all X
is Q / A_i.

X is a fraction after the first release, and grows without end. But after r_i releases of each site i

    X_i = A_i^(r_i + 1) / A_j^r_i        (one factor A_0 less at site 0)

so the numbers r say it all: A_i occurs in T exactly r_i + 1 - r_(i-1) times (once less if i = 0), and since
factorisation is unique T = Q / A_i exactly if A_i does not occur and every other A occurs once.
"""

from __future__ import annotations

from collections.abc import Mapping

from soloist.core import Site


def exponents(n: int, r: Mapping[Site, int]) -> list[int]:
    """How often each A occurs in the product of the X of these sites, after so many releases of each."""
    exponent = [0] * n
    for i, releases in r.items():
        exponent[i] += releases + 1 - (i == 0)
        exponent[(i + 1) % n] -= releases
    return exponent


def is_privileged(i: Site, n: int, r: Mapping[Site, int], modulo: int = 0) -> bool:
    """Whether T = Q / A_i; the numbers may be known modulo 3, since those of two sites differ by one at most."""
    wanted = [int(j != i) for j in range(n)]
    have = exponents(n, r)
    return have == wanted if not modulo else [e % modulo for e in have] == wanted
