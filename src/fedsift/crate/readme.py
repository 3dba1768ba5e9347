"""README.md of a crate: what it is, and what it is not."""

import hashlib

from fedsift.crate.content import Content, commits

NAME = "README.md"


def readme(content: Content) -> str:
    """The text, which depends on the content alone."""
    return "\n\n".join([_HEAD.format(scale=content.scale, report=content.report), *_facts(content), _TAIL]) + "\n"


def _facts(content: Content) -> list[str]:
    records = list(content.records.values())
    size = sum(file.size for file in content.absent.values())
    made = commits(records)
    facts = [
        f"{len(records)} stages ran from {content.started} to {content.ended}"
        + (f", on commit {', '.join(made)}." if made else ", outside a repository.")
    ]
    if missing := sum(len(record.missing) for record in records):
        facts.append(f"The report is not complete: {missing} inputs of its tables did not exist, and the cells say so.")
    now = hashlib.sha256(content.files["envs/requirements.lock"]).hexdigest()
    if other := {record.lock or "none" for record in records} - {now}:
        facts.append(
            f"`envs/requirements.lock` is that of the working folder at the export. Stages ran with another one "
            f"(sha256 {', '.join(sorted(other))}); `versions` in their records has what was installed."
        )
    facts.append(
        f"Not here, but in ro-crate-metadata.json with size and sha256: {len(content.absent)} files of "
        f"{size / 1e6:,.1f} MB (data, models, and what is no text or larger than 4 MiB)."
    )
    return facts


_HEAD = """\
# Report of the scale {scale}

A Workflow Run RO-Crate of a fedsift run: tables and figures (`{report}/`), the history of every run, the record of
every stage (`record.json`), and the workflow with its configuration and the lock of its environment. Every path is that
of the working folder. `ro-crate-metadata.json` names every file with its sha256."""

_TAIL = """\
The workflow's files are those of the working folder at the export; the package fedsift is not in the crate, and links
of the report to PNG figures lead nowhere (the SVG are here). To check the files against the records, in this folder:

    find . -name '*record.json' -exec jq -r '.outputs[] | "\\(.sha256)  \\(.path)"' {} + |
      sha256sum --check --ignore-missing

The workflow and what it made are under the MIT licence. The data sets, which are not here, have licences of their own:
`ro-crate-metadata.json` has them, with citations, addresses and checksums."""
