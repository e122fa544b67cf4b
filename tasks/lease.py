"""Keeps the lease of a step alive while its work goes on."""

from __future__ import annotations

import threading
from types import TracebackType

import structlog
from sqlalchemy.exc import SQLAlchemyError

from storage import ledger
from storage.engine import Database
from storage.ledger import Claim, ClaimLost

log = structlog.get_logger()


class KeptLease:
    """Renews a claim from a daemon thread every third of its lease, and stops when the block ends.

    A database that does not answer is tried again: the lease has two more thirds. A lost claim ends the renewing; the
    step's next guarded write finds out by itself.
    """

    def __init__(self, database: Database, claim: Claim, lease_seconds: float) -> None:
        self._database = database
        self._claim = claim
        self._lease_seconds = lease_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease-{claim.step_id}", daemon=True)

    def __enter__(self) -> KeptLease:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(timeout=self._lease_seconds)

    def _renew(self) -> None:
        while not self._stop.wait(self._lease_seconds / 3):
            try:
                with self._database.write() as session:
                    ledger.renew(session, self._claim, self._lease_seconds)
            except ClaimLost:
                log.warning("lease.lost", stage=self._claim.stage, step=self._claim.step_id)
                return
            except SQLAlchemyError as error:
                log.warning("lease.renewal_failed", stage=self._claim.stage, error=type(error).__name__)
