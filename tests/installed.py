"""A package as an installation leaves it: a module, and what it brings by entry points."""


def install(folder, module, text, entry_points):
    """Write a package into a folder that a path of Python may name."""
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    name = module.replace("_", "-")
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(entry_points, encoding="utf-8")
