"""The fuzzer: damaged and hostile files for every parser, and what loads goes through the operators.

``python -m fuzz`` (or ``make fuzz``) runs cases in worker processes until the time is up. A case is a folder of files:
a valid one, changed at random. A worker reads it as a user would. There are three good ends: the files load, and all
operators give finite results; or they are refused with an error that the documentation names. Everything else is a
finding: a signal, a hang, another exception. Its files are stored, and ``python -m fuzz --replay FOLDER`` runs them
again.

| file | holds |
|---|---|
| ``mutations.py`` | changes of bytes, JSON, tables, safetensors |
| ``valid.py`` | the valid cases that changes start from, made by the library itself |
| ``operators.py`` | what is done with everything that loads |
| ``parsers.py`` | the parsers: their valid cases, their changes, how a case is read |
| ``workers.py`` | processes that run cases, and how their end is noticed |
| ``findings.py`` | what a finding is and how it is stored |
"""
