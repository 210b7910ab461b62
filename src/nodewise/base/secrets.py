# SPDX-License-Identifier: BSD-3-Clause
"""Secrets: which arguments and variables look like one, by their names or their own shape, and where in a text they stand.

What is taken for one though it is none costs a variable in a launch line; what is missed is there for all to read. So names
decide, and those that are known to be of something else (a size, a file, a key to sort by) do not count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words of a name that make it that of a secret, whatever the value; and those that do so at its end only.
_STRONG = _set(
    """
    password passwd passphrase passcode secret secrets token credential credentials apikey secretkey accesskey
    privatekey authtoken accesstoken
    """
)
_WEAK = frozenset(("key", "pass", "pwd"))
#: Words behind these say that it is about a secret and none itself; words before them the same.
_ABOUT = _set(
    """
    file files path dir directory folder size sizes length len count counts type types name names id ids url uri
    endpoint ttl expiry expires expiration timeout format limit limits bits env var variable policy parallelism
    stdin prompt field column header algorithm mode rate budget per index num number strategy age range manager
    provider service kind version location fd usage second seconds
    """
)
_NO_SECRET_IF_FIRST = _set("max min num n no ask use per total without enable disable show hide list omp")
#: Keys that open nothing.
_OPEN_KEYS = _set(
    """
    sort primary foreign partition group index hot public pub cache row routing join search hash map order
    ordering lookup object config shard cluster clustering distribution dist range compose any by natural unique
    alternate composite first last start end min max next prev field column label json dict context register num
    data hotkey map
    """
)
_SWITCHES = _set("true false yes no on off none null")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_PATH = re.compile(r"(~|\.{1,2})?/.*|.*\.(pem|key|pub|crt|json|txt|ya?ml|ini|conf)", re.DOTALL)
#: What stands for a value and is none: a variable or command of the shell, a parameter, a mask.
_REFERENCE = re.compile(r"\$(\w+|\{[^}]*\}|\(.*\))|`.*`|\{[\w-]+\}|\*+|-|<masked:.*", re.DOTALL)
_OPTION = re.compile(r"--?[A-Za-z][\w.-]*")
#: What variables follow, each a word of its own.
_BEFORE_VARIABLES = ("env", "export", "-e", "-x", "-E", "--env", "--env-axis", "-P", "-genv", "-env")
#: Behind an option another one, and no value.
_NEXT_OPTION = re.compile(r"--[A-Za-z].*|-[A-Za-z]", re.DOTALL)
_ASSIGNED = re.compile(r"-{0,2}([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
#: What no other text looks like: tokens of well-known services, and signed ones (RFC 7519).
_TOKENS = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|AKIA[A-Z0-9]{16}(?![A-Z0-9])|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})"
)
_URL = re.compile(r"(?<![\w+.-])[A-Za-z][\w+.-]*://[^\s/:@?#'\"]*:([^\s/'\"]+)@")
_HEADER = re.compile(
    r"(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:bearer|basic|token|digest)\s+)?([^\s'\"]+)", re.IGNORECASE
)
#: NAME=VALUE, NAME: VALUE and "NAME": "VALUE" within a text.
_NAMED = re.compile(r"(?<![\w.-])-{0,2}([A-Za-z_][\w.-]*)[\"']?(?:=|[ \t]*:(?!//)[ \t]*)[\"']?")
_VALUE = re.compile(r"[^\s,;&'\"(){}#|<>]+")
#: What follows these options of these programs is a secret; of those with a sign only what is behind it.
_ATTACHED_P = re.compile(r"mysql\w*|mariadb[\w-]*|sshpass|7z[ar]?")
_FOLLOWED = {
    "sshpass": {"-p": ""},
    "curl": {"-u": ":", "--user": ":", "-U": ":", "--proxy-user": ":"},
    "redis-cli": {"-a": ""},
    "redis-benchmark": {"-a": ""},
    "valkey-cli": {"-a": ""},
    "valkey-benchmark": {"-a": ""},
    "ldapsearch": {"-w": ""},
    "ldapadd": {"-w": ""},
    "ldapmodify": {"-w": ""},
    "zip": {"-P": ""},
    "unzip": {"-P": ""},
    "mongo": {"-p": ""},
    "mongosh": {"-p": ""},
    "mongodump": {"-p": ""},
    "ipmitool": {"-P": ""},
    "smbclient": {"-U": "%"},
    "ab": {"-A": ":"},
}


@dataclass(frozen=True)
class Part:
    """A secret within a text, from `start` up to `end`; `name` is what a variable with its value may be called."""

    start: int
    end: int
    name: str


#: Names that are written in one word end in these, as PGPASSWORD and MYTOKEN do.
_ENDS = ("password", "passwd", "passphrase", "secret", "token", "sshpass", "dbpass", "storepass", "keypass")


def _split(name: str) -> list[str]:
    words = [word.lower() for word in _WORDS.findall(name)]
    # what a single letter is before is an option with its value: -psecret
    return ["password" if word.endswith(_ENDS) and not word[1:].startswith(_ENDS) else word for word in words]


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of that name holds a secret: DB_PASSWORD, --api-key, secretAccessKey."""
    words = _split(name)
    if not words or words[0] in _NO_SECRET_IF_FIRST:
        return False
    while words[-1].isdigit() and len(words) > 1:
        words.pop()
    at = max((i for i, word in enumerate(words) if word in _STRONG), default=-1)
    if at >= 0:
        return not _ABOUT.intersection(words[at + 1 :])
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last not in _WEAK or (last != "pass" and not before):
        return False
    return last != "key" or before not in _OPEN_KEYS


def is_secret(name: str, value: str) -> bool:
    """Whether the value of a variable or option is a secret: its name says so, and it is no switch, number or file instead."""
    if not value or _REFERENCE.fullmatch(value) or value.lower() in _SWITCHES or not is_secret_name(name):
        return False
    strong = _STRONG.intersection(_split(name))
    if strong and not strong <= {"credential", "credentials"}:
        return True
    return not _PATH.fullmatch(value) and (bool(strong) or not _NUMBER.fullmatch(value))


def variable_name(name: str) -> str:
    """What a variable of the shell may be called that holds the value of an option, or of another variable, of that name."""
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        return name
    words = [w.upper() for w in _WORDS.findall(name)][-3:]
    made = "_".join(words) or "SECRET"
    return f"SECRET_{made}" if made[0].isdigit() else made


def parts_of_words(words: Sequence[str], *, lines: bool = True) -> list[list[Part]]:
    """Where secrets stand in each word of a command; with `lines` a word with blanks may be a line for a shell."""
    found: list[list[Part]] = [[] for _ in words]
    program = ""
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        before = words[i - 1] if i else ""
        if (whole := _assigned(word)) is not None:
            if not _is_line(word, before, lines):
                found[i].append(whole)
        elif _OPTION.fullmatch(word) and not _NEXT_OPTION.fullmatch(following) and is_secret(word, following):
            found[i + 1].append(Part(0, len(following), variable_name(word)))
        elif not word.startswith("-") and (
            (name := PurePosixPath(word).name) in _FOLLOWED or _ATTACHED_P.fullmatch(name)
        ):
            program = name
        elif program:
            found[i] += _attached(program, word)
            if following and word in (known := _FOLLOWED.get(program, {})):
                start = following.find(known[word]) + 1 if known[word] else 0
                if (start or not known[word]) and not _REFERENCE.fullmatch(following[start:]):
                    found[i + 1].append(Part(start, len(following), "PASSWORD"))
    # a word with blanks in it may be the text of another command
    return [
        _apart([*own, *(parts_of_text(word) if re.search(r"\s", word) else _inside(word))])
        for own, word in zip(found, words, strict=True)
    ]


def _is_line(word: str, before: str, lines: bool) -> bool:
    """Whether NAME=VALUE with blanks is a line for a shell that begins with a variable, and not all of it its value."""
    if not re.search(r"\s", word) or word.startswith("-"):
        return False
    variable = _ASSIGNED.fullmatch(before) and not re.search(r"\s", before)
    return before == "-c" or (lines and before not in _BEFORE_VARIABLES and not variable)


def _assigned(word: str) -> Part | None:
    """The secret up to the end of NAME=VALUE, --NAME=VALUE or --env=NAME=VALUE; None where the word is no such one."""
    at = 0
    while (assigned := _ASSIGNED.fullmatch(word, at)) is not None:
        if is_secret(assigned[1], assigned[2]):
            return Part(assigned.start(2), len(word), variable_name(assigned[1]))
        at = assigned.start(2)
    return None


def _attached(program: str, word: str) -> list[Part]:
    fits = len(word) > 2 and word.startswith("-p") and _ATTACHED_P.fullmatch(program) and not _OPTION_P.fullmatch(word)
    return [Part(2, len(word), "PASSWORD")] if fits and not _REFERENCE.fullmatch(word[2:]) else []


#: Long options that some spell with one dash.
_OPTION_P = re.compile(r"-p(ort|ipe|lugin|rotocol|rogress|ager|rint).*")


def parts_of_text(text: str) -> list[Part]:
    """Where secrets stand in a line for a shell, or in any other text."""
    found = []
    words = list(_shell_words(text))
    if len(words) > 1 or (words and words[0][0] != text):
        made = parts_of_words([word for word, _ in words], lines=False)
        for (_, places), parts in zip(words, made, strict=True):
            found += [Part(places[p.start], places[p.end - 1] + 1, p.name) for p in parts if p.end > p.start]
    elif (whole := _assigned(text)) is not None:
        found.append(whole)
    return _apart([*found, *_inside(text)])


def _inside(text: str) -> Iterator[Part]:
    """Secrets that show by what stands around them, or by themselves."""
    for found in _URL.finditer(text):
        if not _REFERENCE.fullmatch(found[1]):
            yield Part(found.start(1), found.end(1), "PASSWORD")
    for found in _HEADER.finditer(text):
        if not _REFERENCE.fullmatch(found[1]):
            yield Part(found.start(1), found.end(1), "TOKEN")
    for found in _NAMED.finditer(text):
        if is_secret_name(found[1]) and (value := _VALUE.match(text, found.end())) and is_secret(found[1], value[0]):
            yield Part(value.start(), value.end(), variable_name(found[1]))
    for found in _TOKENS.finditer(text):
        yield Part(found.start(), found.end(), "TOKEN")


def _apart(parts: Sequence[Part]) -> list[Part]:
    """The parts in their order; of those that overlap the first one, and of these the longest."""
    kept: list[Part] = []
    for part in sorted(parts, key=lambda p: (p.start, -p.end)):
        if not kept or part.start >= kept[-1].end:
            kept.append(part)
    return kept


def _shell_words(text: str) -> Iterator[tuple[str, list[int]]]:
    """The words of a text as a shell reads them, each with the place of every character; quotes may be left open."""
    word: list[str] = []
    places: list[int] = []
    quote, begun, at = "", False, 0
    while at < len(text):
        sign = text[at]
        if quote:
            if sign == quote:
                quote = ""
                at += 1
                continue
            if quote == '"' and sign == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`"):
                at += 1
        elif sign in "'\"":
            quote, begun = sign, True
            at += 1
            continue
        elif sign == "\\" and at + 1 < len(text):
            at += 1
        elif sign.isspace() or sign in ";|&()":
            if begun or word:
                yield "".join(word), places
            word, places, begun = [], [], False
            at += 1
            continue
        word.append(text[at])
        places.append(at)
        at += 1
    if begun or word:
        yield "".join(word), places
