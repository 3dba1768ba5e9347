"""OSPB as it is, by price alone: a baseline of IAOFL (IAOFL spec, 7)."""

from typing import ClassVar

from pydantic import Field

from fedsift.market.ospb import Ospb as Mechanism
from fedsift.market.ospb import OspbOptions
from fedsift.market.tender import Tender
from fedsift.methods.auction import Auction, AuctionOptions


class OspbMarket(AuctionOptions):
    """OSPB's own."""

    mechanism: OspbOptions = Field(OspbOptions(), description="The auction.")


class Ospb(Auction):
    """Whoever accepts the posted price is hired as it arrives; nobody is judged, since no price depends on it."""

    Options = OspbMarket
    options: OspbMarket
    judges: ClassVar[bool] = False

    def made(self, tender: Tender) -> Mechanism:
        """OSPB."""
        return Mechanism(self.options.mechanism, tender)


METHOD = Ospb
