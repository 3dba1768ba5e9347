"""OSPM with a budget a round: a baseline of IAOFL (IAOFL spec, 8)."""

from pydantic import Field

from fedsift.market.ospm import Ospm as Mechanism
from fedsift.market.ospm import OspmOptions
from fedsift.market.tender import Tender
from fedsift.methods.auction import Auction, AuctionOptions


class OspmMarket(AuctionOptions):
    """OSPM's own."""

    mechanism: OspmOptions = Field(OspmOptions(), description="The auction.")


class Ospm(Auction):
    """Two random groups, each priced by the bids of the other; no limits of the number, no screening."""

    Options = OspmMarket
    options: OspmMarket

    def made(self, tender: Tender) -> Mechanism:
        """OSPM."""
        return Mechanism(self.options.mechanism, tender)


METHOD = Ospm
