"""The paper's tables: their cells and published numbers, the runs that fill them, and their statistics."""
