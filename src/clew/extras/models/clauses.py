"""Extract statements from a dependency parse: clauses, appositions, possessives.

Each pattern is a small function over spaCy's tokens, with the labels of its English pipelines
(ClearNLP's: nsubj, dobj, attr, agent, ...). It yields tokens, the heads of noun phrases; what they
are called, and what a pronoun among them means, is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Token

Clause = tuple["Token", str, "Token"]  # subject, relation, object

BE = frozenset("be is are was were been being 's 're am".split())
SUBJECT = frozenset({"nsubj", "nsubjpass"})
_OBJECT = frozenset({"dobj", "attr", "oprd", "dative"})
_RELATIVE = frozenset({"WDT", "WP", "WP$"})
_OPEN = frozenset({"xcomp", "advcl"})  # verbs that borrow the subject of the verb above them


def clauses(sentence: Iterator[Token]) -> Iterator[Clause]:
    """Yield the statements that each pattern finds at each token, in token order."""
    for token in sentence:
        for pattern in PATTERNS:
            yield from pattern(token)


def is_name(token: Token) -> bool:
    """Check whether a noun phrase with this head is a name."""
    return token.pos_ == "PROPN" or token.ent_type_ not in {"", "NORP", "ORDINAL", "CARDINAL"}


def is_common(token: Token) -> bool:
    """Check whether a noun phrase with this head is neither a name nor a pronoun."""
    return token.pos_ != "PRON" and not is_name(token)


def verbal(verb: Token) -> Iterator[Clause]:
    """Yield subject, verb and object: "Nansen designed the Fram", "Fram was built by Archer"."""
    if verb.pos_ not in {"VERB", "AUX"} or verb.dep_ in {"aux", "auxpass"}:
        return
    for relation, object_ in _arguments(verb, _verb_words(verb)):
        for name in subjects(verb):
            # "is" makes a subject a name for a common noun: "Its capital is Oslo".
            own = (child for child in verb.children if child.dep_ in SUBJECT)
            subject = next(own, name) if name == object_ else name
            owner = _owner(subject)
            if owner is None and relation in BE and is_common(subject) and object_.pos_ == "PROPN":
                yield object_, relation, subject  # "The captain was Worsley"
            elif owner is None:
                yield subject, relation, object_
            elif relation in BE:  # "Its capital is Oslo": (it, capital, Oslo)
                yield owner, _noun_words(subject), object_
            else:  # "Its coast borders the sea": (it, coast borders, sea)
                yield owner, f"{_noun_words(subject)} {relation}", object_


def apposition(token: Token) -> Iterator[Clause]:
    """Yield appositions: "Nansen, the designer of the Fram", "the painter Edvard Munch"."""
    if token.dep_ != "appos":
        return
    head = token.head
    if is_name(token) and is_name(head):
        if _is_listed(token):
            return
        if {token.ent_type_, head.ent_type_} <= {"GPE", "LOC", "FAC"}:
            yield head, "in", token  # "Kolbotn, Norway"
        return
    thing, noun = (token, head) if is_name(token) else (next(iter(referents(head)), head), token)
    for one in _list_conjuncts(noun):
        if _owner(one) is None and one is not thing:
            yield thing, "is", one
        for relation, object_ in _prepositional(one, _noun_words(one)):
            yield thing, relation, object_


def possession(token: Token) -> Iterator[Clause]:
    """Yield possessions: "Amundsen's brother Leon", "his brother, Leon"."""
    if token.dep_ != "poss":
        return
    noun = token.head
    if is_name(noun):  # with the common nouns in front of it
        words = [t.text for t in noun.lefts if t.pos_ in {"NOUN", "ADJ"} and not t.ent_type_]
        if words:
            yield token, " ".join(words), noun
        return
    for child in noun.children:
        if child.dep_ == "appos" and is_name(child):
            yield token, _noun_words(noun), child


def description(token: Token) -> Iterator[Clause]:
    """Yield common nouns before names: "the explorer Fridtjof Nansen"."""
    before_name = token.dep_ in {"compound", "nmod"} and is_name(token.head)
    owned = any(child.dep_ == "poss" for child in token.head.children)
    if before_name and token.pos_ == "NOUN" and not owned:
        yield token.head, "is", token


def relation_of_name(token: Token) -> Iterator[Clause]:
    """Yield names with prepositions: "the University of Oslo in Norway"."""
    if is_name(token) and token.ent_type_ != "DATE":
        for relation, object_ in _prepositional(token, ""):
            if is_name(object_):
                yield token, relation.strip(), object_


PATTERNS: tuple[Callable[[Token], Iterator[Clause]], ...] = (
    verbal,
    apposition,
    possession,
    description,
    relation_of_name,
)


def subjects(verb: Token) -> list[Token]:
    """Return the heads of a verb's subjects, its own or inherited ones."""
    own = [child for child in verb.children if child.dep_ in SUBJECT]
    if own or any(child.dep_ == "expl" for child in verb.children):  # "there was"
        return [one for child in own for one in referents(child)]
    if verb.dep_ in _OPEN or (verb.dep_ == "conj" and verb.head.pos_ in {"VERB", "AUX"}):
        return subjects(verb.head)
    if verb.dep_ in {"acl", "relcl"} and not _lacks_object(verb):
        return referents(verb.head)
    return []


def referents(noun: Token) -> list[Token]:
    """Return the referents of a noun and of the nouns coordinated with it.

    A relative pronoun stands for what its clause describes; what something is said to be stands
    for that thing: "X is a ship that sank" says that X sank.
    """
    if noun.tag_ in _RELATIVE:
        clause = next((a for a in noun.ancestors if a.dep_ == "relcl"), None)
        return referents(clause.head) if clause is not None else []
    first = noun
    while first.dep_ == "conj":
        first = first.head
    if first.dep_ == "attr" and first.head.text.lower() in BE:
        return subjects(first.head) or [noun]
    if first.dep_ == "appos" and not is_name(first):
        return referents(first.head)
    return [_find_name(one) for one in _list_conjuncts(noun)]


def _find_name(noun: Token) -> Token:
    """Return the name given to a common noun, as in "his brother, Leon"."""
    if is_name(noun):
        return noun
    names = [child for child in noun.children if child.dep_ == "appos"]
    if noun.dep_ == "nsubj" and noun.head.text.lower() in BE:
        names += [child for child in noun.head.children if child.dep_ == "attr"]
    return next((child for child in names if is_name(child)), noun)


def _list_conjuncts(noun: Token) -> list[Token]:
    """Return a noun and its conjuncts on the right."""
    nouns = [noun]
    for child in noun.children:
        if child.dep_ == "conj" or (is_name(noun) and _is_listed(child)):
            nouns += _list_conjuncts(child)
    return nouns


def _is_listed(token: Token) -> bool:
    """Check whether an apposition is really a list item: "Oslo, Bergen and Tromsø"."""
    return (
        token.dep_ == "appos" and is_name(token) and any(c.dep_ == "conj" for c in token.children)
    )


def _lacks_object(verb: Token) -> bool:
    """Check whether a relative clause has its own subject, so that its noun is the object."""
    return any(child.dep_ in SUBJECT for child in verb.children)


def _arguments(verb: Token, words: str) -> Iterator[tuple[str, Token]]:
    """Yield each object of a verb with the words of the relation to it."""
    for child in verb.children:
        if child.dep_ in _OBJECT:
            yield from _objects(child, words, words)
        elif child.dep_ == "npadvmod" and is_name(child):  # "founded November 28, 1660"
            yield words, child
        elif child.dep_ == "acomp":
            yield from _prepositional(child, f"{words} {child.text}")
    yield from _prepositional(verb, words)
    has_object = any(child.dep_ in _OBJECT | {"prep"} for child in verb.children)
    if verb.dep_ == "relcl" and _lacks_object(verb) and not has_object:
        for object_ in referents(verb.head):  # "the ship Nansen built"
            yield words, object_


def _objects(noun: Token, words: str, stem: str) -> Iterator[tuple[str, Token]]:
    """Yield an object and its conjuncts, and the objects of their prepositions.

    `stem` is `words` without the preposition that led to the object: what follows a name is
    mostly said of the verb, as in "met Nansen in Oslo" and "sailed to Hobart in March".
    """
    for one in referents(noun) if noun.tag_ in _RELATIVE else _list_conjuncts(noun):
        called = _find_name(one)
        if is_name(called):
            yield words, called
            for relation, object_ in _prepositional(called, stem):
                if not relation.endswith(" of"):
                    yield relation, object_
        elif not any(child.text == "of" for child in one.children):
            yield words, one
        if not is_name(one):  # "has a population of ...", "is a member of ..."
            yield from _prepositional(one, f"{words} {_noun_words(one)}")


def _prepositional(token: Token, words: str) -> Iterator[tuple[str, Token]]:
    """Yield the objects of a word's prepositions, each with the words before it."""
    for child in token.children:
        if child.dep_ in {"prep", "agent"}:
            for preposition in _list_conjuncts(child):  # "by Scott and by Amundsen"
                relation = f"{words} {preposition.text.lower()}"
                for object_ in preposition.children:
                    if object_.dep_ == "pobj":
                        yield from _objects(object_, relation, words)
            alone = not any(c.dep_ == "pobj" for c in child.children)  # "as of", "out of"
            yield from _prepositional(child, relation if alone else words)


def _verb_words(verb: Token) -> str:
    """Return a verb as a relation: without auxiliaries, with "not" and particles."""
    above = ""
    if verb.dep_ == "xcomp" and not any(c.dep_ in SUBJECT for c in verb.children):
        above = _verb_words(verb.head) + " "
    words = []
    for token in (*verb.lefts, verb, *verb.rights):
        if token.dep_ == "neg":
            words.append("not")
        elif token is verb or token.dep_ == "prt" or (above and token.tag_ == "TO"):
            words.append(token.text.lower())
    return above + " ".join(words)


def _noun_words(noun: Token) -> str:
    """Return a common noun with its modifiers, without articles and possessors."""
    words = [t.text for t in noun.lefts if t.dep_ in {"amod", "compound", "nmod", "nummod"}]
    return " ".join([*words, noun.text])


def _owner(noun: Token) -> Token | None:
    """Return the possessor of a noun: "its capital", "Norway's capital", "capital of Norway"."""
    if is_name(noun):
        return None
    for child in noun.children:
        if child.dep_ == "poss":
            return child
        if child.dep_ == "prep" and child.text == "of":
            return next((c for c in child.children if c.dep_ == "pobj" and c.pos_ == "PROPN"), None)
    return None
