"""IAOFL: an auction by quality density with critical prices, and screening (IAOFL spec, 4 to 6)."""

from pydantic import Field

from fedsift.market.iaofl import Iaofl as Mechanism
from fedsift.market.iaofl import IaoflOptions
from fedsift.market.quality import QualityOptions
from fedsift.market.tender import Tender
from fedsift.methods.auction import Auction, AuctionOptions


class IaoflMarket(AuctionOptions):
    """IAOFL's own."""

    quality: QualityOptions = Field(QualityOptions(), description="What the hired are worth, and who is screened out.")
    mechanism: IaoflOptions = Field(IaoflOptions(), description="The auction.")


class Iaofl(Auction):
    """Quality per price above a threshold, from min_num to max_num clients a round; flagged models are not averaged."""

    Options = IaoflMarket
    options: IaoflMarket

    def made(self, tender: Tender) -> Mechanism:
        """IAOFL."""
        return Mechanism(self.options.mechanism, tender)


METHOD = Iaofl
