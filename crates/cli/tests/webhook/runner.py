"""A remote runner that takes work orders by HTTP. Its first argument selects the behaviour.

It writes its port to the file `port`, and each request to `posts`, one JSON object a line.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PART, SECRET = sys.argv[1], sys.argv[2].encode()
COUNT = [0]


def report(order):
    payload = {"outcome": "done", "summaryRef": "outputs/summary.md", "notes": "done elsewhere",
               "tests": {"total": 0, "passed": 0, "failed": 0}}
    return {"protocol": "aof", "version": 1, "type": "completion.report", "payload": payload,
            "taskId": order["taskId"], "fromAgent": order["agent"], "toAgent": "dispatcher",
            "sentAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def post(url, token, body=b""):
    headers = {"authorization": "Bearer " + token, "content-type": "application/json"}
    call = urllib.request.Request(url, data=body, headers=headers, method="POST")
    with urllib.request.urlopen(call) as answer:
        return answer.read()


def work(order):
    """Works for longer than the idle timeout, with heartbeats, and then reports."""
    for _ in range(4):
        time.sleep(1)
        post(order["beatTo"], order["runToken"])
    post(order["reportTo"], order["runToken"], json.dumps(report(order)).encode())


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        order, head = json.loads(body), self.headers
        signed = "%s.%s." % (head["webhook-id"], head["webhook-timestamp"])
        digest = hmac.new(SECRET, signed.encode() + body, hashlib.sha256).digest()
        right = "v1," + base64.b64encode(digest).decode() == head.get("webhook-signature")
        with open("posts", "a") as file:
            file.write(json.dumps({"id": head["webhook-id"], "signed": right, "body": order}) + "\n")
        COUNT[0] += 1
        if order["type"] == "cancel":
            return self.answer(200)
        if PART == "busy" and COUNT[0] < 3:
            return self.answer(503, b"not now", retry_after="0")
        if PART == "down":
            return self.answer(500, retry_after="0")
        if PART == "redirect":
            return self.answer(302, location="http://127.0.0.1:1/")
        if PART == "huge":
            return self.answer(200, b"x" * (2 << 20))
        if PART == "closed":
            return self.answer(401)
        if PART == "bad":
            return self.answer(422, b"no such agent here")
        if PART in ("later", "silent"):
            self.answer(202, b"taken")
            if PART == "later":
                threading.Thread(target=work, args=(order,), daemon=True).start()
            return None
        return self.answer(200, json.dumps(report(order)).encode())


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open("port.new", "w") as file:
    file.write(str(server.server_address[1]))
os.rename("port.new", "port")
server.serve_forever()
