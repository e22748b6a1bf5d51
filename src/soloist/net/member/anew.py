"""What an operator may decide, and nobody else: that a node forgets what it promised, and begins anew above an epoch."""

from __future__ import annotations

from soloist.core import UsageError
from soloist.net.member.origin import MAX_EPOCH, DataDirectory, epoch_of
from soloist.net.member.votes import DiskVotes


def begin_anew(data: DataDirectory, epoch: int) -> None:
    """Put the vote file of a node that is stopped aside. All fences of a cluster that begins with it are above `epoch`."""
    known = epoch_of(data.open()) - 1
    try:
        votes = DiskVotes(data)
        try:
            if votes.file.view:
                known = max(known, votes.file.view.epoch)
            if not known <= epoch < MAX_EPOCH:
                raise UsageError(
                    f"--epoch must be {known} or more, and below {MAX_EPOCH}: fences of {known} may be out, and "
                    "those of the new beginning must be higher"
                )
            votes.put_aside()
        finally:
            votes.close()
        data.store(epoch)
    finally:
        data.close()
