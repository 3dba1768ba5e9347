"""Data sets as entities: what they are, whose, under which licence, and where to get the very same bytes."""

import re
from urllib.parse import quote

from fedsift.crate.content import media_type
from fedsift.crate.graph import Entity, Graph
from fedsift.data.catalog import DataSet, Download, File


def add_set(graph: Graph, known: DataSet) -> Entity:
    """A data set with its files; none of them is in the crate."""
    parts = [_add(graph, known, one) for one in known.archives]
    parts += [_add_file(graph, known, one) for one in known.files]
    citation = graph.add(f"{_id(known)}/citation", "ScholarlyArticle", name=known.citation) if known.citation else None
    return graph.add(
        _id(known),
        "Dataset",
        name=known.title,
        description=" ".join(part for part in (known.note, _checked(known)) if part),
        license=_licence(graph, known),
        citation=citation,
        url=known.homepage or None,
        conditionsOfAccess=known.login or None,
        hasPart=parts,
    )


def _id(known: DataSet) -> str:
    return f"#data/{quote(known.name)}"


def _checked(known: DataSet) -> str:
    return (
        "The checksums have been compared with real files; of an archive, with its members."
        if known.verified
        else "The checksums are published ones, which nobody has compared with the files."
    )


def _licence(graph: Graph, known: DataSet) -> Entity:
    """The licence in the catalog's words; with the licence's own address where these are Creative Commons'."""
    found = re.match(r"CC (BY(?:-[A-Z]{2})*) \(?(\d\.\d)\)?", known.licence)
    url = f"https://creativecommons.org/licenses/{found[1].lower()}/{found[2]}/" if found else known.homepage or None
    return graph.add(
        f"{_id(known)}/licence", "CreativeWork", name=known.licence, description=f"Licence of {known.title}.", url=url
    )


def _add(graph: Graph, known: DataSet, one: Download, **more: object) -> Entity:
    return graph.add(
        f"{_id(known)}/{quote(one.name)}",
        "File",
        name=one.name,
        contentSize=str(one.size) if one.size else None,
        sha256=one.sha256,
        encodingFormat=media_type(one.name),
        contentUrl=list(one.urls),
        **more,
    )


def _add_file(graph: Graph, known: DataSet, one: File) -> Entity:
    if one.archive:
        archive = {"@id": f"{_id(known)}/{quote(one.archive)}"}
        return _add(graph, known, one, description=f"{one.member} in {one.archive}", isPartOf=archive)
    if one.package:
        package, _, inside = one.package.partition("/")
        return _add(graph, known, one, description=f"{inside} in the installed package {package}")
    # The place of a user's own file is nobody's business.
    return _add(graph, known, one, description="a file of the user's own" if one.path else None)
