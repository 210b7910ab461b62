# SPDX-License-Identifier: BSD-3-Clause
"""Options of well-known programs whose value is a secret though their name does not say so: a table, and how it is read.

Most are of one letter, which is something else in other programs: `-p` is a port, a partition or a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from pathlib import PurePosixPath

from nodewise.base.frozen import dataclass
from nodewise.base.late import late


@dataclass(frozen=True)
class Rule:
    """What of some programs' words is a secret.

    `programs` is a pattern of names. Behind one of `options` stands the secret: in the next word, behind `=` after a long
    one, attached to a short one; in the same word alone with `attached`. With `behind` only what follows that sign is a
    secret, with `only_with` the value is one where it holds that sign, and with `value`, a pattern of values, its group is
    it. `flags` are letters that may stand before a short
    option in one word. `after` is a word that has to come first, as a subcommand does. `word` is a pattern of words that
    are no options; its group is the secret.

    `operand` is a place among the words that are no options, from the program or from `after` on: the secret is there,
    where there are at least `least` of them, and the letters of the short options fit `switched`. Behind the options
    `valued` stands a value.
    """

    programs: str
    options: str = ""
    attached: bool = False
    behind: str = ""
    only_with: str = ""
    value: str = ""
    flags: str = ""
    after: str = ""
    word: str = ""
    operand: int | None = None
    least: int = 1
    switched: str = ".*"
    valued: str = ""
    first: bool = False
    name: str = "PASSWORD"


_CURL_FLAGS = "#0123468BafGgIiJjkLlMNnOpqRSsvZ"
#: Whom a proxy knows, where no scheme is before it.
_PROXY_USER = r"[^\s:@/]+:(?!//)(.+)@[^@]+"
RULES = (
    Rule("curl", "-u --user -U --proxy-user -E --cert --proxy-cert", behind=":", flags=_CURL_FLAGS),
    Rule("curl", "-b --cookie", only_with="=", flags=_CURL_FLAGS, name="COOKIE"),
    Rule("curl", "--oauth2-bearer", name="TOKEN"),
    Rule("curl", "-x", value=_PROXY_USER, flags=_CURL_FLAGS),
    Rule("https?|xhs?|hey", "-a --auth", behind=":", flags="jfvhbdcIFS"),
    Rule("lftp", "-u --user", behind=",", flags="d"),
    Rule("ab", "-A -P", behind=":", flags="kqrlSdi"),
    Rule("ab", "-C", only_with="=", name="COOKIE", flags="kqrlSdi"),
    # a word apart is a database, and the password is asked for
    Rule(r"mysql\w*|mariadb[\w-]*|mydumper|myloader", "-p", attached=True, flags="ABbCEfGHLNnoqstvXjKkQxY"),
    Rule(r"mongo\w*|cqlsh|rdesktop|ncftp\w*", "-p"),
    Rule(r"(redis|valkey|keydb)-(cli|benchmark)|memtier_benchmark", "-a"),
    Rule("memtier_benchmark", "--authenticate"),
    Rule("etcdctl", "--user", behind=":"),
    Rule("sqlcmd|bcp|isql|osql|tsql|fisql", "-P"),
    Rule("sqlplus|sqlldr|rman|expdp|impdp", word=r"(?:userid=)?[\w.$#]+/([^@\s]+)(?:@.*)?"),
    Rule("sshpass", "-p", first=True, flags="v"),
    Rule("plink|pscp|psftp|putty", "-pw"),
    Rule(r"ldap(search|add|modify|delete|compare|modrdn|whoami|passwd|exop)", "-w", flags="VCcvnutALxZMIQNWakr"),
    Rule("ipmitool", "-P", flags="vc"),
    Rule(r"snmp(get|getnext|bulkget|walk|bulkwalk|set|table|status|trap|inform|test)", "-c -A -X"),
    Rule(r"smb(client|get|cacls|tree|cquotas)|rpcclient|net", "-U --user", behind="%"),
    Rule("xfreerdp3?|wlfreerdp3?", word=r"/p:(.+)"),
    Rule(r"mosquitto_(pub|sub|rr)", "-P"),
    Rule("zip", "-P", flags="0123456789ADFJSTXcdefgjklmoqruvyz@"),
    Rule("unzip|zipcloak|funzip", "-P", flags="ABCDFGIKLMNTUVWXacfjlnopqstuvz2:^$/"),
    Rule(r"pdf\w+", "-upw -opw"),
    Rule("7z[arz]?", "-p", attached=True),
    Rule("rar|unrar", "-p -hp", attached=True),
    Rule("openssl", "-k -K"),
    Rule("openssl", "-hmac", name="KEY"),
    Rule("openssl", word=r"(?:hex)?key:(.+)", after="-macopt", name="KEY"),
    Rule("openssl", word=r"pass:(.+)"),
    Rule("docker|podman|nerdctl|buildah|skopeo|helm|oc|az|crane|oras|regctl", "-p", after="login"),
    Rule("podman|buildah|skopeo", "--creds --src-creds --dest-creds", behind=":"),
    Rule("vault", word=r"(hvs\..+|s\..+)", after="login", name="TOKEN"),
    # by any other method it is asked for, or stands behind a name
    Rule(
        "vault",
        operand=0,
        after="login",
        switched="(?!.*method=?(?!token)).*",
        valued="-address -namespace -path -field -format -ca-cert -ca-path -client-cert -client-key -tls-server-name",
        name="TOKEN",
    ),
    Rule("htpasswd", operand=2, least=3, switched="[^n]*b[^n]*", valued="-C -r"),
    Rule("htpasswd", operand=1, least=2, switched=".*(n.*b|b.*n).*", valued="-C -r"),
    Rule("mosquitto_passwd", operand=2, least=3, switched=".*b.*", valued="-H -I"),
    Rule("wpa_passphrase", operand=1, least=2),
    Rule("rabbitmqctl", operand=1, least=2, after="add_user"),
    Rule("rabbitmqctl", operand=1, least=2, after="change_password"),
    Rule("rabbitmqctl", operand=1, least=2, after="authenticate_user"),
    Rule("mysqladmin|mariadb-admin", operand=0, after="password"),
    Rule("redis-cli|valkey-cli|keydb-cli", operand=-1, after="auth"),
    Rule("redis-cli|valkey-cli|keydb-cli", operand=-1, after="AUTH"),
    Rule("openssl", operand=0, after="passwd", valued="-salt -in"),
    Rule("mc", operand=3, least=4, after="set", valued="--api --path"),
    Rule("isql", operand=2, least=3),
    Rule("twine", "-p", after="upload"),
    Rule("yt-dlp|youtube-dlc?", "-p -2 --twofactor"),
    Rule("beeline", "-p"),
    Rule("gem", "-k --key", after="push", name="API_KEY"),
    Rule("dotnet|nuget", "-k -sk -ApiKey", after="push", name="API_KEY"),
    Rule("nuget", operand=0, after="setApiKey", valued="-Source -ConfigFile -Verbosity", name="API_KEY"),
    Rule("cargo", operand=0, after="login", valued="--registry --color --config -Z", name="TOKEN"),
    Rule(
        "ansible-vault",
        operand=0,
        after="encrypt_string",
        valued="--vault-id --vault-password-file --vault-pass-file --encrypt-vault-id --name -n --stdin-name --output",
    ),
    Rule("qpdf", operand=0, least=3, after="--encrypt"),
    Rule("qpdf", operand=1, least=3, after="--encrypt"),
    Rule("nmcli", "password wifi-sec.psk 802-11-wireless-security.psk"),
    Rule("ssh-keygen", "-N -P", flags="qvpycleiBHL"),
    Rule("slappasswd", "-s"),
    Rule("kadmin", "-w"),
    Rule("(user|group)(add|mod)", "-p", flags="mMrNlULDoaf"),
    Rule("kubectl", "--from-literal", behind="="),
    Rule("wandb", word=r"([0-9a-f]{40,})", after="login", name="TOKEN"),
)
#: What means the same in any program, with one dash or with two.
_ANYWHERE = (
    Rule(
        ".*",
        "--auth --http-auth --basic-auth --proxy-auth --login --cred --creds --userpass",
        value=r"[^:]*:(?!//)(.+)",
    ),
    Rule(
        ".*",
        "--proxy --preproxy --http-proxy --https-proxy --proxy-server --socks5 --socks5-hostname",
        value=_PROXY_USER,
    ),
)
_OPTIONS_ANYWHERE = {option.lstrip("-"): rule for rule in _ANYWHERE for option in rule.options.split()}


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Programs with names that are ordinary words elsewhere: known where a command begins only.
_ORDINARY = _set("ab az http https hey net oc putty rar vault zip helm crane mc")
#: What only names other programs.
_NAMING = _set(
    """
    man which whereis type echo printf grep egrep fgrep rg apt apt-get dnf yum apk brew pip install dpkg rpm ls file
    whatis apropos pgrep pkill killall ldd
    """
)
#: What starts another program that its later words name.
_STARTING = _set(
    """
    env time nice ionice nohup sudo doas su srun mpirun mpiexec mpiexec.hydra orterun prterun taskset numactl timeout
    stdbuf strace ltrace perf setsid unshare nsenter chroot chrt prlimit xargs exec command parallel watch hyperfine
    nodewise likwid-pin likwid-perfctr aprun jsrun ibrun flux then do else ! if while until -- eval bash sh dash zsh ksh
    """
)
#: What ends a command in a line for a shell.
SEPARATORS = frozenset((";", "|", "&", "(", ")", "\n"))
#: What writes its words into a pipe, and what reads a secret from there: a program, with one of its words.
_WRITING = frozenset(("echo", "printf"))
_READING = (
    ("sudo", r"-[A-Za-z]*S[A-Za-z]*|--stdin"),
    ("passwd|smbpasswd", r"--stdin|-[a-z]*s[a-z]*"),
    ("chpasswd|su", ""),
    (r".*", r"--[\w-]*(password|passphrase|token|secret|pass)-stdin|--with-token|--passphrase-fd=0"),
    ("openssl", "stdin"),
    ("cryptsetup", ".*"),
    ("htpasswd", r"-[a-zA-Z]*i[a-zA-Z]*"),
)
#: Long options that some programs spell with one dash.
_LONG_P = late(r"-p(ort|ipe|lugin|rotocol|rogress|ager|rint|rompt|layer).*")
_REDIRECTION = late(r"\d*[<>]")
_ASSIGNMENT = late(r"[A-Za-z_]\w*=.*", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """A secret in the word of that number, from `start` up to `end`; `name` is what it may be called."""

    word: int
    start: int
    end: int
    name: str


def secrets_by_program(words: Sequence[str]) -> Iterator[Found]:
    """Where secrets stand among the words of a command, or of several with separators between them."""
    yield from _piped(words)
    rules: list[Rule] = []
    begin, begun, starting, naming = 0, False, False, False
    for i, word in enumerate(words):
        if word in SEPARATORS:
            rules, begin, begun, starting, naming = [], i, False, False, False
            continue
        name = PurePosixPath(word).name
        if not (begun and word.startswith("-") and word != "--") and not _ASSIGNMENT.fullmatch(word):
            known = not naming and "://" not in word and not (name in _ORDINARY and begun and not starting)
            new = [rule for rule in (_rules_of(name) if known else ()) if rule not in rules]
            naming = naming or (not begun and name in _NAMING)
            starting = starting or name in _STARTING
            begun = True
            # one may start the other, or be named for it
            rules += new
            for rule in new:
                if rule.operand is not None and (at := _operand(rule, words, i)) is not None and words[at]:
                    yield Found(at, 0, len(words[at]), rule.name)
            if new:
                continue
        if word.startswith("-") and (anywhere := _OPTIONS_ANYWHERE.get(_name_of(word))) is not None:
            yield from _by_rule(anywhere, words, i)
        for rule in [*rules]:
            found = list(_by_rule(rule, words, i)) if not rule.after or rule.after in words[begin:i] else []
            yield from found
            if found and rule.first:
                rules.remove(rule)


def _name_of(option: str) -> str:
    return option.partition("=")[0].lstrip("-")


def _piped(words: Sequence[str]) -> Iterator[Found]:
    """What is written for a program that reads a secret: echo x | sudo -S y, sudo -S y <<< x."""
    commands, begin = [], 0
    for end in [*(i for i, word in enumerate(words) if word in SEPARATORS), len(words)]:
        commands.append((begin, end))
        begin = end + 1
    for k, (begin, end) in enumerate(commands):
        if not _reads_a_secret(words[begin:end]):
            continue
        for i in range(begin, end):
            if words[i].startswith("<<<"):
                at, start = (i, 3) if len(words[i]) > 3 else (i + 1, 0)
                yield from _written(words, at, start) if at < end else ()
        first, last = commands[k - 1] if k else (0, 0)
        if k and last < len(words) and words[last] == "|" and first < last and words[first] in _WRITING:
            plain = [i for i in range(first + 1, last) if not re.fullmatch("-[neE]+|--", words[i])]
            # the format is none where something is put into it
            for at in plain[1:] if words[first] == "printf" and len(plain) > 1 else plain:
                yield from _written(words, at, 0)


def _written(words: Sequence[str], at: int, start: int) -> Iterator[Found]:
    end = len(words[at]) - (2 if words[at].endswith("\\n") else 0)
    if end > start:
        yield Found(at, start, end, "PASSWORD")


def _reads_a_secret(command: Sequence[str]) -> bool:
    """Whether it reads one from its standard input."""
    names = {PurePosixPath(word).name for word in command[:4]}
    for program, option in _READING:
        known = program == ".*" or any(re.fullmatch(program, name) for name in names)
        if known and (not option or any(re.fullmatch(option, word) for word in command)):
            return True
    return False


@lru_cache(1000)
def _rules_of(name: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in RULES if _may_fit(rule.programs, name) and re.fullmatch(rule.programs, name))


def _may_fit(pattern: str, name: str) -> bool:
    """Whether a name begins as one of the alternatives does: most patterns need not be compiled to see that none fits."""
    return "(" in pattern or name.startswith(_beginnings(pattern))


@cache
def _beginnings(pattern: str) -> tuple[str, ...]:
    """What names begin with that fit the alternatives of a rule."""
    return tuple(map(_beginning, pattern.split("|")))


def _beginning(pattern: str) -> str:
    """The letters that all begin with which a pattern without groups fits."""
    plain = next((i for i, sign in enumerate(pattern) if not (sign.isalnum() or sign in "-_")), len(pattern))
    # a sign that may be missing
    return pattern[: plain - 1 if pattern[plain : plain + 1] in ("?", "*", "{") else plain]


def _by_rule(rule: Rule, words: Sequence[str], i: int) -> Iterator[Found]:
    word = words[i]
    if rule.word and (found := re.fullmatch(rule.word, word, re.DOTALL)) is not None:
        yield Found(i, found.start(1), found.end(1), rule.name)
    following = words[i + 1] if i + 1 < len(words) and words[i + 1] not in SEPARATORS else ""
    # with one dash or with two where any program may have it
    options = [f"{word[: 1 + word.startswith('--')]}{_name_of(word)}"] if rule in _ANYWHERE else rule.options.split()
    for option in options:
        short = len(option) == 2
        bare = option if not (short and rule.flags) else _cluster(rule, option, word)
        at, start = i, 0
        if word == bare and not rule.attached and following:
            at = i + 1
        elif not short and not rule.attached and word.startswith(f"{option}="):
            start = len(option) + 1
        elif (
            (short or rule.attached) and word.startswith(bare) and len(word) > len(bare) and not _LONG_P.fullmatch(word)
        ):
            start = len(bare)
        else:
            continue
        if rule.behind:
            start = words[at].find(rule.behind, start) + 1
        if rule.value:
            if (found := re.compile(rule.value, re.DOTALL).fullmatch(words[at], start)) is not None:
                yield Found(at, *found.span(1), rule.name)
            continue
        if (rule.behind and not start) or rule.only_with not in words[at][start:] or start == len(words[at]):
            continue
        yield Found(at, start, len(words[at]), rule.name)


def _operand(rule: Rule, words: Sequence[str], program: int) -> int | None:
    """Which word is the operand that a rule means, of the command of which that word is the program; None where none is."""
    end = next(
        (i for i in range(program, len(words)) if words[i] in SEPARATORS or _REDIRECTION.match(words[i])), len(words)
    )
    begin = program + 1
    if rule.after:
        if rule.after not in words[begin:end]:
            return None
        begin = words.index(rule.after, begin) + 1
    found, letters, plain = [], "", False
    for i in range(begin, end):
        if plain or not re.match("-.", words[i]):
            if plain or words[i - 1] not in rule.valued.split():
                found.append(i)
        elif words[i] == "--":
            plain = True
        elif not words[i].startswith("--"):
            letters += words[i][1:]
    fits = len(found) >= rule.least and re.fullmatch(rule.switched, letters)
    return found[rule.operand or 0] if fits else None


def _cluster(rule: Rule, option: str, word: str) -> str:
    """The beginning of a word that is a short option, with others before it that take no value: -sSu."""
    found = re.match(rf"-[{re.escape(rule.flags)}]*{option[1]}", word)
    return found[0] if found else option
