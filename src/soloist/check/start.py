"""Where a search starts: all sites, and what they have sent so far."""

from __future__ import annotations

from soloist.check.local import Event, Item, Library, Local
from soloist.check.setting import Setting
from soloist.core import Process, Site, UsageError
from soloist.views.prefix import Prefix

Mail = list[tuple[Site, Item]]
"""Messages under way, each with its addressee."""


class WrongStart(Exception):
    """A system fails before its first step."""


def begun(library: Library, setting: Setting, known: int) -> tuple[list[Local], Mail]:
    """The sites when the system begins, and what they send at the very beginning."""
    locals_: list[Local] = []
    mail: Mail = []
    for process, left in zip(_processes(library, setting), setting.rounds, strict=True):
        number = library.process_number(process)
        outcome = library.outcomes(number, Event("begin"))[0]
        if outcome.error:
            raise WrongStart(outcome.error)
        locals_.append(Local(number, left, known=known).after(outcome))
        mail += [(to, _item(setting, process.me, message, known)) for to, message in outcome.sends]
    return locals_, mail


def carried(library: Library, setting: Setting, start: Prefix, known: int) -> tuple[list[Local], Mail]:
    """The sites with holders inside. These entered in an earlier epoch: everybody has heard of them (`known`)."""
    locals_: list[Local] = []
    for site, left in enumerate(setting.rounds):
        number = library.process_number(start.process(site))
        timers = tuple(sorted(name for owner, name, _ in start.timers if owner == site))
        locals_.append(Local(number, left, timers=timers, known=known))
    library.asking |= {type(flight.message) for flight in start.mail}  # for all that we know
    return locals_, [
        (flight.to, _item(setting, flight.sender, library.message_number(flight.message), known))
        for flight in start.mail
    ]


def _item(setting: Setting, sender: Site, message: int, known: int) -> Item:
    return Item(sender, message, int(setting.duplicate), known)


def _processes(library: Library, setting: Setting) -> list[Process]:
    """The processes as they begin, if they are what their class says."""
    try:
        processes = setting.card.start(setting.size)
        for process in processes:
            library.process_number(process)
    except UsageError:
        raise
    except Exception as error:  # like in any other step
        raise WrongStart(f"{type(error).__name__}: {error}") from error
    return processes
