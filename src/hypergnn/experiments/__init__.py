"""The paper's tables: what each cell is and what was published, the runs that fill it, and what they say together."""
