"""Finite projective planes, by Singer's difference sets.

A plane of order q has N = q²+q+1 points and as many lines; each line has q+1 points, and any two
lines meet in one. For a prime power q take a generator w of GF(q³). The exponents t < N for which the
trace w^t + w^(tq) + w^(tq²) over GF(q) vanishes are a line, and adding 1, 2, … modulo N gives the others.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from math import isqrt

Element = tuple[int, ...]
"""A polynomial over GF(p): its coefficients, the constant one first."""


def prime_power(q: int) -> tuple[int, int] | None:
    """(p, m) with q = p^m and p prime, or None."""
    if q < 2:
        return None
    p = next((d for d in range(2, isqrt(q) + 1) if q % d == 0), q)
    m = 0
    while q % p == 0:
        q, m = q // p, m + 1
    return (p, m) if q == 1 else None


def order_for(n: int) -> int:
    """The order of the smallest plane known here with at least n points. (Order 1 is a triangle.)"""
    q = 1
    while q * q + q + 1 < n or (q > 1 and not prime_power(q)):
        q += 1
    return q


def divisors(n: int) -> set[int]:
    small = [d for d in range(1, isqrt(n) + 1) if n % d == 0]
    return {*small, *(n // d for d in small)}


@cache
def difference_set(q: int) -> tuple[int, ...]:
    """A line through point 0; of its q+1 shifts that contain 0, the first in order."""
    points = q * q + q + 1
    if q == 1:
        return 0, 1
    found = prime_power(q)
    assert found, f"there is no field of {q} elements"
    p, m = found
    w = powers(p, 3 * m)
    zero = (0,) * (3 * m)
    line = [t for t in range(points) if add(p, w[t], w[t * q % len(w)], w[t * q * q % len(w)]) == zero]
    return min(tuple(sorted((t - start) % points for t in line)) for start in line)


def powers(p: int, degree: int) -> list[Element]:
    """All powers 1, w, w², … of a generator w of GF(p^degree)."""
    one = (1,) + (0,) * (degree - 1)
    size = p**degree - 1
    tails = (tail[::-1] for tail in product(range(p), repeat=degree) if tail[-1])
    primes = [d for d in divisors(size) if prime_power(d) == (d, 1)]
    tail = next(t for t in tails if generates(p, t, size, primes))
    found = [one]
    for _ in range(size - 1):
        found.append(times_x(p, found[-1], tail))
    return found


def generates(p: int, tail: Element, size: int, primes: list[int]) -> bool:
    """Whether the powers of x are all the elements but 0, where x^degree = tail."""
    one = (1,) + (0,) * (len(tail) - 1)
    return power_of_x(p, size, tail) == one and all(power_of_x(p, size // d, tail) != one for d in primes)


def power_of_x(p: int, exponent: int, tail: Element) -> Element:
    result = (1,) + (0,) * (len(tail) - 1)
    for bit in f"{exponent:b}":
        result = times(p, result, result, tail)
        if bit == "1":
            result = times_x(p, result, tail)
    return result


def times(p: int, a: Element, b: Element, tail: Element) -> Element:
    """By Horner's rule."""
    product: Element = (0,) * len(tail)
    for coefficient in reversed(b):
        product = add(p, times_x(p, product, tail), tuple(coefficient * each % p for each in a))
    return product


def times_x(p: int, element: Element, tail: Element) -> Element:
    top = element[-1]
    return tuple((low + top * t) % p for low, t in zip((0, *element[:-1]), tail, strict=True))


def add(p: int, *elements: Element) -> Element:
    return tuple(sum(column) % p for column in zip(*elements, strict=True))
