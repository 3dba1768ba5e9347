"""Where every artefact comes from."""
