"""Pictures of graphs, and lists of what an index holds, for pages and notebooks."""
