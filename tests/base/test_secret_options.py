# SPDX-License-Identifier: BSD-3-Clause
"""Spellings of secrets: each is masked exactly where it stands and comes back; what only looks like one stays."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from nodewise.base import secret_options
from nodewise.base.masking import MASK, Masks, shell_text
from nodewise.base.secret_options import RULES, Rule, secrets_by_program
from tests.examples import examples

#: Programs that the patterns of the table mean, one each.
_PROGRAMS = {
    "https?|xhs?|hey": "xh",
    r"mysql\w*|mariadb[\w-]*|mydumper|myloader": "mysqldump",
    r"mongo\w*|cqlsh|rdesktop|ncftp\w*": "mongodump",
    "(redis|valkey|keydb)-(cli|benchmark)|memtier_benchmark": "redis-cli",
    "sqlcmd|bcp|isql|osql|tsql|fisql": "sqlcmd",
    "sqlplus|sqlldr|rman|expdp|impdp": "sqlplus",
    "plink|pscp|psftp|putty": "plink",
    "ldap(search|add|modify|delete|compare|modrdn|whoami|passwd|exop)": "ldapsearch",
    "snmp(get|getnext|bulkget|walk|bulkwalk|set|table|status|trap|inform|test)": "snmpwalk",
    "smb(client|get|cacls|tree|cquotas)|rpcclient|net": "smbclient",
    "xfreerdp3?|wlfreerdp3?": "xfreerdp",
    "mosquitto_(pub|sub|rr)": "mosquitto_pub",
    "unzip|zipcloak|funzip": "unzip",
    "(user|group)(add|mod)": "useradd",
    "yt-dlp|youtube-dlc?": "yt-dlp",
    "dotnet|nuget": "dotnet",
    "7z[arz]?": "7z",
    "rar|unrar": "unrar",
    "docker|podman|nerdctl|buildah|skopeo|helm|oc|az|crane|oras|regctl": "podman",
    "podman|buildah|skopeo": "skopeo",
    r"pdf\w+": "pdftotext",
}
_WORDS = {
    r"(?:userid=)?[\w.$#]+/([^@\s]+)(?:@.*)?": "scott/S@db",
    "/p:(.+)": "/p:S",
    "pass:(.+)": "pass:S",
    "(?:hex)?key:(.+)": "key:S",
    r"(hvs\..+|s\..+)": "s.S",
    "([0-9a-f]{40,})": "0" * 40,
}


def _spellings() -> list[list[str]]:
    """Every rule of the table, in all the ways in which a program takes it; S stands for the secret."""
    made = []
    for rule in RULES:
        head = [_PROGRAMS.get(rule.programs, rule.programs), *([rule.after] if rule.after else []), "-x"]
        value = f"{'k' if rule.only_with else 'me' if rule.behind else ''}{rule.behind or rule.only_with}S"
        value = "me:S@proxy:1" if rule.value else value
        for option in rule.options.split():
            short = len(option) == 2
            made += [] if rule.attached else [[*head, option, value, "-y"]]
            made += [[*head, f"{option}{value}"]] if short or rule.attached else [[*head, f"{option}={value}"]]
            letters = [f for f in rule.flags if f.isalpha()][:2]
            made += (
                [[*head, f"-{''.join(letters)}{option[1]}", value]] if letters and short and not rule.attached else []
            )
            made += [[*head, f"-{''.join(letters)}{option[1]}{value}"]] if letters and short else []
        made += [[*head, _WORDS[rule.word]]] if rule.word else []
    return made


#: The word that is a secret is S; those of all sorts of texts, and those that stand where only some signs may.
_ANY = [
    ["./app", "--password", "S", "-v"],
    ["./app", "--password=S"],
    ["./app", "-Dpassword=S"],
    ["java", "-Ddb.apiToken=S"],
    ["cmake", "-DAPI_TOKEN=S"],
    ["docker", "run", "-e", "TOKEN=S", "image"],
    ["docker", "run", "-eTOKEN=S", "image"],
    ["podman", "run", "--env=TOKEN=S", "image"],
    ["terraform", "apply", "-var=db_password=S"],
    ["ssh", "-oPassword=S"],
    ["env", "PGPASSWORD=S", "psql"],
    ["env", "REDISCLI_AUTH=S", "redis-cli"],
    ["mpiexec", "-genv", "API_TOKEN", "S", "./app"],
    ["aws", "configure", "set", "aws_secret_access_key", "S"],
    ["./app", "--auth", "me:S"],
    ["./app", "--basic-auth=me:S"],
    ["./app", "-auth", "me:S"],
    ["./app", "-http-auth=me:S"],
    ["./app", "--login", "me:S"],
    ["./app", "--cred", "me:S"],
    ["bwrap", "--setenv", "TOKEN", "S", "cmd"],
    ["setenv", "TOKEN", "S"],
    ["set", "-x", "TOKEN", "S"],
    ["set", "-g", "--export", "TOKEN", "S"],
    ["launchctl", "setenv", "TOKEN", "S"],
]
_SOME = [
    ["./app", "--pwd", "S"],
    ["./app", "--pwd=S"],
    ["get", "https://h/x?sv=1&sig=S&se=2"],
    ["get", "https://h/x?sig=S"],
    ["get", "https://h/x?X-Amz-Date=1&X-Amz-Signature=S"],
    ["get", "https://h/x?access_token=S#top"],
    ["get", "postgres://me:S@h:5432/db?sslmode=require"],
    ["./app", "--dsn", "me:S@tcp(127.0.0.1:3306)/db"],
    ["./app", "jdbc:oracle:thin:me/S@h:1521:x"],
    ["./app", "jdbc:mysql://h/db?user=me&password=S"],
    ["srun", "--export=ALL,TOKEN=S", "./app"],
    ["curl", "-d", "grant_type=password&client_secret=S"],
    ["curl", "-H", "Authorization: Bearer S"],
    ["curl", "-HAuthorization: Basic S"],
    ["curl", "--header=Authorization: Bearer S"],
    ["git", "-c", "http.extraHeader=Authorization: Basic S"],
    ["curl", "-H", "X-Api-Key: S"],
    ["curl", "-H", "Cookie: session=S; theme=S"],
    ["./app", "Server=h;User Id=me;Password=S;Encrypt=yes"],
    ["./app", "DefaultEndpointsProtocol=https;AccountName=me;AccountKey=S;EndpointSuffix=x"],
    ["./app", "Driver={X};UID=me;PWD={S}"],
    ["./app", "odbc:Driver=x;PWD=S"],
    ["gem", "push", "--key", "S", "x.gem"],
    ["./app", "--dsn=Driver={X};UID=me;PWD=S"],
    ["./app", "jdbc:sqlserver://h:1433;database=x;user=me;pwd=S"],
    ["./app", "--authkey", "S"],
    ["./app", "--pat", "S"],
    ["./app", "--sas=S"],
    ["./app", "--otp", "S"],
    ["./app", "--session-id=S"],
    ["env", "GITHUB_PAT=S", "./app"],
    ["python3", "-c", "token = 'S'; print(token)"],
    ["python3", "-c", 'import os; os.environ["TOKEN"]="S"'],
    ["python3", "-c", "os.environ['TOKEN'] = 'S'"],
    ["python3", "-c", "os.putenv('TOKEN', 'S')"],
    ["perl", "-e", "$ENV{TOKEN} = 'S'; %x = (password => 'S')"],
    ["./app", "--config", 'password = "S"'],
    ["./app", "--config", "password = S"],
    ["./app", "--config=password = 'S'"],
    ["fish", "-c", "set -x TOKEN S"],
    ["csh", "-c", "setenv TOKEN S; ./app"],
    ["curl", "-x", "me:S@proxy:1", "h"],
    ["curl", "--proxy", "me:S@proxy:1", "h"],
    ["env", "https_proxy=me:S@proxy:1", "curl", "h"],
    ["sh", "-c", "echo S | sudo -S ./app"],
    ["sh", "-c", "true; printf '%s' 'S' | /usr/bin/sudo -kS -u me ./app"],
    ["sh", "-c", "sudo -S ./app <<< S"],
    ["sh", "-c", "echo S | docker login -u me --password-stdin"],
    ["./app", '{"user": "me", "password":"S", "n": 1}'],
    ["./app", r"{\"user\": \"me\", \"password\": \"S\"}"],
    ["./app", "<login><password>S</password></login>"],
    ["sh", "-c", "TOKEN=S ./app --secret 'S' | sort"],
    ["sh", "-c", "exec ./app -Dpassword=S"],
    ["./app", "-----BEGIN RSA PRIVATE KEY-----S-----END RSA PRIVATE KEY-----"],
]
_BEHIND = ["env A=1", "srun -n 4", "time -p", "mpirun -n 2", "sudo -u me", "numactl -N 0 --", "/usr/bin/timeout 9"]


def _masked(words: list[str]) -> list[str]:
    masks = Masks(environment={})
    masked: list[str] = masks.masked(words)
    assert masks.revealed(masked) == words
    assert Masks(masks.used, {}).revealed(json.loads(json.dumps(masked))) == words
    return [MASK.sub("S", word) for word in masked]


def _put(words: list[str], secret: str) -> list[str]:
    return [
        re.sub(r"(?<![A-Za-z-])S(?![A-Za-z])|(?<=-----)S(?=-----)|(?<=[A-Za-z])S$", lambda _: secret, word)
        for word in words
    ]


@pytest.mark.parametrize("words", [*_ANY, *_SOME, *_spellings()], ids=" ".join)
def test_a_spelling_is_masked_where_the_secret_stands_and_nowhere_else(words: list[str]) -> None:
    if words[-1] == "0" * 40:
        assert _masked(words) == [*words[:-1], "S"]
        return
    secret = "s.aB3x9.qw" if words[-1] == "s.S" else "hunter2Zq9"
    expected = [*words[:-1], "S"] if words[-1] == "s.S" else words
    given_words = [*words[:-1], secret] if words[-1] == "s.S" else _put(words, secret)
    assert given_words != words
    assert _masked(given_words) == expected


#: Lines for a shell, in which the secret may be spelled with quotes.
_LINES = {
    "curl -u user:s3cr@p:1 h": "s3cr@p:1",
    "curl --user=user:s3cr@p:1 h": "s3cr@p:1",
    "sh -c 'curl -u user:s3cr@p:1 h'": "s3cr@p:1",
    "psql postgres://user:s3cr@p:1@host:5/x": "s3cr@p:1",
    "htpasswd -b file user s3cr": "s3cr",
    "htpasswd -cbB -C 10 file user s3cr": "s3cr",
    "htpasswd -nb user s3cr > out": "s3cr",
    "htpasswd -nbB -C 10 user s3cr": "s3cr",
    "htpasswd -nb -- user -s3cr; ls": "-s3cr",
    "mosquitto_passwd -b file user s3cr": "s3cr",
    "mosquitto_passwd -H sha512 -b file user s3cr": "s3cr",
    "rabbitmqctl -n x add_user me s3cr": "s3cr",
    "mysqladmin -u root password s3cr": "s3cr",
    "cargo login s3cr": "s3cr",
    "cargo login --registry x s3cr": "s3cr",
    "nuget setApiKey s3cr -Source x": "s3cr",
    "isql dsn me s3cr -b": "s3cr",
    "ansible-vault encrypt_string --vault-id x s3cr": "s3cr",
    "qpdf --encrypt s3cr s3cr 256 -- a b": "s3cr",
    "ldapsearch -xw s3cr -b dc=x": "s3cr",
    "zip -rP s3cr a.zip a": "s3cr",
    "unzip -oP s3cr a.zip": "s3cr",
    "curl -sx me:s3cr@proxy:1 h": "s3cr",
    "twine upload -u me -p s3cr x": "s3cr",
    "openssl dgst -hmac s3cr file": "s3cr",
    "dotnet nuget push -k s3cr x": "s3cr",
    "yt-dlp -u me -p s3cr url": "s3cr",
    "useradd -mp s3cr me": "s3cr",
    "beeline -n me -p s3cr": "s3cr",
    "notify https://hooks.slack.com/services/T0/B0/s3cr": "s3cr",
    "setenv TOKEN s3cr": "s3cr",
    "python3 -c \"token = 's3cr'\"": "s3cr",
    "python3 -c 'token = \"s3cr\"'": "s3cr",
    """python3 -c 'os.environ["TOKEN"]="s3cr"'""": "s3cr",
    "app --config 'password = \"s3cr\"'": "s3cr",
    "fish -c 'set -x TOKEN s3cr'": "s3cr",
    "bwrap --setenv TOKEN s3cr cmd": "s3cr",
    "app 'odbc:Driver=x;PWD=s3cr'": "s3cr",
    "app --authkey s3cr": "s3cr",
    "app -http-auth=me:s3cr": "s3cr",
    "app --session-id=s3cr": "s3cr",
    "openssl passwd -salt xx s3cr": "s3cr",
    "mc alias set --api S3v4 name https://h me s3cr": "s3cr",
    "nmcli dev wifi connect name password s3cr": "s3cr",
    "app --password '$ecret' x": "$ecret",
    "app --password '$ECRET' x": "$ECRET",
    "app --password=\\$ecret x": "$ecret",
    "PASSWORD='$ecret' app": "$ecret",
    "mysql '-p$ecret'": "$ecret",
    "curl -u 'me:$ecret' h": "$ecret",
    "curl -H 'Authorization: Bearer $ecret' h": "$ecret",
    "get 'https://me:$ecret@h/x'": "$ecret",
    "sh -c 'app --password '\\''$ecret'\\'": "$ecret",
    "sh -c \"app --password '\\$ecret'\"": "$ecret",
    "app --password a\\ b -v": "a b",
    "app --password 'a'\\''b' x": "a'b",
    "app --password a'b c' x": "ab c",
    'app --password "a\\"b" x': 'a"b',
    """app '--password='"x y" z""": "x y",
    """curl -u 'me:a'"b" h""": "me:ab",
}


@pytest.mark.parametrize("line", _LINES)
def test_a_line_for_a_shell_runs_as_it_is_printed(line: str, tmp_path: Path) -> None:
    masks = Masks(environment={})
    masked = masks.masked(line)
    assert {spellings[0] for spellings in masks.used.values()} == {_LINES[line]}
    assert masks.revealed(masked) == line and Masks(masks.used, {}).revealed(masked) == line
    printed, variables = shell_text(masked), {name: spellings[0] for name, spellings in masks.used.items()}
    assert _LINES[line] not in printed and "''" not in printed

    def heard(text: str) -> bytes:
        """What programs are given when a shell reads a line."""
        heard_by = """command_not_found_handle() { printf '<%s>' "$PASSWORD" "$@"; }; sh() { eval "$2"; }"""
        env = {**variables, "PATH": str(tmp_path)}
        return subprocess.run(
            ["/bin/bash", "-c", f"{heard_by}\n{text}"], env=env, capture_output=True, check=False, cwd=tmp_path
        ).stdout

    assert heard(printed) == heard(line)
    assert ">" in line or _LINES[line].encode() in heard(line)


def test_what_a_shell_puts_in_is_no_secret_of_a_line() -> None:
    for line in (
        "TOKEN=$(cat f) app --token $T",
        'app --password "$ECRET"',
        "sh -c \"app --password '$ecret'\"",
        "sh -c 'app --password $ecret'",
        "app https://me:$ecret@h/x",
    ):
        assert Masks(environment={}).masked(line) == line


@pytest.mark.parametrize("before", _BEHIND)
def test_a_program_is_known_behind_what_starts_it(before: str) -> None:
    for words in (["sqlcmd", "-P", "S"], ["zip", "-P", "S", "a"], ["/usr/bin/curl", "-ume:S"], ["mysql", "-pS"]):
        whole = [*before.split(), *words]
        assert _masked(_put(whole, "hunter2Zq9")) == whole
        line = ["sh", "-c", " ".join(whole)]
        assert _masked(_put(line, "hunter2Zq9")) == line


@pytest.mark.parametrize(
    "text",
    [
        "sort -u a:b",
        "grep -P x:y file",
        "mpirun -p x:y ./a",
        "./compress --format zip -P 4",
        "man curl -u me:x",
        "docker run -p 8080:80 -u 1000:1000 image",
        "docker run --user me:group image",
        "mysql -p database",
        "mysql --port 3 -port=3",
        "sshpass -p {p} ssh -p 22 -oPort=3 h",
        "curl -b jar -c jar -o pw:x https://h/mysql",
        "curl https://h/sqlcmd -P x",
        "curl x | sort -u a:b",
        "psql -p 5432 -U me",
        "ssh -p 22 -i key h",
        "clang -Rpass=inline -mtoken x.c",
        "PGPASSFILE=/x/y ./app --pwd /x --cookie-jar c",
        "env PGPASSFILE=x PWD=x ./app",
        "nodewise run --metric password=found:\\s(.*) -- x",
        "nodewise run --metric=token=found:(.*) -- x",
        "get https://h/x?key=name&code=200&signed=1",
        "get http://h:8000/@scope/x http://h:{port}/@x",
        "htpasswd -c file user",
        "openssl passwd -6 -stdin",
        "man htpasswd -b file user",
        "./app --auth none --dsn me@tcp(h:1) likwid-pin -c S0:0-3@S1:0-3",
        "mpiexec -genv KEYBOARD us ./app config set size 4",
        "cookies=3 ./app --cookie true",
        "./app key=a;b=c",
        "./app --pat *.txt --pat ^a --otp 26 --sas /dev/sas --session-id 12",
        "env XDG_SESSION_ID=c1 PAT=x OTP=26 SAS=disk ./app",
        "./app --login https://h/x --login me --auth https://h/x",
        "curl -x proxy:1 -x http://proxy:1 h",
        "curl --proxy http://proxy:1 h",
        "env http_proxy=proxy:8080 https_proxy=http://proxy:8080/ ./app",
        "zip -r a.zip P x",
        "ldapsearch -x -b w x",
        "unzip -d P x",
        "mysql -BN -e p",
        "set -x KEYBOARD us",
        "set -e x",
        "echo yes | sort -S 1G",
        "qpdf --encrypt --bits=256 -- a.pdf b.pdf",
        "cargo build",
        "useradd -m me",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert _masked(text.split()) == text.split()
    assert _masked([text]) == [text]


_TEXT = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20)
_SAFE = st.text(st.sampled_from("abcXYZ019._~%+-"), min_size=1, max_size=30)


def _is_one(secret: str) -> bool:
    # a parameter, a mask, a switch, another option
    switches = ("true", "false", "yes", "no", "on", "off", "none", "null")
    return secret.lower() not in switches and not re.match(r"[\s;|&()<{*$`-]", secret) and secret.strip() == secret


@given(st.sampled_from(_ANY), _TEXT)
@example(["./app", "--password", "S"], "$ecret")
@example(["./app", "--password=S"], "a;b c='d' \"e\" <masked:X>")
@settings(max_examples=examples(200), deadline=None)
def test_a_word_of_its_own_is_masked_whatever_it_is(words: list[str], secret: str) -> None:
    assume(secret[0] == "$" or _is_one(secret))
    # a line for a shell that begins with a variable
    assume(not re.search(r"\s", secret) or not any(word.startswith(("TOKEN=", "PGPASS")) for word in words))
    assert _masked(_put(words, secret)) == words


@given(st.sampled_from([*_SOME, *(w for w in _spellings() if w[-1] not in ("s.S", "0" * 40))]), _SAFE)
@settings(max_examples=examples(300), deadline=None)
def test_other_spellings_are_masked_with_any_value(words: list[str], secret: str) -> None:
    assume(_is_one(secret) and not secret.startswith((".", "~")) and not re.fullmatch(r"[+c]?[\d.]+", secret))
    assert _masked(_put(words, secret)) == words


def test_a_long_command_takes_no_time() -> None:
    assert list(secrets_by_program(["./app", *(["-x", "y"] * 10_000)])) == []
    assert len(list(secrets_by_program(["echo", "s3cr", "|", "sudo", "-S", "x", ";"] * 3_000))) == 3_000


@pytest.mark.parametrize(
    "text",
    [
        "token = next(it)",
        "if token == other: password != x",
        "key = name; key = 'name'",
        "token = tokens[i].strip()",
        "password = first + second",
        "password = a + b",
        "for password in list(x): pass",
        "TOKEN= ./app",
        "echo hello | sudo tee file",
        "echo hello; sudo -S ./app",
        "csh -c 'set path = x; setenv PATH x'",
    ],
)
def test_what_is_no_secret_of_a_program_stays(text: str) -> None:
    assert _masked([text]) == [text]
    assert _masked(["python3", "-c", text]) == ["python3", "-c", text]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.programs)
def test_no_pattern_is_left_out_that_fits(rule: Rule) -> None:
    names = {name for one in RULES for name in re.findall(r"[\w-]+", one.programs)}
    # without what may be missing, and with more behind it
    names |= {name[:-1] for name in names} | {f"{name}{more}" for name in names for more in ("s", "1", "-cli", "ctl")}
    found = {name for name in names if re.fullmatch(rule.programs, name)} | {
        _PROGRAMS.get(rule.programs, rule.programs)
    }
    assert all(secret_options._may_fit(rule.programs, name) for name in found)
