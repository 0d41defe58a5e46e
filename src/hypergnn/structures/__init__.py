"""Hypergraphs, graphs and blocks: data that is checked once and never changed."""
