"""OSPM with one budget for all rounds (IAOFL spec, 8)."""

from pydantic import Field

from fedsift.market.ospm import OspmOptions
from fedsift.methods.ospm import Ospm, OspmMarket


class OspmHorizonMarket(OspmMarket):
    """Of OSPM, with another budget."""

    mechanism: OspmOptions = Field(OspmOptions(budget="full"), description="The auction.")


class OspmHorizon(Ospm):
    """All earlier bids of the other group set the prices."""

    Options = OspmHorizonMarket
    options: OspmHorizonMarket


METHOD = OspmHorizon
