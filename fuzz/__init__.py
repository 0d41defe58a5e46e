"""The fuzzer: damaged and hostile files for every parser, and what loads goes through the operators.

``python -m fuzz`` (or ``make fuzz``) runs cases in worker processes until the time is up. A case is a folder of files:
a valid one, changed at random. A worker reads it as a user would. There are three good ends: the files load, and all
operators give finite results; or they are refused with an error that the documentation names. Everything else is a
finding: a signal, a hang, another exception. Its files are stored, and ``python -m fuzz --replay FOLDER`` runs them
again.

``--json FILE`` writes the counts, ``make fuzz`` to ``benchmarks/fuzz.json``::

    {"seed": 7, "seconds": 600.2, "workers": 2,
     "parsers": {"hif": {"cases": 9000, "loaded": 4000, "refused": 5000, "findings": 0}, …},
     "findings": [{"parser": "csv", "kind": "KeyError", "folder": "csv-KeyError-5f04ed8c"}, …]}

``cases`` is the sum of the other three. ``findings`` of a parser counts cases; the list names each kind once per place
in the code, with its folder in ``fuzz-findings``.

For a new parser, add its valid cases to ``valid.py`` and an entry to ``PARSERS`` in ``parsers.py``. A file that once
broke something belongs into the tests of its parser.

| file | holds |
|---|---|
| ``mutations.py`` | changes of bytes, JSON, tables, safetensors |
| ``foreign.py`` | changes of Parquet files and pickles |
| ``valid.py`` | the valid cases that changes start from, made by the library itself |
| ``operators.py`` | what is done with everything that loads |
| ``parsers.py`` | the parsers: their valid cases, their changes, how a case is read |
| ``workers.py`` | processes that run cases, and how their end is noticed |
| ``findings.py`` | what a finding is and how it is stored |
"""
