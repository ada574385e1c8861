"""What a class or a function is called, one can look for."""

import ast
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path

import pytest

import clew

PACKAGE = Path(clew.__file__).parent
MODULES = [path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py"))]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# Each module of these folders has one function of the name, and a table of the folder calls them.
PROTOCOLS = {
    "read": ("readers", "extras/connect/imports", "extras/evaluate/formats", "extras/files"),
    "locate": ("extras/connect/imports",),
    "list_entries": ("extras/connect/remote",),
}

# Names without a verb or a noun that stay, and why.
ALLOWED = {
    "built": "of `clew.testing`, which is public",
    "covered": "the metric has this name in tables and JSON",
    "heeded": "of the protocol `clew.stopping.Stop`",
    "linked": "`Snapshot` is public",
    "connected": "`PostgresFile` has it from the protocol `clew.models.sqlite.PaidFile`",
    "extras/cluster/shards/index.py:gathered": "`Shards` is public",
    "spent": "`Index.spent` is public",
    "opened": "`clew.client.opened` is public",
    "steps/evidence.py:ranked": "`clew.steps.ranked` is public",
    "steps/rankings.py:of": "`clew.steps.Ranking` is public",
    "steps/relevance.py:of": "`clew.steps.Coverage` is public",
    "one_of": "`clew.field(...).one_of` is public",
    "recorded": "`clew.models.recorded` is public",
    "touched": "of the public protocol `clew.index.store.View`",
    "unnamed": "of the public protocol `clew.index.store.Store`",
}
PARTICIPLES = frozenset(
    "begun bound brought built came caught chosen done drawn found given gone grown held hidden"
    " kept known left lost made meant met said seen sent shown spent taken thought thrown told"
    " understood went written".split()
)
IN_ED = frozenset("embed exceed feed need proceed seed speed".split())  # and no participles
LITTLE_WORDS = frozenset(
    "a all also among and anew any apart as at be before behind below beside between beyond both"
    " but by for from here how if in inside into it most near no not now of off on once one only or"
    " other others out outside over so some still than that the them then there they this to"
    " together under until up what when where which who whole why with within without yet".split()
)


@lru_cache
def definitions():
    """Return each module's path, and its classes and functions wherever they stand in it."""
    kinds = (ast.ClassDef, *FUNCTIONS)
    trees = {path: ast.parse((PACKAGE / path).read_text(encoding="utf-8")) for path in MODULES}
    return {
        path: [(node, node in tree.body) for node in ast.walk(tree) if isinstance(node, kinds)]
        for path, tree in trees.items()
    }


def test_no_two_classes_have_one_name():
    """A name without an underscore is that of one class of the package."""
    names = Counter(
        node.name
        for nodes in definitions().values()
        for node, _ in nodes
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert len(names) > 100
    assert [name for name, n in names.items() if n > 1] == []


def test_a_function_has_a_name_of_its_own():
    """A public function's name is that of functions in at most three modules."""
    modules = defaultdict(set)
    for path, nodes in definitions().items():
        for node, is_outermost in nodes:
            if is_outermost and isinstance(node, FUNCTIONS) and not node.name.startswith("_"):
                folders = PROTOCOLS.get(node.name, ())
                if path.parent.as_posix() not in folders:
                    modules[node.name].add(path)
    assert len(modules) > 100
    assert {name for name, paths in modules.items() if len(paths) > 3} == set()


def test_a_function_is_called_by_a_verb_or_a_noun():
    """No function is called `told`, `of` or `found_in`: that is said of nothing."""
    bare = {
        f"{path.as_posix()}:{node.name}"
        for path, nodes in definitions().items()
        for node, _ in nodes
        if isinstance(node, FUNCTIONS)
        and not {node.name, f"{path.as_posix()}:{node.name}"} & set(ALLOWED)
        and not any("property" in ast.unparse(each) for each in node.decorator_list)
        and is_bare(node.name)
    }
    assert bare == set()


def is_bare(name):
    """Whether a name has only participles and little words."""
    words = [word for word in name.split("_") if word]
    return not name.startswith("__") and all(
        word in PARTICIPLES | LITTLE_WORDS or (word.endswith("ed") and word not in IN_ED)
        for word in words
    )


@pytest.mark.parametrize("name", ["told", "_placed", "found_in", "of", "_all_named", "within"])
def test_bare_names_are_seen(name):
    """The names that this page is about have no verb and no noun."""
    assert is_bare(name)


@pytest.mark.parametrize("name", ["read", "embed", "found_rows", "with_budget", "bm25_scores"])
def test_other_names_are_not(name):
    """A verb or a noun is enough."""
    assert not is_bare(name)
