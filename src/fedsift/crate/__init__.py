"""A report as a Workflow Run RO-Crate: one small file with everything but data and models, to attach to a paper."""
