"""Find the boilerplate of a web page: menus, teasers, comments, banners.

The text is where most of the prose is: runs of words that are not links. Any other element is
furniture where its tag, its role or a word of its class says so, where it is a list of links, or
where it stands outside the text and says little. Of a manual, whose prose is short and full of
links, elements without a sentence and lists of links stay.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from clew.text.normalize import collapse

UNREAD = frozenset(
    "button canvas datalist embed head iframe nav noscript object rp script select style svg "
    "template textarea".split()
)
BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu ol p pre "
    "search section summary table tbody tfoot thead tr ul".split()
)
_ENDS = BLOCKS | {"td", "th"}  # elements that end a run of words
HEADINGS = {f"h{level}": level for level in range(1, 7)}
_ANY_HEADING = ", ".join(HEADINGS)
_ROLES = frozenset(
    "alert alertdialog banner complementary contentinfo dialog menu menubar navigation search "
    "toolbar".split()
)
_NAMED = re.compile(  # words of classes and ids, each a part of a name
    r"(?:^|[\s_-])(?:ad|advert|advertisement|banner|breadcrumb|byline|comment\w*|consent|cookie\w*|"
    r"credit|disqus|foot|footer|headerlink|masthead|meta|modal|more|nav\w*|newsletter|"
    r"pager|paginat\w+|popular|popup|promo\w*|rail|recommend\w*|related|repl(?:y|ies)|respond|"
    r"shar(?:e|ing)|\w*sidebar|signup|social\w*|sponsor\w*|subscri\w+|tag|teaser|toolbar|trending|"
    r"widget)s?(?=$|[\s_\d-])"
)
_MENU = re.compile("menu", re.IGNORECASE)  # of links: a restaurant has others
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CONTAINERS = frozenset("aside center div footer form header section".split())
_LISTS = frozenset("dl ol table ul".split())
_LEADING = (  # links to other pages of a manual, and to other languages
    "a[hreflang], a[rel~=prev], a[rel~=next], a[rel~=up], a[rel~=start], a[rel~=contents], "
    "a[rel~=index], a[accesskey=n], a[accesskey=p], a[accesskey=u]"
)
_LONGEST_LINE = 300  # characters of a line of such links
_NOTATION = "pre, dt, code, kbd, samp, tt, var"
_LEAST_NOTATIONS, _PER_NOTATION = 5, 250  # elements of a manual, and characters for each
_OF_MANUALS = "head link[rel~=up], head link[rel~=contents], head link[rel=index][href*=genindex]"
_GENERATORS = re.compile(
    r"asciidoc|docbook|docutils|doxygen|groff|javadoc|latex|makeinfo|man2html|mkdocs|rustdoc|"
    r"sphinx|texi2|texinfo",
    re.IGNORECASE,
)
_LEAST_PROSE = 40  # characters of a run of words
_INSIDE = 0.6  # of the prose of an element: what holds so much of it is where the text is
_MOST = 0.4  # of the prose of a page: furniture has less
_LITTLE = 0.15
_LINKED = 0.5  # of the characters of a list of links
_LEAST_TEXT = 0.1  # of the characters of a page that are prose: with less it is an index


@dataclass(slots=True)
class _Mass:
    """The size of an element's text, without white space."""

    place: int  # in the order of the page
    words: int = 0
    linked: int = 0
    prose: int = 0


class _Page(NamedTuple):
    """The features of a page for judging its elements."""

    masses: Mapping[int, _Mass]  # of its elements, by their ids
    whole: _Mass
    text: Mapping[int, LexborNode | None]  # what holds most prose, with the next such inside
    title: int  # the place of its heading, -1 without one
    is_manual: bool


def is_manual(tree: LexborHTMLParser) -> bool:
    """Check whether a page is documentation, by its generator, links or notation."""
    generators = (each.attributes.get("content") for each in tree.css("meta[name=generator]"))
    if any(map(_GENERATORS.search, filter(None, generators))) or tree.css_first(_OF_MANUALS):
        return True
    n = len(tree.css(_NOTATION))
    return n >= _LEAST_NOTATIONS and n * _PER_NOTATION >= len(tree.body.text() if tree.body else "")


def find_clutter(tree: LexborHTMLParser, *, as_manual: bool) -> set[int]:
    """Return the ids of the outermost boilerplate elements of a page.

    Where nothing else is left there are none.
    """
    if tree.body is None:
        return set()
    masses = _weigh(tree.body)
    text, title = _find_text(tree.body, masses), _find_title(tree)
    place = masses[title.mem_id].place if title else -1
    page = _Page(masses, masses[tree.body.mem_id], text, place, as_manual)
    kept = {*text, *(each.mem_id for each in _ancestors(title))}
    found: set[int] = set()
    stack = [tree.body]
    while stack:
        for each in stack.pop().iter():
            if each.mem_id not in kept and _is_clutter(each, page):
                found.add(each.mem_id)
            elif each.tag != "pre" and each.tag not in UNREAD:
                stack.append(each)
    is_all = sum(masses[each].words for each in found) == page.whole.words
    return set() if is_all else found


def _weigh(body: LexborNode) -> dict[int, _Mass]:
    """Return the text sizes of the elements of a page."""
    masses: dict[int, _Mass] = {}
    block, run = body, 0  # the characters outside links since the last block
    for node in body.traverse(include_text=True):
        if not node.is_text_node:
            masses[node.mem_id] = _Mass(len(masses))
            continue
        around = list(_ancestors(node.parent))
        if not UNREAD.isdisjoint(each.tag or "" for each in around):
            continue
        n = len("".join((node.text_content or "").split()))
        is_linked = any(map(_is_link, around))
        inside = next((each for each in around if each.tag in _ENDS), body)
        if inside.mem_id != block.mem_id:
            _end_run(block, run, masses)
            block, run = inside, 0
        run += 0 if is_linked else n
        for each in around:
            if each.mem_id in masses:
                masses[each.mem_id].words += n
                masses[each.mem_id].linked += n if is_linked else 0
    _end_run(block, run, masses)
    return masses


def _end_run(block: LexborNode, run: int, masses: Mapping[int, _Mass]) -> None:
    """Count a run of words as prose if it is long, or the longest of its element."""
    for each in _ancestors(block) if run >= _LEAST_PROSE or block.tag in {"dd", "pre"} else ():
        if each.mem_id in masses:
            masses[each.mem_id].prose += run


def _ancestors(node: LexborNode | None) -> Iterator[LexborNode]:
    """Yield an element and its ancestors."""
    while node is not None:
        yield node
        node = node.parent


def _is_link(node: LexborNode) -> bool:
    return node.tag == "a" and ("href" in node.attributes or not node.attributes)


def _find_text(body: LexborNode, masses: Mapping[int, _Mass]) -> dict[int, LexborNode | None]:
    """Return the elements with most of the prose, each with the next one inside it."""
    text: dict[int, LexborNode | None] = {}
    node: LexborNode | None = body
    while node is not None:
        best = max(node.iter(), key=lambda each: masses[each.mem_id].prose, default=None)
        least = max(_INSIDE * masses[node.mem_id].prose, 1)
        is_text = best is not None and best.tag != "pre" and masses[best.mem_id].prose >= least
        text[node.mem_id] = best if is_text else None
        node = text[node.mem_id]
    return text


def _find_title(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the title heading of a page, or its first heading."""
    stated = tree.css_first("head title")
    words = collapse(stated.text()).casefold() if stated else ""
    first = tree.css("h1")
    for each in first or tree.css("h2, h3, h4"):
        heading = collapse(each.text()).casefold()
        if heading and heading in words:
            return each
    return first[0] if first else None


def _is_clutter(node: LexborNode, page: _Page) -> bool:
    mass, whole = page.masses[node.mem_id], page.whole
    if node.tag not in _ENDS:  # a permalink
        is_sign = 0 < mass.words <= 2 and not any(map(str.isalnum, node.text()))
        return is_sign and node.tag == "a" and (node.attributes.get("href") or "").startswith("#")
    if mass.prose > _MOST * whole.prose or node.tag == "main":
        return False
    is_list = mass.linked > 0 and mass.linked >= _LINKED * mass.words
    is_menu = is_list and _MENU.search(node.attributes.get("class") or "")
    if is_menu or _is_named(node, page) or _is_above_title(node, page) or _is_link_bar(node, mass):
        return True
    if page.is_manual or whole.prose < _LEAST_TEXT * whole.words:
        return False
    if is_list and (node.tag in _CONTAINERS or node.tag in _LISTS):
        return True
    return node.tag in _CONTAINERS and mass.prose <= _LITTLE * whole.prose and _is_aside(node, page)


def _is_named(node: LexborNode, page: _Page) -> bool:
    """Check whether a tag, role, class or id is typical of boilerplate.

    The id of a section may be made of its heading.
    """
    attributes = node.attributes
    if node.tag in ("dialog", "footer", "search") or attributes.get("role") in _ROLES:
        return True
    by_class, by_id = (
        bool(_NAMED.search(_CAPITAL.sub("-", attributes.get(name) or "").casefold()))
        for name in ("class", "id")
    )
    if node.tag in HEADINGS or node.tag == "pre":
        return False
    return by_class or (by_id and not (page.is_manual and node.css_first(_ANY_HEADING)))


def _is_above_title(node: LexborNode, page: _Page) -> bool:
    """Check for an element of links without prose above the page's heading."""
    mass, around = page.masses[node.mem_id], node.parent
    is_above = mass.place < page.title and mass.linked > 0 and not mass.prose
    return is_above and around is not None and around.mem_id in page.text


def _is_link_bar(node: LexborNode, mass: _Mass) -> bool:
    """Check for a line of links to other pages or languages."""
    if not mass.linked or mass.words > _LONGEST_LINE or mass.prose:
        return False
    return len(node.css(_LEADING)) >= 2 and node.css_first(_ANY_HEADING) is None


def _is_aside(node: LexborNode, page: _Page) -> bool:
    """Check whether a container is beside the text rather than part of it."""
    beside = page.text.get(node.parent.mem_id) if node.parent else None
    if node.tag == "aside" or beside is None:
        return node.tag == "aside"
    mass, name = page.masses[node.mem_id], node.attributes.get("class")
    is_lead = page.title < mass.place < page.masses[beside.mem_id].place and mass.prose > 0
    is_alike = name and beside.tag == node.tag and beside.attributes.get("class") == name
    return not (is_alike or is_lead)
