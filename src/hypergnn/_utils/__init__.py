"""Small things that every room may use; nothing here knows of hypergraphs."""
