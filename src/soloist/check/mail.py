"""The mail of a site: what is under way to it, and what of that may arrive next."""

from __future__ import annotations

from soloist.check.declarations import Declaration
from soloist.check.history import History
from soloist.check.local import Item, Library, Local
from soloist.check.setting import Setting
from soloist.core import Site


class Mail:
    """The rules of one setting. `canonical`: inboxes that differ only in an order that nothing depends on are one."""

    def __init__(self, setting: Setting, library: Library, canonical: bool, drops: bool) -> None:
        self.setting = setting
        self.library = library
        self.canonical = canonical
        self.drops = drops
        """Whether mail that does nothing is left out."""

    def item(self, site: Site, message: int, sender: Local) -> Item:
        return Item(site, message, int(self.setting.duplicate), sender.known)

    def deliverable(self, local: Local) -> list[Item]:
        """The messages that may arrive next: the first of each link, or any at all."""
        if self.setting.channels == "any":
            return list(dict.fromkeys(local.inbox))
        heads: dict[Site, Item] = {}
        for item in local.inbox:
            heads.setdefault(item.sender, item)
        return list(heads.values())

    def receive(self, local: Local, items: tuple[Item, ...]) -> Local:
        """Mail for a site that is down is lost."""
        if not items or not local.alive:
            return local
        return self.as_seen(local._replace(inbox=self.arrange(local.inbox + items)))

    def as_seen(self, local: Local) -> Local:
        """The site with its mail as far as it can tell it apart."""
        if not local.inbox or not (self.library.settles_mail or self.drops):
            return local
        inbox = tuple([kept for item in local.inbox if (kept := self.kept(local.process, item))])
        return local if inbox == local.inbox else local._replace(inbox=self.arrange(inbox))

    def kept(self, process: int, item: Item) -> Item | None:
        """A message under way as far as the process can tell it apart; None if not even from none at all."""
        library = self.library
        if self.drops and library.void(process, item.sender, item.message):
            return None
        if library.settles_mail:
            item = item._replace(message=library.settled_mail(process, item.sender, item.message))
        return item

    def arrange(self, inbox: tuple[Item, ...]) -> tuple[Item, ...]:
        """One inbox for all that differ only in an order that nothing depends on."""
        if not self.canonical:
            return inbox
        if self.setting.channels == "any":
            return tuple(sorted(inbox, key=self._by_content))
        return tuple(sorted(inbox, key=lambda item: item.sender))

    def _by_content(self, item: Item) -> tuple[Site, bytes, int, int]:
        """An order that is the same in whichever order messages were met."""
        return item.sender, self.library.contents[item.message], item.copies, item.known


def drops_mail(setting: Setting, declared: Declaration, history: History) -> bool:
    """Whether mail that does nothing is left out: where it would pile up, since requests have no end."""
    loose = setting.channels == "any" and not setting.bounded and not setting.faulty
    return loose and history == History() and declared.void is not None
