#!/usr/bin/env bash
# Exits with 0 when the service of this environment responds to GET /healthz with 200 within two seconds, else with 1.
# Bash costs a tenth of a start of Node, which remains for TLS.
if [ -n "$TLS_CERT" ]; then exec node "${BASH_SOURCE[0]%/*}/health.cjs"; fi
host=${HOST:-127.0.0.1}
case $host in
  0.0.0.0) host=127.0.0.1 ;;
  ::) host=::1 ;;
esac
exec 3<>"/dev/tcp/$host/${PORT:-3000}" || exit 1
printf 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' >&3
read -r -t 2 status <&3
case $status in
  'HTTP/1.1 200 '*) exit 0 ;;
esac
echo "/healthz responds with ${status:-nothing}" >&2
exit 1
