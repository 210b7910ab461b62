# SPDX-License-Identifier: BSD-3-Clause
"""Masking: texts in which each secret is replaced by a mask with its name, `<masked:PASSWORD>`, and back again.

What is masked can be read and compared as before: one value has one name, another value another one. A line for a shell names
the variable, `"$PASSWORD"`. A text that looks like a mask by itself is distinguished from one: `<masked:` is written `<masked:>`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from nodewise.base.late import late
from nodewise.base.secret_names import is_secret, is_secret_name, variable_name
from nodewise.base.secrets import Part, parts_of_text, parts_of_words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_BEGIN = "<masked:"
#: A mask: a name and, where the value is spelled in another way than usual, which one; without a name it is its own beginning.
MASK = late(r"<masked:(?:([A-Za-z_]\w*)(?:\.(\d+))?)?>")
#: A shorter value is masked where it is given only, since it stands in other words by chance.
SHORTEST = 6
#: Words of nodewise's own, and such as are in every program's output: masked where they are given as a secret only.
ORDINARY = _set(
    """
    active auto balanced baseline clustered compact compare confirm default disabled dynamic enabled false
    guided interleave interleave:all linux local localhost nodewise none passive password passwd passphrase
    preferred preload program reserved scatter search seconds secret setting spread static system threads
    transparent undecided unknown unset warm-up string number object
    """
)
#: What follows these options of nodewise's own is a name with a list of values.
_LISTS = ("-P", "--parameter", "--parameter-scan", "--env-axis")
#: After these the name and the list are two words.
_LISTS_OF_TWO = ("-L", "--parameter-list")
#: Under these names are parameters by theirs.
_OF_PARAMETERS = ("parameters", "values", "axes")
#: What a shell takes for more than itself between double quotes.
_ACTIVE = late('[\\\\"$`!\n\udc80-\udcff]')


#: Those whose names the others in this process take over, the last one first: what is printed while a command runs and what is
#: written then call a value alike.
naming: list[Masks] = []


def _mask(name: str, spelling: int = 0) -> str:
    return f"{_BEGIN}{name}.{spelling}>" if spelling else f"{_BEGIN}{name}>"


class Masks:
    """The secrets of one experiment, each under a name, and what is written without them.

    `values` are those of before: by name the spellings of a value, the usual one first. `environment` are variables that are
    inherited (None: those of this process): secrets among them are masked where they turn up, and a value that one of them
    holds already is called by its name.
    """

    def __init__(self, values: Mapping[str, Sequence[str]] | None = None, environment: Mapping[str, str] | None = None):
        self._spellings: dict[str, list[str]] = {}
        self._masks: dict[str, str] = {}
        self._used: set[str] = set()
        self._kept: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        #: Parameters whose values are put where a secret belongs.
        self._filled: dict[str, str] = {}
        self._pattern: dict[bool, re.Pattern[str]] = {}
        self._environment = dict(os.environ if environment is None else environment)
        for name, spellings in (values or {}).items():
            if spellings:
                self._used.add(name)
                self._enter(name, spellings)
        for name, value in self._environment.items():
            if len(value) >= SHORTEST and re.fullmatch(r"[A-Za-z_]\w*", name) and is_secret(name, value):
                self._name(name, value)

    @property
    def used(self) -> dict[str, list[str]]:
        """What stands behind the masks that were written so far: by name the spellings of a value."""
        return {name: list(spellings) for name, spellings in self._spellings.items() if name in self._used}

    @property
    def known(self) -> bool:
        """Whether there is any."""
        return bool(self._masks)

    def keep(self, text: str, masked: str) -> None:
        """Say how a text is masked from now on, whatever becomes known of it later."""
        self._kept.setdefault(text, masked)

    def masked(self, value: Any, *, within: bool = False) -> Any:
        """Plain values with all that looks like a secret masked, by where it stands, and what is known as one.

        Names in objects stay. With `within` there are masks among them already.
        """
        known, made = -1, value
        # what is given as a secret in one place is one in others, too
        while known < len(self._masks) + len(self._filled):
            known = len(self._masks) + len(self._filled)
            made = self._masked(value, within)
            self._seen.clear()
        return made

    def veiled(self, value: Any, *, within: bool = False) -> Any:
        """Plain values with only what is known as a secret masked: what a program printed, say."""
        if isinstance(value, str):
            return self._veiled(value, within)
        if isinstance(value, Mapping):
            return {k: self.veiled(v, within=within) for k, v in value.items()}
        return [self.veiled(v, within=within) for v in value] if isinstance(value, list | tuple) else value

    def revealed(self, value: Any) -> Any:
        """The values that were masked; masks of what is not known stay."""
        if isinstance(value, str):
            return MASK.sub(self._reveal, value) if _BEGIN in value else value
        if isinstance(value, Mapping):
            return {k: self.revealed(v) for k, v in value.items()}
        return [self.revealed(v) for v in value] if isinstance(value, list | tuple) else value

    def _reveal(self, found: re.Match[str]) -> str:
        if found[1] is None:
            return _BEGIN
        spellings, which = self._spellings.get(found[1], []), int(found[2] or 0)
        return spellings[which] if which < len(spellings) else found[0]

    def _masked(self, value: Any, within: bool, under: str = "") -> Any:
        if isinstance(value, str):
            return self._text(value, within)
        if isinstance(value, Mapping):
            filled = self._filled if under in _OF_PARAMETERS else {}
            return {k: self._entry(str(k), v, within, filled) for k, v in value.items()}
        if isinstance(value, list | tuple):
            if value and all(isinstance(v, str) for v in value):
                parts = parts_of_words(value)
                self._note_parameters(value)
                lists = [False, *(before in _LISTS for before in value[:-1])]
                for i, (option, name) in enumerate(pairwise(value[:-1]), 2):
                    if option in _LISTS_OF_TWO and (name in self._filled or is_secret_name(name)):
                        called = self._filled.get(name) or variable_name(name)
                        parts[i], lists[i] = [Part(0, len(value[i]), called)], True
                return [
                    self._with(word, [*those, *self._parameters(word)], within, several)
                    for word, those, several in zip(value, parts, lists, strict=True)
                ]
            return [self._masked(v, within) for v in value]
        return value

    def _entry(self, name: str, value: Any, within: bool, filled: Mapping[str, str]) -> Any:
        """What stands under a name, which may say that it is a secret, or that it is put where one belongs."""
        if isinstance(value, list | tuple) and (name in filled or is_secret_name(name)):
            return [self._entry(name, v, within, filled) for v in value]
        text = str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        if text and (is_secret(name, text, literal=True) or (name in filled and not MASK.fullmatch(text))):
            return self._name(filled.get(name) or variable_name(name), text, True)
        return self._masked(value, within, name)

    def _note_parameters(self, words: Sequence[str]) -> None:
        """`--password {p}`: what is put in for p is a secret, whatever that is called."""
        for word, following in zip(words, [*words[1:], ""], strict=True):
            if len(inner := word.split()) > 1:
                self._note_parameters(inner)
            name, sign, value = word.lstrip("-").partition("=")
            if (found := re.fullmatch(r"\{([\w-]+)\}", value if sign else following)) and is_secret_name(name):
                self._filled.setdefault(found[1], variable_name(name))

    def _text(self, text: str, within: bool) -> str:
        if text in self._kept:
            return self._kept[text]
        if text not in self._seen:
            self._seen[text] = self._with(text, [*parts_of_text(text), *self._parameters(text)], within)
        return self._seen[text]

    def _parameters(self, text: str) -> list[Part]:
        """`p=value` in the name of a setting."""
        found = []
        for name, called in self._filled.items():
            values = re.finditer(rf"(?<!\S){re.escape(name)}=(\S+)", text)
            found += [Part(m.start(1), m.end(1), called) for m in values if not m[1].startswith(_BEGIN)]
        return found

    def _with(self, text: str, parts: Sequence[Part], within: bool, several: bool = False) -> str:
        made, at = [], 0
        for part in sorted(parts, key=lambda p: (p.start, -p.end)):
            if part.start >= at:
                value = text[part.start : part.end]
                if part.value in (None, value):
                    # in a sentence a sign may follow what is known
                    if value not in self._masks and (bare := value.rstrip(":,;.)")) in self._masks:
                        value = bare
                    mask = self._several(part.name, value, several)
                else:
                    mask = self._spelling(part.name, part.value or "", value)
                made += [self._veiled(text[at : part.start], within, True), mask]
                at = part.start + len(value)
        return "".join([*made, self._veiled(text[at:], within, True)])

    def _spelling(self, wanted: str, value: str, spelled: str) -> str:
        """The mask of a value that a shell's quotes spell in another way: the variable is the value, the text comes back."""
        name = masked_names(self._name(wanted, value, True))[0]
        if spelled not in self._spellings[name]:
            self._spellings[name].append(spelled)
        return self._use(_mask(name, self._spellings[name].index(spelled)))

    def _several(self, name: str, value: str, several: bool) -> str:
        """The mask of a value; of a list of values, or where they are known, each its own."""
        parts = value.split(",")
        if all(parts) and value not in self._masks and (several or all(part in self._masks for part in parts)):
            return ",".join(self._name(name, part, True) for part in parts)
        return self._name(name, value, True)

    def _veiled(self, text: str, within: bool, own: bool = False) -> str:
        """A text without what is known; with `own` another spelling of a value has a name of its own, as lines need it."""
        if within not in self._pattern:
            longest = sorted((v for v in self._masks if self._is_distinctive(v)), key=len, reverse=True)
            first = MASK.pattern if within else re.escape(_BEGIN)
            self._pattern[within] = re.compile("|".join([f"(?P<mask>{first})", *map(re.escape, longest)]))

        def veil(found: re.Match[str]) -> str:
            if found["mask"]:
                return found[0] if found[0].endswith(">") else f"{_BEGIN}>"
            mask = self._masks[found[0]]
            return self._name(masked_names(mask)[0], found[0], True) if own else self._use(mask)

        return self._pattern[within].sub(veil, text)

    @staticmethod
    def _is_distinctive(value: str) -> bool:
        return len(value) >= SHORTEST and value.lower() not in ORDINARY

    def _use(self, mask: str) -> str:
        found = MASK.fullmatch(mask)
        assert found is not None
        self._used.add(found[1])
        return mask

    def _name(self, wanted: str, value: str, use: bool = False) -> str:
        """The mask of a value, which is named now if it has no name yet, or is but another spelling of one that is used."""
        self._call(wanted, value, use)
        return self._use(self._masks[value]) if use else self._masks[value]

    def _call(self, wanted: str, value: str, own: bool) -> None:
        if value in self._masks and not (own and self._spellings[masked_names(self._masks[value])[0]][0] != value):
            return
        if naming and naming[-1] is not self:
            naming[-1]._call(wanted, value, True)
            wanted = masked_names(naming[-1]._masks[value])[0]
        name, number = wanted, 1
        while name in self._spellings or self._environment.get(name, value) != value:
            number += 1
            name = f"{wanted}_{number}"
        self._enter(name, [value, *_spelled(value)])

    def _enter(self, name: str, spellings: Sequence[str]) -> None:
        self._spellings[name] = list(spellings)
        self._masks[spellings[0]] = _mask(name)
        for i, spelling in enumerate(spellings[1:], 1):
            self._masks.setdefault(spelling, _mask(name, i))
        self._pattern.clear()


def _spelled(value: str) -> list[str]:
    """Other ways in which a program may print a value: in JSON, in a URL."""
    # few have a secret
    from urllib.parse import quote, unquote

    with_escapes = [json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]]
    encoded = value.encode("utf-8", "surrogateescape")
    made = [*with_escapes, quote(encoded, safe=""), unquote(value, errors="surrogateescape")]
    return [v for v in dict.fromkeys(made) if v != value and len(v) >= SHORTEST]


def masked_names(text: str) -> tuple[str, ...]:
    """The names of the masks in a text, each once."""
    return tuple(dict.fromkeys(found[1] for found in MASK.finditer(text) if found[1]))


def has_masks(value: Any) -> bool:
    """Whether plain values hold a mask."""
    if isinstance(value, str):
        return bool(masked_names(value))
    if isinstance(value, Mapping):
        return any(map(has_masks, value.values()))
    return isinstance(value, list | tuple) and any(map(has_masks, value))


def shell_word(text: str, quoted: Callable[[str], str]) -> str:
    """A word of a shell's line, with variables for its masks; `quoted` writes what has none."""
    pieces = _pieces(text)
    names = [p for p in pieces if p[1]]
    if not names:
        return quoted("".join(literal for literal, _ in pieces))
    literals = [literal for literal, name in pieces if not name]
    if pieces[-1][1] and len(names) == 1 and all(quoted(v) == v for v in literals):
        return "".join(f'"${name}"' if name else literal for literal, name in pieces)
    if any(_ACTIVE.search(v) for v in literals):
        return "".join(f'"${name}"' if name else quoted(literal) for literal, name in pieces)
    following = [*[literal or "$" for literal, _ in pieces[1:]], '"']
    made = [
        literal or (f"${{{name}}}" if re.match(r"\w", after) else f"${name}")
        for (literal, name), after in zip(pieces, following, strict=True)
    ]
    return f'"{"".join(made)}"'


def _pieces(text: str) -> list[tuple[str, str]]:
    """A text in order, as pairs of a literal text and a variable's name, one of which is empty."""
    pieces: list[tuple[str, str]] = []
    at = 0

    def add(literal: str) -> None:
        if literal and pieces and not pieces[-1][1]:
            pieces[-1] = (pieces[-1][0] + literal, "")
        elif literal:
            pieces.append((literal, ""))

    for found in MASK.finditer(text):
        add(text[at : found.start()])
        if found[1]:
            pieces.append(("", found[1]))
        else:
            add(_BEGIN)
        at = found.end()
    add(text[at:])
    return pieces


def shell_text(text: str) -> str:
    """A line that was written for a shell, with variables for its masks, however it is quoted around them."""
    if _BEGIN not in text:
        return text
    made, quote_sign, at = [], "", 0
    while at < len(text):
        if (found := MASK.match(text, at)) is not None:
            name, at = found[1], found.end()
            if not name:
                made.append(_BEGIN)
            elif quote_sign == "'":
                # nothing stands between the quotes before it, or behind it
                opened = "" if made[-1] == "'" and made.pop() else "'"
                closed = text[at : at + 1] == "'"
                made.append(f'{opened}"${name}"{"" if closed else quote_sign}')
                quote_sign, at = ("", at + 1) if closed else (quote_sign, at)
            else:
                made.append(f"${{{name}}}" if quote_sign else f'"${name}"')
            continue
        sign = text[at]
        step = 2 if sign == "\\" and quote_sign != "'" else 1
        if sign == quote_sign:
            quote_sign = ""
        elif not quote_sign and sign in "'\"":
            quote_sign = sign
        made.append(text[at : at + step])
        at += step
    return "".join(made)


def to_be_set(line: str, names: Sequence[str]) -> str:
    """The note on a line that names variables for what is masked."""
    several = len(names) > 1
    return (
        f"{line} needs {', '.join(names)} to be set: {'these stand' if several else 'it stands'} for "
        f"{'secrets' if several else 'a secret'} that nodewise keeps in secrets.json of the experiment alone"
    )
