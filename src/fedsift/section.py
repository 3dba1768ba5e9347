"""The base of everything that is read from a configuration, and the value types that its parts share."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

NAME = r"^[a-z0-9][a-z0-9+.-]*$"
Slug = Annotated[str, StringConstraints(pattern=NAME)]
Share = Annotated[float, Field(gt=0, le=1)]
Round = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the configuration: unknown keys are errors, values never change, numbers are finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
