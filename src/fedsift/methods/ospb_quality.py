"""OSPB with a client's latest quality for its value (IAOFL spec, 7)."""

from typing import ClassVar

from pydantic import Field

from fedsift.market.ospb import OspbOptions
from fedsift.methods.ospb import Ospb, OspbMarket


class OspbQualityMarket(OspbMarket):
    """Of OSPB, with another value."""

    mechanism: OspbOptions = Field(OspbOptions(value="quality"), description="The auction.")


class OspbQuality(Ospb):
    """v_i = q_i^latest; without limits of the number and without screening."""

    Options = OspbQualityMarket
    options: OspbQualityMarket
    judges: ClassVar[bool] = True


METHOD = OspbQuality
