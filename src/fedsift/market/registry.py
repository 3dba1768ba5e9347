"""The mechanisms by name."""

from fedsift.market.iaofl import Iaofl
from fedsift.market.ospb import Ospb
from fedsift.market.ospm import Ospm

MECHANISMS: dict[str, type[Iaofl] | type[Ospb] | type[Ospm]] = {"iaofl": Iaofl, "ospb": Ospb, "ospm": Ospm}
