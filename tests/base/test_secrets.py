# SPDX-License-Identifier: BSD-3-Clause
"""What is taken for a secret, and what is not."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodewise.base import secrets
from nodewise.base.secret_names import is_secret, variable_name
from nodewise.base.secrets import parts_of_text, parts_of_words


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--password", "x"),
        ("PASSWD", "x"),
        ("API_KEY", "abc"),
        ("API_KEY_2", "abc"),
        ("DB_PWD1", "abc"),
        ("AWS_KEY3", "abc"),
        ("MY_SERVICE_KEY", "abc"),
        ("secretAccessKey", "x"),
        ("AWS_SECRET_ACCESS_KEY", "/x+y"),
        ("--token", "512"),
        ("DB_PASS", "abc"),
        ("PASSWORD_2", "x"),
        ("CREDENTIALS", "me:x"),
        ("apikey", "z"),
        ("PGPASSWORD", "x"),
        ("MYTOKEN", "x"),
        ("SSHPASS", "x"),
        ("--dbpassword", "x"),
        ("--pw", "x"),
        ("--key", "s3cr3t"),
        ("--key", "name"),
        ("DB_PW", "x"),
        ("--authkey", "x"),
        ("TS_AUTHKEY", "x"),
        ("--pat", "x"),
        ("GITHUB_PAT", "x"),
        ("--sas", "x"),
        ("--otp", "x"),
        ("--otp", "123456"),
        ("--session-id", "x"),
        ("JSESSIONID", "0A1B"),
        ("--auth", "x"),
        ("--pin", "4711"),
        ("CARD_PIN", "471100"),
        ("--seed-phrase", "x"),
        ("WALLET_SEED_PHRASE", "abandon ability able"),
        ("--api-key", "/x8JdQ9zAb3+kLmN0pQrStUvWxYz1234567890A"),
        ("STORAGE_KEY", "/x8JdQ9zAb3kLmN0pQrStUvWxYz/123456789A"),
        ("STORAGE_KEY", "/x+8JdQ9zA=="),
    ],
)
def test_names_of_secrets(name: str, value: str) -> None:
    assert is_secret(name, value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KEYBOARD", "us"),
        ("MONKEY", "banana"),
        ("BYPASS", "yes"),
        ("--tokens", "512"),
        ("--key-size", "4"),
        ("--key", "2"),
        ("--key", "2,2n"),
        ("--key", "1.3"),
        ("--key", "server.pem"),
        ("key", "name"),
        ("KEY", "name"),
        ("SORT_KEY", "name"),
        ("API_KEY_FILE", "/run/key"),
        ("SSH_KEY", "/home/me/.ssh/id"),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/it.json"),
        ("BLOCK_KEY", "4096"),
        ("PWD", "/home/me"),
        ("OLDPWD", "/home/me"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("--max-token", "512"),
        ("--n-tokens", "512"),
        ("TOKEN_LIMIT", "512"),
        ("OMP_NUM_THREADS", "4"),
        ("OMP_TOKEN", "x"),
        ("--password", "$PASSWORD"),
        ("--password", "{p}"),
        ("--password", "<masked:PASSWORD>"),
        ("--no-password", "x"),
        ("PASSWORD", ""),
        ("USE_TOKEN", "x"),
        ("--token", "false"),
        ("--pin", "on"),
        ("--pat", "*.c"),
        ("PAT", "x"),
        ("FILE_PAT", "x"),
        ("--otp", "26"),
        ("OTP", "x"),
        ("--sas", "/dev/sas"),
        ("XDG_SESSION_ID", "c1"),
        ("--session-id", "12"),
        ("--authkey", "/run/key"),
        ("--turkey", "x"),
        ("--pin", "0-3"),
        ("--pin", "4"),
        ("I_MPI_PIN", "1"),
        ("--auth", "basic"),
        ("--auth", "munge"),
        ("--auth", "/run/auth.json"),
        ("--auth-type", "x"),
        ("--phrase", "hello"),
        ("--search-phrase", "hello"),
        ("PW", "/opt/qe/bin/pw.x"),
        ("--key", "/home/User1/keys/My2024"),
        ("API_KEY", "/etc/ssl/private/serverkeyoftheyear2024"),
    ],
)
def test_names_of_something_else(name: str, value: str) -> None:
    assert not is_secret(name, value)


#: Options of vault's login behind which a value stands.
VALUED = (
    *("-address", "-namespace", "-path", "-field", "-format"),
    *("-ca-cert", "-ca-path", "-client-cert", "-client-key", "-tls-server-name"),
)


def _found(words: list[str]) -> list[str]:
    parts = parts_of_words(words)
    return [word[p.start : p.end] for word, those in zip(words, parts, strict=True) for p in those]


@pytest.mark.parametrize(
    ("words", "secrets"),
    [
        (["./app", "--password", "x", "--verbose"], ["x"]),
        (["./app", "--password=a=b c"], ["a=b c"]),
        (["./app", "--password", "--verbose"], []),
        (["./app", "https://user:p@ss@host:80/x?token=abc&b=1"], ["p@ss", "abc"]),
        (["./app", "http://localhost:8000/@scope/x"], []),
        (["mysql", "-psecret", "-port=3"], ["secret"]),
        (["./app", "-pthread", "-p2"], []),
        (["nice", "curl", "-u", "me:pw", "-H", "Authorization: Bearer zzz"], ["pw", "zzz"]),
        (["curl", "-H", "X-Api-Key: k9"], ["k9"]),
        (["curl", "-H", "Authorization: Token abc def"], ["abc def"]),
        (["sh", "-c", "API_TOKEN=q ./app --secret 'a b' | cat"], ["q", "a b"]),
        (["./app", '{"user": "me", "password": "pw"}'], ["pw"]),
        (["run", "--env=API_TOKEN=a=b", "--opt=x,token=c"], ["a=b", "c"]),
        (["psql", "host=h password=pw dbname=d"], ["pw"]),
        (["run", "--env", "API_TOKEN=a b"], ["a b"]),
        (["compare", "PASSWORD='a b' ./app"], ["a b"]),
        (["java", "-Djavax.net.ssl.keyStorePassword=changeit"], ["changeit"]),
        (["git", "clone", "https://ghp_0123456789abcdefghijABCDEFGHIJ012345@x/y"], ["ghp_0123456789abcdefghijABCDEFGHIJ012345"]),
        (["redis-cli", "-a", "pw", "get", "key"], ["pw"]),
        (["git", "clone", "https://0a1b2c3d4e5f6a7b8c9d@github.com/x"], ["0a1b2c3d4e5f6a7b8c9d"]),
        (["git", "clone", "git+https://abcdefghijklmnopqrstuvwx@h/x"], ["abcdefghijklmnopqrstuvwx"]),
        (["git", "clone", "https://jane-doe@github.com/x", "git@github.com:x/y", "https://user2@h/x"], []),
        (["git", "clone", "ssh://deploy-account-0001@h/x", "https://h/a0123456789abcdef@1.2"], []),
        (["git", "clone", "https://$GITHUB_ACCESS_TOKEN_01@github.com/x"], []),
        (["vault", "login", "x"], ["x"]),
        (["vault", "login", "-address", "a", "-no-store", "root"], ["root"]),
        *((["vault", "login", option, "/x", "-no-print", "root"], ["root"]) for option in VALUED),
        (["vault", "login", "-no-print", "root"], ["root"]),
        (["vault", "login", "-method=userpass", "username=me"], []),
        (["vault", "read", "x"], []),
        (["pdftotext", "-upw", "x", "-opw", "y", "a.pdf"], ["x", "y"]),
        (["./app", "--auth", "me:pw", "--pw=x", "--pin=471100"], ["pw", "x", "471100"]),
        (["./app", "--sort-key", "name", "KEYBOARD=us", "OMP_PLACES={0:4}"], []),
    ],
)  # fmt: skip
def test_secrets_in_a_command(words: list[str], secrets: list[str]) -> None:
    assert _found(words) == secrets


def test_a_quoted_value_is_found_as_it_stands() -> None:
    text = r"./app --password a\ b"
    (part,) = parts_of_text(text)
    assert (text[part.start : part.end], part.name) == (r"a\ b", "PASSWORD")


def test_a_long_text_takes_no_time() -> None:
    # quadratic patterns would take minutes
    assert parts_of_text("token" + " " * 20_000) == []
    assert parts_of_text("a" * 20_000) == [] and parts_of_text("a:b=" * 5_000) == []
    for text in ("password=", "password='", "a://b:c", "?a=b&sig=", "host=a;PWD={", "curl -u a:b ", "Cookie: a=b;"):
        assert parts_of_text(text * 400) is not None
    for text in (
        "token = 'x",
        "token = x ",
        "x['token'] = '",
        "putenv('t', 'x",
        "proxy=a:b",
        "echo x | sudo -S y; ",
        "set -x -g ",
    ):
        assert parts_of_text(text * 400) is not None


@given(
    st.lists(
        st.sampled_from(
            [*"ab1.-_@\"' ?&;#:=/(<>", "xoxb-", "sk-", "hvs.", "SG.", "key", "pwd", "sig", "auth", "proxy", "me"]
        )
    )
)
def test_what_short_words_hold_is_all_that_the_patterns_find(pieces: list[str]) -> None:
    text = "".join(pieces)[:30]
    with patch.object(secrets, "_SHORTEST_TOKEN", 0):
        looked_at = list(secrets._inside(text))
    assert list(secrets._inside(text)) == looked_at


@pytest.mark.parametrize("text", ["xoxb-0123456789", "?sig=ab", ";pwd: ab", "<secret>ab</"])
def test_short_words_hold_secrets_that_their_signs_show(text: str) -> None:
    assert len(text) <= 15 and parts_of_text(text)


def test_names_of_variables() -> None:
    assert variable_name("DB_PASSWORD") == "DB_PASSWORD"
    assert variable_name("--db-password") == "DB_PASSWORD"
    assert variable_name("javax.net.keyStorePassword") == "KEY_STORE_PASSWORD"
