"""The metadata of a crate: Workflow Run RO-Crate 0.5, one action for the whole run."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from fedsift.crate.content import Content, command, commits, media_type
from fedsift.crate.data import add_set
from fedsift.crate.graph import Entity, Graph
from fedsift.crate.people import authors
from fedsift.crate.readme import NAME as README
from fedsift.results.reference import Reference

NAME = "ro-crate-metadata.json"
MAIN = "Snakefile"
MIT = "https://spdx.org/licenses/MIT"
PROFILES: Mapping[str, str] = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
BIOSCHEMAS = "https://bioschemas.org/profiles"


def metadata(content: Content, agent: str | None) -> str:
    """The text of ro-crate-metadata.json.

    Args:
        content: settled, with its README.
        agent: who ran the workflow; None: not known.
    """
    graph = Graph()
    writers = [
        graph.add(f"#author-{number}", one.pop("@type"), **one)
        for number, one in enumerate(authors(content.files), start=1)
    ]
    who = graph.add("#agent", "Person", name=agent) if agent else None
    _describe(graph, content, [who] if who else writers)
    workflow = _workflow(graph, content, writers)
    files = {place: _file(graph, content, place) for place in sorted(content.files) if place != MAIN}
    files[README]["about"] = graph.root
    folders = [_folder(graph, files, folder) for folder in sorted(content.tables)]
    sets = [add_set(graph, known) for known in content.sets.values()]
    report = files.get(f"{content.report}/index.html")
    config = [files[place] for place in content.config]
    _parameters(graph, workflow, {"config": config, "data": sets}, {"tables": folders, "report": [report]})
    action = graph.add(
        "#run",
        "CreateAction",
        name=f"Run of the scale {content.scale}",
        description=f"{len(content.records)} stages; the record of each is in the crate.",
        instrument=workflow,
        object=[*config, *sets],
        result=[*folders, *([report] if report else [])],
        agent=who,
        startTime=_moment(content.started),
        endTime=_moment(content.ended),
        # Without braces: the status is a value of the vocabulary, not an entity of the crate.
        actionStatus="http://schema.org/CompletedActionStatus",
    )
    graph.root["mentions"] = [action, *_absent(graph, content)]
    return graph.text()


def _describe(graph: Graph, content: Content, people: list[Entity]) -> None:
    root = graph.root
    root["name"] = f"fedsift report: {content.scale}"
    root["description"] = (
        "Tables, figures, histories and records of a run of federated-learning experiments, without data and models: "
        + "; ".join(spec.title for spec in content.tables.values())
    )
    root["datePublished"] = _moment(content.ended)
    root["author"] = people
    root["license"] = graph.add(
        MIT,
        "CreativeWork",
        name="MIT License",
        url=MIT,
        description="Of the workflow and what it made. The data sets, which are not in the crate, have their own.",
    )
    for identifier, name in PROFILES.items():
        graph.add(identifier, "CreativeWork", name=name, version=identifier.rpartition("/")[2])
    root["conformsTo"] = [{"@id": identifier} for identifier in PROFILES]
    papers = sorted({spec.paper for spec in content.tables.values()})
    root["citation"] = [entity for paper in papers if (entity := _paper(graph, paper))]


def _paper(graph: Graph, paper: str) -> Entity | None:
    known = Reference.load(Path("reports/reference"), paper)
    if not known.citation:
        return None
    return graph.add(f"#paper/{quote(paper)}", "ScholarlyArticle", name=known.title, creditText=known.citation)


def _workflow(graph: Graph, content: Content, writers: list[Entity]) -> Entity:
    records = list(content.records.values())
    used = sorted({pair for record in records for pair in record.versions.items()})
    versions = [version for name, version in used if name == "fedsift"]
    engines = [version for name, version in used if name == "snakemake"]
    made = commits(records)
    workflow = graph.crate.add_workflow(
        dest_path=MAIN,
        main=True,
        lang="snakemake",
        lang_version=engines[-1] if engines else None,
        properties=_described(content, MAIN)
        | {
            "name": "fedsift",
            "description": "Federated-learning experiments, from raw data to tables."
            + (f" The results are of commit {', '.join(made)}." if made else ""),
            "version": ", ".join(versions) or "unknown",
        },
    )
    workflow["author"] = writers
    workflow["license"] = {"@id": MIT}
    workflow["conformsTo"] = {"@id": f"{BIOSCHEMAS}/ComputationalWorkflow/1.0-RELEASE"}
    workflow["softwareRequirements"] = [
        graph.add(f"#software/{quote(name)}-{quote(version)}", "SoftwareApplication", name=name, version=version)
        for name, version in used
    ]
    return workflow


def _file(graph: Graph, content: Content, place: str) -> Entity:
    record = content.records.get(place)
    told = {"description": f"Record of `{command(record)}`"} if record else {}
    return graph.add_file(place, name=place, **told, **_described(content, place))


def _described(content: Content, place: str) -> dict[str, str]:
    data = content.files[place]
    return {
        "encodingFormat": media_type(place),
        "contentSize": str(len(data)),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def _folder(graph: Graph, files: Mapping[str, Entity], folder: str) -> Entity:
    inside = [entity for place, entity in files.items() if place.startswith(f"{folder}/")]
    return graph.add_folder(folder, name=folder, description="Tables and figures of an experiment.", hasPart=inside)


def _parameters(
    graph: Graph, workflow: Entity, inputs: Mapping[str, list[Entity]], outputs: Mapping[str, list[Entity | None]]
) -> None:
    """Say what the run's files were to the workflow."""
    kinds = {"config": "File", "data": "Dataset", "tables": "Dataset", "report": "File"}
    for role, group in (("input", inputs), ("output", outputs)):
        found = []
        for name, entities in group.items():
            if not (there := [entity for entity in entities if entity is not None]):
                continue
            parameter = graph.add(
                f"#parameter/{name}",
                "FormalParameter",
                name=name,
                additionalType=kinds[name],
                conformsTo={"@id": f"{BIOSCHEMAS}/FormalParameter/1.0-RELEASE"},
            )
            for entity in there:
                entity["exampleOfWork"] = parameter
            found.append(parameter)
        workflow[role] = found


def _absent(graph: Graph, content: Content) -> list[Entity]:
    """What was made and is not here. A fragment as identifier says so: it is no path of the crate."""
    parts = [
        graph.add(
            f"#not-here/{quote(place)}",
            "File",
            name=place,
            contentSize=str(file.size),
            sha256=file.sha256,
            encodingFormat=media_type(place),
        )
        for place, file in sorted(content.absent.items())
    ]
    if not parts:
        return []
    words = "Made by the run or read by it, and not in the crate: data, models, and what is no text or too large."
    return [graph.add("#not-here", "Dataset", name="Files that are not in the crate", description=words, hasPart=parts)]


def _moment(text: str) -> str:
    """A record's moment, as the profile's pattern wants it."""
    return text.replace("Z", "+00:00")
