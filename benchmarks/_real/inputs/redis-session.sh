# a server with so many threads for its sockets, a client that fills and reads it, and its end
set -eu
socket=$(mktemp -d)/redis
trap 'rm -rf "${socket%/*}"' EXIT
redis-server --port 0 --unixsocket "$socket" --save '' --appendonly no --io-threads "$1" --io-threads-do-reads yes >/dev/null &
until redis-cli -s "$socket" ping >/dev/null 2>&1; do sleep 0.01; done
redis-benchmark -s "$socket" -q -r 100000 -d 256 -P 8 -n 100000 -t set,lpush,get
redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1 || true
wait
