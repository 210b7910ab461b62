# SPDX-License-Identifier: BSD-3-Clause
"""Names of secrets: which variables and options hold one, by their names, and what a variable with its value may be called.

What is mistaken for one costs a variable in a launch line; what is missed is there for all to read. So names
decide, and those that are known to be of something else (a size, a file, a key to sort by) do not count.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nodewise.base.late import late


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Words of a name that make it that of a secret, whatever the value; and those that do so at its end only.
_STRONG = _set(
    """
    password passwd passphrase passcode secret secrets token credential credentials apikey secretkey accesskey
    privatekey authtoken accesstoken
    """
)
_WEAK = frozenset(("key", "pass", "pwd", "pw", "cookie", "psk", "jwt", "bearer", "phrase"))
#: Those of them that mean one when they stand alone; PWD is a directory, `--pwd` may be either.
_ALONE = frozenset(("pass", "cookie", "psk", "jwt", "bearer"))
#: What a phrase is called that opens something.
_PHRASES = _set("seed pass recovery backup secret wallet mnemonic")
#: `--pin` is where threads are held, too; digits like these are nobody's processors.
_PIN = late(r"\d{4,12}")
#: What `--auth` says of how somebody is known, where it does not say by what.
_AUTH_KINDS = _set(
    """
    basic digest bearer ntlm negotiate kerberos krb5 gssapi spnego sspi oauth oauth1 oauth2 oidc saml ldap pam token jwt key
    keys apikey password cert certs certificate mtls tls ssl x509 md5 plain login anonymous anon munge trust peer ident
    iam aws azure gcp google github local file jwks sigv4 aws_sigv4 any auto default optional required disabled enabled
    """
)
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
#: Before `key` in one word, and no key of a table: authkey is auth-key.
_ONE_WORD = late(r"(auth|session|master|licen[cs]e|account|signing|encryption|storage|shared|app)(key)")
#: What opens for a while, and is no secret where it stands alone: `--otp`, `--sas`, STORAGE_SAS; and whose `pat` is no pattern.
_PASSES = _set("otp totp sas")
_OF_PATS = _set("github gh gitlab git azure ado devops ext bitbucket jira access user my")
#: What a number of a session looks like that opens nothing, and a pattern.
_SESSION, _GLOB = late(r"c?\d+"), late(r"[*?^|\\\[\]]")
#: Others, by the whole name.
_NAMES = frozenset(("REDISCLI_AUTH", "DOCKER_AUTH_CONFIG", "COMPOSER_AUTH", "_auth"))
_SWITCHES = _set("true false yes no on off none null")
_WORDS = late(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: A field to sort by, as sort(1) takes it: 2, 2,2n, 1.3.
_SORTED = late(r"\d+(\.\d+)?[bdfgiMhnRrV]*(,\d+(\.\d+)?[bdfgiMhnRrV]*)?")
_NUMBER = late(r"[+-]?\d+(\.\d+)?")
_PATH = late(r"(~|\.{1,2})?/.*|\.{1,2}|~|.*\.(pem|key|pub|crt|json|txt|ya?ml|ini|conf)", re.DOTALL)
#: What 64 signs are written with, and how many of them in a row no name of a file is likely to have mixed.
_BASE64, _DRAWN = late(r"[A-Za-z0-9+/]+"), 10
#: What stands for a value and is not one: a variable or command of the shell, a parameter, a mask.
_REFERENCE = late(r"\$(\w*|\{[^}]*\}|\(.*)|`.*`|\{[\w-]+\}|\*+|-|<masked:.*", re.DOTALL)
#: Such a thing where no shell reads it.
_LITERAL = late(r"\$.*|`.*`", re.DOTALL)


#: Names that are written in one word end in these, as PGPASSWORD and MYTOKEN do.
_ENDS = ("password", "passwd", "passphrase", "secret", "token", "sshpass", "dbpass", "storepass", "keypass")


def _split(name: str) -> list[str]:
    return list(_words_of(name))


# each command looks at the names of all variables
@lru_cache(maxsize=1024)
def _words_of(name: str) -> tuple[str, ...]:
    words = [word.lower() for word in _WORDS.findall(name)]
    # what a single letter is before is an option with its value: -psecret
    whole = ["password" if word.endswith(_ENDS) and not word[1:].startswith(_ENDS) else word for word in words]
    if not any(word.endswith(("key", "id")) for word in whole):
        return tuple(whole)
    return tuple(part for word in whole for part in _parts_of_word(word))


def _parts_of_word(word: str) -> tuple[str, ...]:
    if (found := _ONE_WORD.fullmatch(word)) is not None:
        return found[1], found[2]
    return ("session", "id") if word.endswith(("sessionid", "sessid")) else (word,)


def _is_pass(name: str, words: list[str]) -> bool:
    """Whether it names what opens for a while, or a session: --otp, STORAGE_SAS, GITHUB_PAT, --session-id."""
    if words[-2:] == ["session", "id"]:
        return True
    known = words[-1] in _PASSES or (words[-1] == "pat" and (len(words) == 1 or words[-2] in _OF_PATS))
    return known and (len(words) > 1 or name.startswith("-"))


def is_secret_name(name: str) -> bool:
    """Whether a variable or an option of that name holds a secret: DB_PASSWORD, --api-key, secretAccessKey."""
    words = _split(name)
    if name in _NAMES:
        return True
    if not words or words[0] in _NO_SECRET_IF_FIRST:
        return False
    while words[-1].isdigit() and len(words) > 1:
        words.pop()
    at = max((i for i, word in enumerate(words) if word in _STRONG), default=-1)
    if at >= 0:
        return not _ABOUT.intersection(words[at + 1 :])
    if _is_pass(name, words):
        return True
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last not in _WEAK or (last not in _ALONE and not before):
        # a word of two letters may be anything else
        return name.lstrip("-") in ("pwd", "Pwd") or name in ("--pw", "--key")
    if last == "phrase":
        return before in _PHRASES
    return last != "key" or before not in _OPEN_KEYS


def is_secret(name: str, value: str, *, literal: bool = False) -> bool:
    """Whether the value of a variable or option is a secret: its name says so, and it is no switch, number or file instead.

    What is `literal` no shell reads: `$ecret` is a value there.
    """
    if not value or is_reference(value, literal) or value.lower() in _SWITCHES:
        return False
    words = _split(name)
    if words == ["auth"]:
        # of a user's name with a password only that is one
        kind = value.lower() in _AUTH_KINDS or ":" in value
        return not kind and not _PATH.fullmatch(value) and not _NUMBER.fullmatch(value)
    if words[-1:] == ["pin"]:
        return _PIN.fullmatch(value) is not None
    if not is_secret_name(name) or (name == "--key" and _SORTED.fullmatch(value)):
        return False
    if words[-1:] in (["otp"], ["totp"]) and _NUMBER.fullmatch(value):
        return _PIN.fullmatch(value) is not None
    if (words[-1:] == ["id"] and _SESSION.fullmatch(value)) or (words[-1:] == ["pat"] and _GLOB.search(value)):
        return False
    strong = _STRONG.intersection(words)
    if name in _NAMES or (strong and not strong <= {"credential", "credentials"}):
        return True
    # a key that is written with 64 signs may begin as a path does
    path = _PATH.fullmatch(value) and not (value.endswith("=") or _is_drawn(value))
    return not path and (bool(strong) or not _NUMBER.fullmatch(value))


def _is_drawn(value: str) -> bool:
    """Whether a value is of 64 signs as drawn ones are: somewhere some in a row, of capitals, small letters and digits."""
    runs = value.replace("+", "/").split("/") if _BASE64.fullmatch(value) else []
    kinds = (str.isupper, str.islower, str.isdigit)
    return any(len(run) >= _DRAWN and all(any(map(kind, run)) for kind in kinds) for run in runs)


def is_reference(value: str, literal: bool = False) -> bool:
    """Whether a value only stands for another one: a variable of the shell, a parameter, a mask."""
    return bool(_REFERENCE.fullmatch(value)) and not (literal and _LITERAL.fullmatch(value))


def variable_name(name: str) -> str:
    """What a variable of the shell may be called that holds the value of an option, or of another variable, of that name."""
    if name.lstrip("-").lower() == "pwd":
        # the variable of that name is the directory
        return "PASSWORD"
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        return name
    words = [w.upper() for w in _WORDS.findall(name)][-3:]
    made = "_".join(words) or "SECRET"
    return f"SECRET_{made}" if made[0].isdigit() else made
