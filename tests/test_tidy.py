"""How the code is kept: what a reader of the whole would otherwise have to look for again and again.

Where something is not yet as it should be, it is listed by name. A list may only shrink: an entry that
is no longer needed fails its test too.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sanql"
MODULES = sorted(PACKAGE.rglob("*.py"))
PACKAGES = sorted(path.parent for path in PACKAGE.glob("*/__init__.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Fronts within packages, with what they are for.
NESTED_FRONTS = {
    "sanql.mechanisms.noiseless": "exact releases: a field of its own, with its own users",
    "sanql.policy.exact": "declarations that only exact releases read",
    "sanql.kernel.buckets": "what runs on other machines, which only a cluster's engine knows of",
    "sanql.audit.ledger": "the independent verifier, which shares nothing with the other audits",
}
CHAPTERS = "sanql.theory"  # a textbook is opened at a chapter
STARTED = "sanql.cli.main"  # what `python -m sanql` starts; the command offers nothing else

LINES_MAX = 400
LONG_FILES: dict[str, int] = {}
TEST_LINES_MAX = 600
LONG_TESTS: dict[str, int] = {"tests/policy/test_faults.py": 681}  # a table of faults
PAGE_LINES_MAX = 110
FIRST_LINE_MAX = 103  # with its quotes it fills a line

# Names that a front exports although a module beside it is called the same, which they hide.
HIDING: set[str] = set()
# Names that several fronts export for different things.
HOMONYMS: set[str] = set()
# Names that nothing uses.
UNUSED: set[str] = set()


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def name_of(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the package directly below `sanql` that a module is in, or the module itself."""
    return ".".join(module.split(".")[:2])


@cache
def exported(front: Path) -> list[str]:
    """Return what a package says that it offers."""
    init = front / "__init__.py"
    for node in tree(init).body if init.exists() else ():
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=names)):
                return [ast.literal_eval(name) for name in names]
            case _:
                pass
    return []


def place_of(name: str) -> Path:
    """Return where a module is, less its ending."""
    return PACKAGE.parent.joinpath(*name.split("."))


@cache
def is_module(name: str) -> bool:
    place = place_of(name)
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    """Return the line and the module of everything that a file imports, also late."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.lineno, _imported(node.module or "", alias)) for alias in node.names]
    return found


def _imported(module: str, alias: ast.alias) -> str:
    """Return the module of a name that is imported from another: it may be a module itself."""
    whole = f"{module}.{alias.name}"
    if not module.startswith("sanql") or alias.name in exported(place_of(module)):
        return module
    return whole if is_module(whole) else module


def only_shrinks(found: set[str], known: set[str], remedy: str) -> None:
    """Assert that nothing was found but what is known, and all that is known."""
    assert not found - known, f"{remedy}: {sorted(found - known)}"
    assert not known - found, f"take off the list, they are well by now: {sorted(known - found)}"


# ---- seams

# The list of each seam, and the classes on it.
SEAMS = {
    "plan/pricing.py": ("LaplaceMechanism", "GaussianMechanism"),
    "account/accountants/choice.py": ("PureAccountant", "RenyiAccountant"),
    "engines/open.py": ("WorkerEngine", "InProcessEngine", "SparkEngine"),
    "account/stores/opening.py": ("SqliteStore", "MemoryStore", "PostgresStore"),
    "sources/kinds.py": ("FilesSource", "DatabaseSource"),
    "statistics/listed.py": (
        "GeometricMean",
        "CountDistinct",
        "Correlation",
        "ShannonEntropy",
        "Mode",
    ),
}
# Who else may name one, and why.
NAMING = {
    ("PureAccountant", "account/ledger/format_1.py"): "the first ledgers were counted by it",
    ("MemoryStore", "account/ledger/going_on.py"): "a copy goes on there before it is put back",
    ("Mode", "teach/nearest/words.py"): "a node of the grammar is called so too",
    ("Mode", "exact/plan.py"): "it has an exact form, a verdict",
}


@pytest.mark.parametrize("listed", SEAMS)
def test_a_member_of_a_seam_is_named_in_its_own_file_and_in_the_list_alone(listed: str) -> None:
    """So that one more costs its file and a line: nothing else knows which there are."""
    for member in SEAMS[listed]:
        files = {str(p.relative_to(PACKAGE)) for p in MODULES if member in names_in(p)}
        homes = {str(p.relative_to(PACKAGE)) for p in MODULES if member in classes_in(p)}
        assert len(homes) == 1, (member, homes)
        besides = {
            file for file in files - homes - {listed}
            if (member, file) not in NAMING and not file.endswith("__init__.py")
        }  # fmt: skip
        assert not besides, f"{member} is known to {sorted(besides)}"


@cache
def names_in(path: Path) -> set[str]:
    """Return every name, attribute and imported name that a file has."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.ImportFrom(names=aliases):
                found.update(alias.name for alias in aliases)
    return found | classes_in(path)


@cache
def classes_in(path: Path) -> set[str]:
    """Return the classes that a file defines."""
    return {node.name for node in tree(path).body if isinstance(node, ast.ClassDef)}


# ---- packages


def test_a_package_is_imported_through_its_front_only() -> None:
    inside = []
    for path in MODULES:
        own = room_of(name_of(path))
        for line, module in imports(path):
            room = room_of(module)
            if not module.startswith("sanql.") or room in (own, CHAPTERS):
                continue
            is_front = module in (room, STARTED) or module in NESTED_FRONTS
            if not is_front and (place_of(room) / "__init__.py").exists():
                inside.append(f"{path.relative_to(ROOT)}:{line} imports {module}, inside {room}")
    assert not inside, "import what the package's front offers:\n" + "\n".join(inside)


@pytest.mark.parametrize("front", NESTED_FRONTS)
def test_a_nested_front_is_there_and_used(front: str) -> None:
    assert exported(place_of(front)), f"{front} offers nothing"
    users = [
        path
        for path in MODULES
        if room_of(name_of(path)) != room_of(front)
        and any(module == front for _, module in imports(path))
    ]
    assert users, f"{front} need be no front: nothing outside {room_of(front)} imports it"


def test_a_front_has_no_implementation() -> None:
    allowed = (ast.Import, ast.ImportFrom, ast.Assign, ast.Expr)
    written = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in MODULES
        if path.name == "__init__.py" and path.parent != PACKAGE  # which imports late
        for node in tree(path).body
        if not isinstance(node, allowed)
        or (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) != "__all__")
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant))
    ]
    assert not written, f"an __init__ says and re-exports, no more: {written}"


def test_no_exported_name_hides_a_module() -> None:
    hiding = {
        f"{name_of(init)}.{name}"
        for init in MODULES
        if init.name == "__init__.py"
        for name in exported(init.parent)
        if is_module(f"{name_of(init)}.{name}")
    }
    only_shrinks(hiding, HIDING, "call the name or its file otherwise")


def fronts() -> Iterator[tuple[str, list[str]]]:
    """Yield every front and what it exports."""
    for path in PACKAGES:
        yield f"sanql.{path.name}", exported(path)
    for name in NESTED_FRONTS:
        yield name, exported(place_of(name))


def test_one_name_is_one_thing_whichever_package_exports_it() -> None:
    things: dict[str, dict[int, str]] = defaultdict(dict)
    for front, names in fronts():
        for name in names:
            thing = getattr(import_module(front), name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                things[name].setdefault(id(thing), front)
    several = {name: sorted(by.values()) for name, by in things.items() if len(by) > 1}
    homonyms = {f"{name} ({' and '.join(several[name])})" for name in several}
    only_shrinks(homonyms, HOMONYMS, "one name for different things: call one of them otherwise")


def test_no_two_public_classes_have_one_name() -> None:
    modules: dict[str, list[str]] = defaultdict(list)
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                modules[node.name].append(name_of(path))
    homonyms = {name: found for name, found in modules.items() if len(found) > 1}
    assert not homonyms, f"one name for different classes: call one of them otherwise: {homonyms}"


# ---- files


def too_long(paths: list[Path], most: int, known: dict[str, int]) -> None:
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in paths
    }
    grown = {name: n for name, n in lengths.items() if n > known.get(name, most)}
    assert not grown, f"more than {most} lines, or more than were known: {grown}"
    shorter = {name for name in known if lengths.get(name, 0) <= most}
    assert not shorter, f"no longer too long: take them off the list: {shorter}"


def test_no_file_of_the_package_is_long() -> None:
    too_long(MODULES, LINES_MAX, LONG_FILES)


def test_no_file_of_tests_is_very_long() -> None:
    too_long(TESTS, TEST_LINES_MAX, LONG_TESTS)


# ---- names


def defined(path: Path) -> Iterator[str]:
    """Yield the public names that a module defines."""
    for node in tree(path).body:
        match node:
            case ast.FunctionDef(name=name, decorator_list=[]) | ast.ClassDef(name=name):
                names = [name]  # a decorated function is what the decorator makes of it: a command
            case ast.Assign(targets=targets):
                names = [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names = [name]
            case _:
                names = []
        yield from (name for name in names if not name.startswith("_"))


def used(path: Path) -> set[str]:
    """Return the names that a file's code uses; to import and to re-export is no use."""
    found: set[str] = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant):  # it may name a module and what is in it
            found.update(re.split(r"\W+", str(node.value)[:100]))
    return found


@pytest.mark.slow
def test_every_public_name_is_used() -> None:
    code = [path for path in MODULES if path.name != "__init__.py"]
    code += [path for path in TESTS if path != Path(__file__)]
    code += [path for folder in ("bench", "project") for path in (ROOT / folder).rglob("*.py")]
    names = set[str]().union(*map(used, code))
    for page in [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "docs").rglob("*.py"),
    ]:
        names.update(re.findall(r"\w+", page.read_text(encoding="utf-8")))
    offered = set(exported(PACKAGE))
    unused = {
        f"{name_of(path)}.{name}"
        for path in MODULES
        if path.name != "__init__.py"
        for name in defined(path)
        if name not in names | offered
    }
    only_shrinks(unused, UNUSED, "nothing uses these: delete them")


# ---- pages

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_a_package_says_in_one_sentence_what_it_makes_or_has(package: Path) -> None:
    said = ast.get_docstring(tree(package / "__init__.py"))
    assert said, "no docstring"
    first = said.splitlines()[0]
    assert len(first) <= FIRST_LINE_MAX, f"{len(first)} characters, the most are {FIRST_LINE_MAX}"
    assert first.endswith("."), "its first line is a sentence"
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert any(f"`{package.name}/`" in row for row in rows), "not in the table of ARCHITECTURE.md"


@pytest.mark.parametrize(
    ("package", "made"),
    [
        ("policy", "Policy"),
        ("sources", "Source"),
        ("compile", "Statement"),
        ("engines", "exact cells"),
        ("noise", "NoisyCells"),
        ("answer", "Answer"),
        ("certificate", "Certificate"),
    ],
)
def test_a_stage_says_what_it_makes_of_what(package: str, made: str) -> None:
    said = ast.get_docstring(tree(PACKAGE / package / "__init__.py")) or ""
    assert re.search(rf"\w → {re.escape(made)}\b", said.splitlines()[0]), said


def test_the_architecture_is_one_page() -> None:
    assert len(PAGE.splitlines()) <= PAGE_LINES_MAX
