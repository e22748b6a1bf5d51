"""The catalogue: every algorithm, one line each."""

from __future__ import annotations

from soloist.algorithms import (
    agrawal_el_abbadi,
    bulgannawar_vaidya,
    carvalho_roucairol,
    central,
    helary_plouzeau_raynal,
    kakugawa,
    lamport,
    lodha_kshemkalyani,
    maekawa,
    majority,
    makki,
    mishra_srimani,
    mizuno_neilsen_rao,
    naimi_thiare,
    naimi_trehel,
    neilsen_mizuno,
    nishio,
    partitioned,
    raymond_k,
    raymond_tree,
    raynal,
    raynal_inform,
    ricart_agrawala,
    ricart_agrawala_token,
    sanders,
    singhal_dynamic,
    singhal_heuristic,
    srimani_reddy,
    suzuki_kasami,
    suzuki_kasami_bounded,
    token_ring,
)
from soloist.algorithms._card import Card, Formula, Option, Size, choice, number
from soloist.core import unknown

CATALOGUE: dict[str, Card] = {
    card.name: card
    for card in (
        agrawal_el_abbadi.CARD,
        bulgannawar_vaidya.CARD,
        carvalho_roucairol.CARD,
        central.CARD,
        helary_plouzeau_raynal.CARD,
        kakugawa.CARD,
        lamport.CARD,
        lodha_kshemkalyani.CARD,
        maekawa.CARD,
        majority.CARD,
        makki.CARD,
        mishra_srimani.CARD,
        mizuno_neilsen_rao.CARD,
        naimi_thiare.CARD,
        naimi_trehel.CARD,
        neilsen_mizuno.CARD,
        nishio.CARD,
        partitioned.CARD,
        raymond_k.CARD,
        raymond_tree.CARD,
        raynal.CARD,
        raynal_inform.CARD,
        ricart_agrawala.CARD,
        ricart_agrawala_token.CARD,
        sanders.CARD,
        singhal_dynamic.CARD,
        singhal_heuristic.CARD,
        srimani_reddy.CARD,
        suzuki_kasami.CARD,
        suzuki_kasami_bounded.CARD,
        token_ring.CARD,
    )
}


def find(name: str) -> Card:
    """The card of an algorithm; an unknown name is answered with the nearest known ones."""
    try:
        return CATALOGUE[name]
    except KeyError:
        raise unknown("algorithm", name, CATALOGUE) from None


__all__ = ["CATALOGUE", "Card", "Formula", "Option", "Size", "choice", "find", "number"]
