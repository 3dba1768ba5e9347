"""From histories to tables, figures and the report.

Nothing is imported here: the graph is built from `results.files` alone, which must stay cheap to import.
"""
