# A signed request, with Python's standard library.
# usage: SIGNING_SECRET=... python3 sign.py METHOD URL [BODY]
import base64
import hashlib
import hmac
import os
import sys
import time
import urllib.parse
import urllib.request


def sign(secret: str, method: str, url: str, body: bytes = b"") -> dict[str, str]:
    """The header fields that sign a request; body exactly as it will be sent."""
    parts = urllib.parse.urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    timestamp = str(int(time.time()))
    text = f"{timestamp}\n{method}\n{target}\n".encode() + body
    digest = hmac.new(secret.encode(), text, hashlib.sha256).digest()
    return {"X-Timestamp": timestamp, "X-Signature": base64.b64encode(digest).decode()}


if __name__ == "__main__":
    method, url = sys.argv[1:3]
    body = sys.argv[3].encode() if len(sys.argv) > 3 else None
    headers = sign(os.environ["SIGNING_SECRET"], method, url, body or b"")
    if body is not None:
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data=body, headers=headers, method=method)
    with urllib.request.urlopen(request) as response:
        sys.stdout.write(response.read().decode())
