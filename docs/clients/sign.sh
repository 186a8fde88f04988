#!/bin/sh
# A signed request, with openssl and curl.
# usage: SIGNING_SECRET=... sh sign.sh METHOD URL [BODY]
set -eu
method=$1 url=$2 body=${3-}
timestamp=$(date +%s)
target=/$(printf %s "$url" | cut -d/ -f4-)
signature=$(printf '%s\n%s\n%s\n%s' "$timestamp" "$method" "$target" "$body" |
  openssl dgst -sha256 -hmac "$SIGNING_SECRET" -binary | openssl base64 -A)
if [ -n "$body" ]; then set -- --data-binary "$body" -H 'Content-Type: application/json'; else set --; fi
curl -sS -X "$method" "$url" -H "X-Timestamp: $timestamp" -H "X-Signature: $signature" "$@"
