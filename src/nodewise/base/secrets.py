# SPDX-License-Identifier: BSD-3-Clause
"""Secrets: where they stand among the words of a command and in other texts, by names, by programs and by their own shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache

from nodewise.base.frozen import dataclass
from nodewise.base.late import late
from nodewise.base.secret_names import is_reference, is_secret, is_secret_name, variable_name
from nodewise.base.secret_options import SEPARATORS, secrets_by_program

#: What is found in longer texts is not kept.
_KEPT = 4096
_OPTION = late(r"--?[A-Za-z][\w.-]*")
#: What variables follow, each a word of its own.
_BEFORE_VARIABLES = ("env", "export", "-e", "-x", "-E", "--env", "--env-axis", "-P", "-genv", "-env")
#: Behind an option another one, and no value.
_NEXT_OPTION = late(r"--[A-Za-z].*|-[A-Za-z]", re.DOTALL)
_ASSIGNED = late(r"(-{0,2})([A-Za-z_][\w.-]*)=(.*)", re.DOTALL)
#: What a variable's name and its value follow as two words; fish's and others' `set` may have options of its own.
_SETTING = frozenset(("-genv", "-env", "setenv", "--setenv", "-setenv", "setx"))
_OF_SET = late(r"-[A-Za-z]+|--(export|global|universal|local|function|unexport)")
#: Options of one letter to which NAME=VALUE is attached: -Dpassword=x.
_BEFORE_NAMES = frozenset("DPJVXeExocs")
#: What no other text looks like: tokens of well-known services, signed ones (RFC 7519), private keys (RFC 7468).
_TOKENS = late(
    r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|hf_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|A[KS]IA[A-Z0-9]{16}(?![A-Z0-9])|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"
    r"|AIza[\w-]{35}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{40,}|hvs\.[\w-]{20,}|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"
    r"|SG\.[\w-]{16,}\.[\w-]{16,}|dckr_pat_[\w-]{20,}|dop_v1_[0-9a-f]{40,})"
)
#: Addresses that whoever knows them may write to: of Slack, Discord and Telegram.
_HOOKS = late(
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[\w-]+/)*([\w-]+)"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d+/([\w-]+)|api\.telegram\.org/(?:file/)?bot(\d+:[\w-]+)"
)
_PRIVATE_KEY = late(
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(.{1,6000}?)-----END [A-Z ]{0,30}PRIVATE KEY-----", re.DOTALL
)
#: What stands behind the user's name in a URL. A slash may be in it where no port is, but then a sign `@` follows.
_URL = late(r"(?<![\w+.-])[A-Za-z][\w+.-]*://[^\s/:@?#'\"]*:(?:([^\s/'\"]+)@|(?!\d+/|[${])([^\s@'\"]{1,300})@[\w.\[])")
#: A user that is nobody's name, but a token: 16 signs with a letter and a digit, or 24 of any kind, and not over ssh, where a key
#: decides.
_URL_USER = late(
    r"(?<![\w+.-])(?!(?:\w+\+)?ssh:)[A-Za-z][\w+.-]*://"
    r"((?=[A-Za-z_+=%-]*\d)(?=[\d_+=%-]*[A-Za-z])[\w+=%-]{16,300}|[\w+=%-]{24,300})@"
)
#: The same of drivers that write no URL: me:secret@tcp(host:1), jdbc:oracle:thin:me/secret@host.
_DRIVER = late(r"(?<![\w.%-])[\w.%-]{1,100}:([^\s'\"@]{1,300})@(?:tcp|unix|udp)\(|jdbc:oracle:\w+:[\w.$#]+/([^\s@]+)@")
#: Whom a proxy knows, in a variable or setting that has no scheme: https_proxy=me:secret@host.
_PROXY = late(r"(?i:proxy)[\"']?[ \t]*[=:][ \t]*[\"']?[\w.%-]{1,100}:([^\s'\"@/]{1,300})@(?=[\w.\[])")
#: Names in a URL's query that are those of secrets there, with the least length that tells one from another thing.
_QUERY = {"sig": 1, "signature": 1, "auth": 1, "jwt": 1, "sas": 1, "apikey": 1, "code": 20, "key": 20}
_IN_QUERY = late(r"[?&;]([\w.~-]+)=([^&\s#'\"<>]+)")
_SCHEME = "bearer|basic|token|digest|negotiate|apikey|key|aws4-hmac-sha256|splunk|ssws|hawk|oauth"
_HEADER = late(rf"(?:proxy-)?authorization[\"']?\s*[:=]\s*[\"']?(?:(?:{_SCHEME})\s+)?([^\s'\"]+)", re.IGNORECASE)
#: A word that is a header of HTTP, alone or behind the option or the setting that sends it.
_HEADER_WORD = late(
    r"(?:-H|-{0,2}[A-Za-z][\w.-]*=)?\s*(?:(?:proxy-)?authorization\s*:\s*(?:[A-Za-z][\w-]*\s+)?(?P<whole>\S.*)"
    r"|(?:set-)?cookie\s*:\s*(?P<cookies>\S.*))",
    re.IGNORECASE | re.DOTALL,
)
#: NAME=VALUE, NAME: VALUE and "NAME": "VALUE" within a text, also where its quotes are escaped; NAME = VALUE and
#: of['NAME'] = VALUE as programs and their settings have it. Behind NAME= a blank ends an empty value, but before a quote.
_NAMED = late(
    r"(?<![\w.-])(-{0,2})([A-Za-z_][\w.-]*)(?:\\{0,3}[\"'])?"
    r"(?:=(?:[ \t]+(?=\\{0,3}[\"']))?|[\]}]?(?P<apart>[ \t]{0,40}(?:[:?]?=(?![=~>])|=>)[ \t]*)|[ \t]*:(?!//)[ \t]*)"
    r"(\\{0,3}[\"']|\{)?"
)
#: Behind an unquoted value, what shows that it is a piece of a program: f(x), a[i], a + b.
_EXPRESSION = late(r"[\[({]|[ \t]+[-+*/%?][ \t]")
#: A call that sets a variable: putenv("NAME", "VALUE").
_SET_BY_CALL = late(
    r"(?i:putenv|setenv|setdefault|setproperty|setattr)\((?:[^\W\d][\w.]*,[ \t]*)?\\{0,3}[\"']([A-Za-z_][\w.-]*)"
    r"\\{0,3}[\"'][ \t]*,[ \t]*\\{0,3}[\"']([^\"'\\\n]+)"
)
#: A text without one of these signs, and shorter than any token, holds nothing that shows by what stands around it.
_SIGNS = late(r"[:=/]")
_SHORTEST_TOKEN = 15
_VALUE = late(r"[^\s,;&'\"(){}|<>]+")
_ELEMENT = late(r"<([A-Za-z_][\w.:-]*)>([^<>]+)</")
#: Where to connect to, in a line of keys and values with `;` between them: a value may hold blanks, and PWD is a password.
_CONNECTION = late(
    r"(?:-{0,2}[A-Za-z][\w.-]{0,60}=(?=[A-Za-z][\w .+-]*[:=]))?(?:[A-Za-z][\w.+-]{0,30}:){0,3}(?://[^;=\s]*;)?"
    r"(?P<body>\s*[A-Za-z][\w .-]*=[^;]*(?:;\s*[A-Za-z][\w .-]*=(?:\{[^}]*\}|\"[^\"]*\"|'[^']*'|[^;]*))+;?\s*)"
)
_LONGEST_CONNECTION = 5000
#: What a backslash takes the meaning of between double quotes.
_ESCAPED = ('"', "\\", "$", "`")
_KEY_OF_CONNECTION = late(
    r"(?:^|;)\s*(?:server|data source|host|hostname|addr|address|endpoint|driver|provider|dsn|uid|user|user id|username"
    r"|database|initial catalog|accountname|defaultendpointsprotocol)\s*=",
    re.IGNORECASE,
)
_IN_CONNECTION = late(r"(?:^|;)\s*([A-Za-z][\w .-]*?)\s*=\s*(\{[^}]*\}|\"[^\"]*\"|'[^']*'|[^;]*)")
#: What follows this option of nodewise's own is a name with a pattern: neither is a secret.
_PATTERN_OPTION = "--metric"


@dataclass(frozen=True)
class Part:
    """A secret within a text, from `start` up to `end`; `name` is what a variable with its value may be called.

    `value` is what it is where quotes and backslashes in the text are a shell's; None where it stands there as it is.
    """

    start: int
    end: int
    name: str
    value: str | None = None


@dataclass
class _Word:
    """A word of a shell's line, from `begin` up to `end` in that: of each character where it is spelled, within which quote,
    and whether it has a meaning of its own for the shell, as `$` has where no quote takes that away."""

    begin: int
    end: int
    text: str = ""
    spelled: list[tuple[int, int]] = field(default_factory=list)
    quotes: list[str] = field(default_factory=list)
    active: list[bool] = field(default_factory=list)

    def add(self, sign: str, start: int, end: int, quote: str, active: bool) -> None:
        self.text += sign
        self.spelled.append((start, end))
        self.quotes.append(quote)
        self.active.append(active)

    def part(self, part: Part) -> Part:
        """A part of the word as one of the line; it begins and ends within the same quotes, the whole word where it must."""
        begins, ends = self.quotes[part.start], self.quotes[part.end - 1]
        start, end = self.spelled[part.start][0], self.spelled[part.end - 1][1]
        value = self.text[part.start : part.end]
        if begins != ends and not begins and part.end == len(self.text):
            end = self.end
        elif begins != ends:
            start, end, value = self.begin, self.end, self.text
        return Part(start, end, part.name, value)


def parts_of_words(words: Sequence[str]) -> list[list[Part]]:
    """Where secrets stand in each word of a command; a word with blanks may be a line for a shell."""
    return [list(parts) for parts in _parts_of_words(tuple(words))]


# the settings of an experiment have most of their words in common
@lru_cache(maxsize=512)
def _parts_of_words(words: tuple[str, ...]) -> list[list[Part]]:
    return _of_words(words, [[False] * len(word) for word in words], lines=True)


def _of_words(words: Sequence[str], active: Sequence[Sequence[bool]], *, lines: bool) -> list[list[Part]]:
    """Where secrets stand in words, of each of which it is known what a shell takes for more than itself."""
    found: list[list[Part]] = [[] for _ in words]
    literals = [not any(signs) for signs in active]
    for i, word in enumerate(words):
        following = words[i + 1] if i + 1 < len(words) else ""
        before = words[i - 1] if i else ""
        if ":" in word and (header := _HEADER_WORD.fullmatch(word)) is not None:
            found[i] += _of_header(header, literals[i])
        elif (whole := _assigned(word, literal=literals[i])) is not None:
            if not _is_line(word, before, lines):
                found[i] += _single(word, whole)
        elif (
            (_OPTION.fullmatch(word) or _sets_the_next(words, i))
            and not _NEXT_OPTION.fullmatch(following)
            and following not in SEPARATORS
            and is_secret(word, following, literal=literals[i + 1 : i + 2] != [False])
        ):
            found[i + 1] += _single(following, Part(0, len(following), variable_name(word)))
    for one in secrets_by_program(words):
        if not is_reference(words[one.word][one.start : one.end], literals[one.word]):
            found[one.word] += _single(words[one.word], Part(one.start, one.end, one.name))
    # a word with blanks in it may be the text of another command
    made = [
        _apart([*own, *(_of_line(word, signs) if re.search(r"\s", word) else _inside(word, not any(signs)))])
        for own, word, signs in zip(found, words, active, strict=True)
    ]
    for i, word in enumerate(words):
        if word.startswith(f"{_PATTERN_OPTION}=") or (i and words[i - 1] == _PATTERN_OPTION):
            made[i] = []
    return made


def _sets_the_next(words: Sequence[str], i: int) -> bool:
    """Whether a word is a variable's name and the next one its value: -genv NAME VALUE, setenv NAME VALUE, set -x NAME VALUE."""
    at = i - 1
    while at > 0 and i - at < 4 and _OF_SET.fullmatch(words[at]):
        at -= 1
    return i > 0 and (words[i - 1] in _SETTING or words[at] == "set")


def _of_header(header: re.Match[str], literal: bool) -> list[Part]:
    if header["whole"] is not None:
        value = header["whole"]
        return [] if is_reference(value, literal) else [Part(*header.span("whole"), "TOKEN")]
    return _cookies(header["cookies"], header.start("cookies"))


def _single(text: str, part: Part) -> list[Part]:
    """A secret, or those that it consists of."""
    value = text[part.start : part.end]
    return _cookies(value, part.start) if part.name.endswith("COOKIE") and "=" in value else [part]


def _cookies(text: str, start: int) -> list[Part]:
    """The values of cookies; their names stay."""
    values = [m for m in re.finditer(r"=([^;]+)", text) if not is_reference(m[1])]
    return [Part(start + m.start(1), start + m.end(1), "COOKIE") for m in values]


def _is_line(word: str, before: str, lines: bool) -> bool:
    """Whether NAME=VALUE with blanks is a line for a shell that begins with a variable, and not all of it its value."""
    if not re.search(r"\s", word) or word.startswith("-"):
        return False
    variable = _ASSIGNED.fullmatch(before) and not re.search(r"\s", before)
    return before == "-c" or (lines and before not in _BEFORE_VARIABLES and not variable)


def _assigned(word: str, *, literal: bool = False) -> Part | None:
    """The secret up to the end of NAME=VALUE, --NAME=VALUE or --env=NAME=VALUE; None where the word is no such one."""
    at = 0
    while (assigned := _ASSIGNED.fullmatch(word, at)) is not None:
        if (name := _named(assigned[1], assigned[2], assigned[3], literal)) is not None:
            return Part(assigned.start(3), len(word), name)
        at = assigned.start(3)
    return None


def _named(dashes: str, name: str, value: str, literal: bool = False) -> str | None:
    """What a variable with that value may be called, where the name says that it is a secret; None where it says none."""
    attached = dashes == "-" and name[0] in _BEFORE_NAMES
    for spelled in [name[1:], name] if attached else [name]:
        if is_secret(f"--{spelled}" if dashes == "--" else spelled, value, literal=literal):
            return variable_name(spelled)
    return None


def parts_of_text(text: str) -> list[Part]:
    """Where secrets stand in a line for a shell, or in any other text."""
    return list(_parts_of_text(text)) if len(text) <= _KEPT else _of_shell_words(text, None)


@lru_cache(maxsize=4096)
def _parts_of_text(text: str) -> list[Part]:
    return _of_shell_words(text, None)


def _of_line(text: str, active: Sequence[bool]) -> list[Part]:
    """Where secrets stand in a word that may be a line for another shell: there they are as they stand in that line."""
    return [replace(part, value=None) for part in _of_shell_words(text, active)]


def _of_shell_words(text: str, active: Sequence[bool] | None) -> list[Part]:
    words = list(_shell_words(text, active))
    found: list[Part] = []
    if len(words) > 1 or (words and words[0].text != text):
        made = _of_words([word.text for word in words], [word.active for word in words], lines=False)
        found = [word.part(p) for word, parts in zip(words, made, strict=True) for p in parts if p.end > p.start]
    elif (whole := _assigned(text)) is not None:
        found = _single(text, whole)
    return _apart([*found, *_inside(text)])


def _inside(text: str, literal: bool = False) -> Iterator[Part]:
    """Secrets that show by what stands around them, or by themselves; what is `literal` no shell reads."""
    if len(text) < _SHORTEST_TOKEN and not _SIGNS.search(text):
        return
    for pattern in (_URL, _DRIVER, _PROXY):
        for found in pattern.finditer(text):
            group = found.lastindex or 0
            if not is_reference(found[group], literal):
                yield Part(*found.span(group), "PASSWORD")
    for found in _HOOKS.finditer(text):
        yield Part(*found.span(found.lastindex or 0), "TOKEN")
    for found in _URL_USER.finditer(text):
        yield Part(found.start(1), found.end(1), "TOKEN")
    for found in _HEADER.finditer(text):
        if not is_reference(found[1], literal):
            yield Part(found.start(1), found.end(1), "TOKEN")
    for found in _ELEMENT.finditer(text):
        if is_secret(found[1], found[2], literal=literal):
            yield Part(found.start(2), found.end(2), variable_name(found[1]))
    for found in _TOKENS.finditer(text):
        yield Part(found.start(), found.end(), "TOKEN")
    for found in _PRIVATE_KEY.finditer(text):
        yield Part(found.start(1), found.end(1), "PRIVATE_KEY")
    yield from _by_name(text, literal)
    yield from _of_connection(text, literal)


def _by_name(text: str, literal: bool) -> Iterator[Part]:
    """Secrets behind their names."""
    for found in _IN_QUERY.finditer(text):
        least = _QUERY.get(found[1].lower(), 1 if found[1].lower().endswith("-signature") else 0)
        if least and len(found[2]) >= least and not is_reference(found[2], literal):
            yield Part(found.start(2), found.end(2), variable_name(found[1]))
    for found in _SET_BY_CALL.finditer(text):
        if is_secret(found[1], found[2], literal=literal):
            yield Part(*found.span(2), variable_name(found[1]))
    at = 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        if _is_pattern(text, named.start()) or not (is_secret_name(named[2]) or is_secret_name(named[2][1:])):
            continue
        start, end = _value_of(text, named)
        if (name := _named(named[1], named[2], text[start:end], literal)) is not None:
            yield from _single(text, Part(start, end, name))
            # what is in it is no other one
            at = max(at, end)


def _is_pattern(text: str, at: int) -> bool:
    """Whether what begins there follows an option that takes a pattern."""
    return text[max(0, at - len(_PATTERN_OPTION) - 3) : at].rstrip("'\"= ").endswith(_PATTERN_OPTION)


def _value_of(text: str, named: re.Match[str]) -> tuple[int, int]:
    """From where to where a value stands: up to the quote that closes it, or to what cannot be in one."""
    start, sign = named.end(), named[4] or ""
    if sign and sign != "{":
        closing = re.compile(rf"(?:\\[^\"'\n]|[^\\\n]){{0,4000}}?(?={re.escape(sign)})")
        if (quoted := closing.match(text, start)) is not None:
            return start, quoted.end()
    plain = _VALUE.match(text, start)
    if sign == "{" and plain is not None and text[plain.end() : plain.end() + 1] == "}":
        # a parameter, and no value
        return start, start
    if plain is None or (named["apart"] and _EXPRESSION.search(text, start, plain.end() + 3)):
        return start, start
    # in a URL what is behind is the place in a page
    part = text.find("#", start, plain.end()) if text[named.start() - 1 : named.start()] in ("?", "&") else -1
    return start, part if part >= 0 else plain.end()


def _of_connection(text: str, literal: bool) -> Iterator[Part]:
    if (
        ";" not in text
        or len(text) > _LONGEST_CONNECTION
        or (connection := _CONNECTION.fullmatch(text)) is None
        or not _KEY_OF_CONNECTION.search(connection["body"])
    ):
        return
    for found in _IN_CONNECTION.finditer(connection["body"]):
        name, value, start = found[1], found[2].rstrip(), connection.start("body") + found.start(2)
        if len(value) > 2 and value[0] in "\"'{":
            value, start = value[1:-1], start + 1
        known = (value and name.upper() == "PWD") or is_secret(name, value, literal=literal)
        if known and not is_reference(value, literal):
            yield Part(start, start + len(value), "PASSWORD" if name.upper() == "PWD" else variable_name(name))


def _apart(parts: Sequence[Part]) -> list[Part]:
    """The parts in their order; of those that overlap the first one, and of these the longest."""
    kept: list[Part] = []
    for part in sorted(parts, key=lambda p: (p.start, -p.end)):
        if not kept or part.start >= kept[-1].end:
            kept.append(part)
    return kept


def _shell_words(text: str, outer: Sequence[bool] | None = None) -> Iterator[_Word]:
    """The words of a text as a shell reads them; quotes may be left open.

    `outer` says of each character whether a shell before this one has given it a meaning.
    """
    word = None
    quote, at = "", 0
    while at < len(text):
        sign, start = text[at], at
        if quote and sign == quote:
            quote = ""
            at += 1
            assert word is not None
            word.end = at
            continue
        escaped = False
        if not quote and sign in "'\"":
            quote = sign
            word = word or _Word(at, at)
            at += 1
            continue
        if not quote and (sign.isspace() or sign in ";|&()"):
            if word is not None:
                yield word
            if sign in SEPARATORS:
                yield _Word(at, at + 1, sign, [(at, at + 1)], [""], [False])
            word = None
            at += 1
            continue
        if sign == "\\" and (at + 1 < len(text) if not quote else quote == '"' and text[at + 1 : at + 2] in _ESCAPED):
            at += 1
            escaped = True
        word = word or _Word(start, at)
        means = text[at] in "$`" and not escaped and quote != "'"
        word.add(text[at], start, at + 1, quote, means or bool(outer and outer[at]))
        at += 1
        word.end = at
    if word is not None:
        yield word
