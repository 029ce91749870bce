# SPDX-License-Identifier: Apache-2.0
"""kube_client PEER: our client of the API server, under every fault that it must live with."""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

from fake_api import FakeApi, event, page, status, thing
from kube_watcher import Watcher
from peer import Tap, differs


def first_list(tap, api, watcher):
    request = api.next()
    tap.check("a list is asked for in pages, with selector and token", differs(
        (request.path, request.parameter("limit"), request.parameter("fieldSelector"),
         request.fields.get("authorization")), ("/api/v1/pods", "2", "a%3Db", "Bearer first")))
    request.reply(200, page(10, [thing("a", 1), thing("b", 2)], more="x/y+z"))
    request = api.next()
    tap.check("the next page goes on where the last one ended",
              differs(request.parameter("continue"), "x%2Fy%2Bz"))
    request.reply(200, page(10, [thing("c", 3)]))
    tap.check("all objects are reported, then that they are all", differs(
        watcher.next(4), ["added d/a u-a 1", "added d/b u-b 2", "added d/c u-c 3", "synced"]))
    request = api.next()
    tap.check("the watch begins where the list ended, with bookmarks", differs(
        (request.is_watch(), request.parameter("resourceVersion"),
         request.parameter("allowWatchBookmarks")), (True, "10", "true")))
    return request


def events(tap, api, watcher, request):
    request.head()
    for change in (event("MODIFIED", thing("a", 11)), event("DELETED", thing("b", 12)),
                   event("ADDED", thing("d", 13)), event("MODIFIED", thing("c", 3)),
                   event("BOOKMARK", {"metadata": {"resourceVersion": "20"}})):
        request.data(change)
    tap.check("changes are reported, and what did not change is not", differs(
        watcher.next(3), ["modified d/a u-a 11", "deleted d/b u-b 12", "added d/d u-d 13"]))
    text = json.dumps(event("MODIFIED", thing("a", 21, note="x" * 50000))).encode()
    for at in range(0, len(text), 7777):
        request.data(text[at:at + 7777])
        time.sleep(0.005)
    tap.check("an event in pieces is put together",
              differs(watcher.next(), ["modified d/a u-a 21"]))
    request.end()
    request = api.next()
    tap.check("a watch that ended goes on from the last version", differs(
        (request.is_watch(), request.parameter("resourceVersion")), (True, "21")))
    return request


def troubles(tap, api, watcher, request):
    request.head()
    request.data(event("BOOKMARK", {"metadata": {"resourceVersion": "25"}}))
    request.data(b'{"type": "MODIF')
    request.reset()
    request = api.next()
    tap.check("a watch that broke goes on from the last bookmark",
              differs(request.parameter("resourceVersion"), "25"))
    tap.check("… and says so", differs(watcher.next()[0].split()[0], "trouble"))
    for code, name in ((500, "InternalError"), (503, "ServiceUnavailable")):
        request.reply(code, status(code, name, "not now"))
        request = api.next()
        tap.check(f"{code} is tried again", differs(
            (request.is_watch(), watcher.next()),
            (True, [f"trouble /api/v1/pods: the API server answers {code} not now"])))
    began = time.monotonic()
    request.reply(429, status(429, "TooManyRequests", "slow down"), retry_after="1")
    request = api.next()
    took = time.monotonic() - began
    tap.check("429 waits as long as asked", [] if took >= 1 else [f"{took:.2f} s"])
    watcher.next()
    request.head()
    request.data(b'{"type": "ADDED", "object": {nonsense}}{"type": nonsense}]')
    request = api.next()
    tap.check("what is no event at all ends the watch, which goes on from the last good version",
              differs((request.parameter("resourceVersion"),
                       [line.split()[0] for line in watcher.next(3)]), ("25", ["bad", "bad", "trouble"])))
    request.head()
    request.data(b'{"type": "ADDED", "object": {"metadata": {"name": "' + b"x" * (9 << 20) + b"xx")
    request = api.next(timeout=60)
    tap.check("an object without end is cut off", differs(
        watcher.next(), ["trouble /api/v1/pods: an object is too large"]))
    return request


BAD = {
    "a NUL": b'"\\u0000"',
    "a NUL byte": b'"a\x00b"',
    "half a character": b'"\\ud800x"',
    "the other half": b'"\\udc00"',
    "bytes that are no UTF-8": b'"\xff\xc0\x80\xed\xa0\x80"',
    "a line break in a string": b'"a\nb"',
    "an integer too large": b"123456789012345678901234567890",
    "a number too large": b"-1e999",
}
LEFT_OUT = {
    "nested too deeply": b"[" * 5000 + b"]" * 5000,
    "no JSON": b"{nonsense}",
    "no such escape": b'"\\x"',
    "no such number": b"1e",
}


def raw(name, version, value, kind=None):
    """An object, or the event of one, with any bytes for a value."""
    text = json.dumps(thing(name, version, note="@")).encode().replace(b'"@"', value)
    return b'{"type": "%s", "object": %s}\n' % (kind.encode(), text) if kind else text


def bad_list(tap, api, watcher, request):
    """Among good ones, in a list: the good ones are told, the bad ones named."""
    request.reply(410, status(410, "Gone", "gone"))
    items = []
    for i, value in enumerate((*BAD.values(), *LEFT_OUT.values())):
        items += [raw(f"bad{i}", 60 + i, value), json.dumps(thing(f"good{i}", 60 + i)).encode()]
    items += [b'{"metadata": 5}', b'{"metadata": {"name": 7, "resourceVersion": []}}', b"{}",
              b'{"metadata": {"name": "twice", "name": "last", "namespace": "d", "uid": "u", "resourceVersion": "9"}}',
              raw("large", 90, b'"' + b"x" * (1 << 20) + b'"'), json.dumps(thing("last", 91, uid="u")).encode()]
    api.next().reply(200, b'{"kind": "PodList", "metadata": {"resourceVersion": "100"}, "items": [%s]}'
                     % b", ".join(items))
    lines = []
    while not lines or lines[-1] != "synced":
        lines += watcher.next()
    told = {line.split()[1]: line.split()[0] for line in lines if line.startswith(("added", "modified"))}
    named = {line.split()[2]: "left out" in line for line in lines if line.startswith("bad")}
    for i, what in enumerate(BAD):
        tap.check(f"in a list, one with {what} is reported tamed, and named", differs(
            (told.get(f"d/bad{i}"), named.get(f"d/bad{i}")), ("added", False)))
    for i, what in enumerate(LEFT_OUT, len(BAD)):
        tap.check(f"in a list, one that is {what} is left out, and named", differs(
            (told.get(f"d/bad{i}"), named.get(f"d/bad{i}")), (None, True)))
    tap.check("… and so is one that is too large, or has no name", differs(
        (told.get("d/large"), named.get("d/large"), named.get("an"), told.get("d/last")),
        (None, True, True, "modified")))
    tap.check("… and all others are reported", differs(
        [i for i in range(len(BAD) + len(LEFT_OUT)) if told.get(f"d/good{i}") != "added"], []))
    request = api.next()
    tap.check("… and the watch goes on from there", differs(
        (request.is_watch(), request.parameter("resourceVersion")), (True, "100")))
    return request


def bad_events(tap, api, watcher, request):
    request.head()
    version = 100
    for what, value in (BAD | LEFT_OUT).items():
        version += 2
        request.data(raw("good0", version - 1, value, "MODIFIED"))
        request.data(event("MODIFIED", thing("good1", version)))
        lines = watcher.next(2 if what in LEFT_OUT else 3)
        tap.check(f"in a watch, one that has or is {what} costs itself alone", differs(
            sorted(line.split()[0] for line in lines),
            ["bad", "modified"] if what in LEFT_OUT else ["bad", "modified", "modified"]))
    request.data(raw("good1", 140, LEFT_OUT["no JSON"], "MODIFIED"))
    request.data(raw("good2", 141, b'"' + b"x" * (1 << 20) + b'"', "MODIFIED"))
    watcher.next(2)
    request.end()
    request = api.next()
    tap.check("the version of one that is left out counts", differs(
        (request.is_watch(), request.parameter("resourceVersion")), (True, "141")))
    request.head()
    request.data(raw("good3", 142, LEFT_OUT["no JSON"], "DELETED"))
    tap.check("one that went is gone, readable or not", differs(
        watcher.next(2)[1], "deleted d/good3 u-good3 -"))
    request.data(event("BOOKMARK", {"metadata": {"resourceVersion": "150"}}))
    request.data(event("ERROR", status(410, "Expired", "too old resource version")))
    request = api.next()
    items = [raw("good1", 151, LEFT_OUT["no JSON"]), json.dumps(thing("good2", 151, uid="other")).encode()]
    request.reply(200, b'{"kind": "PodList", "metadata": {"resourceVersion": "160"}, "items": [%s]}'
                  % b", ".join(items))
    lines = []
    while not lines or lines[-1] != "synced":
        lines += watcher.next()
    tap.check("what is known of one that cannot be read any more stays: what it holds is not free", differs(
        ([line for line in lines if "good1 " in line and not line.startswith("bad")],
         "deleted d/good0 u-good0 -" in lines, "added d/good2 other 151" in lines), ([], True, True)))
    return api.next()


def gone(tap, api, watcher, request):
    request.head()
    request.data(event("ERROR", status(410, "Expired", "too old resource version")))
    request = api.next()
    tap.check("410 in the watch means a new list", differs(request.is_watch(), False))
    request.reply(200, page(40, [thing("a", 21), thing("c", 39)], more="n"))
    api.next().reply(410, status(410, "Expired", "the continue token is too old"))
    request = api.next()
    tap.check("410 in the list means all from the beginning", differs(
        (request.is_watch(), request.parameter("continue")), (False, None)))
    request.reply(200, page(41, [thing("c", 39), thing("e", 40)], more="n"))
    api.next().reply(200, page(41, [thing("d", 13, uid="u-other")]))
    lines = watcher.next(7)
    tap.check("what changed meanwhile is reported: modified, new, replaced, vanished", differs(
        (lines[0], lines[1].split()[0], sorted(lines[2:6]), lines[6]),
        ("modified d/c u-c 39", "trouble",
         ["added d/d u-other 13", "added d/e u-e 40", "deleted d/a u-a -", "deleted d/d u-d -"],
         "synced")))
    request = api.next()
    request.reply(410, status(410, "Gone", "gone"))
    request = api.next()
    tap.check("410 instead of a watch means a new list too", differs(request.is_watch(), False))
    request.reply(200, page(42, [thing("c", 39), thing("d", 13, uid="u-other"), thing("e", 40)]))
    tap.check("… which tells nothing that is known", differs(watcher.next(), ["synced"]))
    return api.next()


def repeated(tap, api, watcher, request):
    """Who is told has no memory for one of them."""
    request.head()
    request.data(event("ADDED", thing("too-much", 43)))
    watcher.next()
    request = api.next()
    tap.check("what could not be taken in leads to a new list", differs(request.is_watch(), False))
    request.reply(200, page(43, [thing("c", 39), thing("d", 13, uid="u-other")], more="n"))
    api.next().reply(200, page(43, [thing("e", 40), thing("too-much", 43)]))
    tap.check("… of which all is told again", differs(
        [" ".join(line.split()[:2]) for line in watcher.next(5)],
        ["modified d/c", "modified d/d", "modified d/e", "modified d/too-much", "synced"]))
    return api.next()


def half_open(tap, api, watcher, request, folder):
    request.head()
    (folder / "token").write_text("second\n", encoding="utf-8")
    request.end()
    request = api.next()
    request.reply(401, status(401, "Unauthorized", "the token ended"))
    request = api.next()
    tap.check("after 401 the token is read again",
              differs(request.fields["authorization"], "Bearer second"))
    watcher.next()
    request.head()
    request.data(event("BOOKMARK", {"metadata": {"resourceVersion": "50"}}))
    time.sleep(0.2)
    request.conn.is_deaf = True
    began = time.monotonic()
    request = api.next(timeout=60)
    took = time.monotonic() - began
    tap.check("a silent peer is noticed, and the watch continues on a new connection", differs(
        (request.parameter("resourceVersion"), took < 20, len(api.connections) > 1),
        ("50", True, True)))
    tap.check("… and says so", differs("silent" in watcher.next()[0], True))
    request.head()
    request.conn.sock.shutdown(2)
    request = api.next()
    tap.check("a connection that is cut is made again",
              differs(request.parameter("resourceVersion"), "50"))
    return request


def calls(tap, api, peer, config):
    def run(*args, answers):
        process = subprocess.Popen([peer, *args], stdout=subprocess.PIPE, text=True)
        seen = []
        for answer in answers:
            request = api.next()
            seen.append((request.method, request.body))
            answer(request)
        return process.communicate(timeout=20)[0].strip(), seen

    def answer(code, body, **fields):
        return lambda request: request.reply(code, body, **fields)

    out, _ = run("call", config, "GET", "/api/v1/nodes/n", answers=[
        answer(500, status(500, "InternalError", "oops")), answer(503, b"no JSON"),
        answer(200, thing("n", 1))])
    tap.check("a read is tried again after 5xx", differs(out, "200 []"))
    out, _ = run("call", config, "POST", "/api/v1/bindings", '{"a": 1}', answers=[
        answer(500, status(500, "InternalError", "oops"))])
    tap.check("a write that might have happened is not", differs(out, "500 [InternalError] oops"))
    out, seen = run("call", config, "POST", "/api/v1/bindings", '{"a": 1}', answers=[
        answer(429, status(429, "TooManyRequests", "later"), retry_after="0"),
        answer(201, thing("n", 1))])
    tap.check("… but after 429 it is", differs(
        (out, [json.loads(b) for _, b in seen]), ("201 []", [{"a": 1}, {"a": 1}])))
    out, _ = run("call", config, "GET", "/api/v1/nodes/n", answers=[
        answer(404, status(404, "NotFound", 'nodes "n" not found'))])
    tap.check("404 is an answer", differs(out, '404 [NotFound] nodes "n" not found'))
    out, _ = run("call", config, "GET", "/x", answers=[lambda request: request.reset()] * 4)
    tap.check("tries end", differs(out.startswith("0 [] "), True))
    out, _ = run("call", config, "GET", "/x", answers=[lambda r: None, answer(200, thing("n", 1))])
    tap.check("a try that hangs is abandoned", differs(out, "200 []"))
    out, seen = run("update", config, "/api/v1/nodes/n", "k", "v", answers=[
        answer(200, thing("n", 1)), answer(409, status(409, "Conflict", "modified")),
        answer(200, thing("n", 2)), answer(200, thing("n", 3))])
    versions = [json.loads(b)["metadata"]["resourceVersion"] for m, b in seen if m == "PUT"]
    tap.check("after 409 the object is read and changed again",
              differs((out, versions), ("200 []", ["1", "2"])))
    unreadable_calls(tap, run, answer, config)


# What stands in a single object that is read, for each of BAD; None: it is no string.
READ_AS = {"a NUL": "\ufffd", "a NUL byte": "a\ufffdb", "half a character": "\ufffdx", "the other half": "\ufffd",
           "bytes that are no UTF-8": "\ufffd" * 6, "a line break in a string": "a\ufffdb"}


def unreadable_calls(tap, run, answer, config):
    """One object that is asked for is read as in a list; and is never written back as something else."""
    for what, value in BAD.items():
        out, _ = run("call", config, "GET", "/api/v1/pods/n", answers=[answer(200, raw("n", 1, value))])
        tap.check(f"a single object with {what} is read as in a list", differs(
            out, f"200 [] note {READ_AS[what]}" if what in READ_AS else "200 []"))
        out, seen = run("update", config, "/api/v1/nodes/n", "k", "v", answers=[answer(200, raw("n", 1, value))])
        tap.check(f"… and with {what} is not written back as another", differs(
            (out[:40], [method for method, _ in seen]), ("0 [] the object holds characters or numbers that"[:40], ["GET"])))
    out, seen = run("update", config, "/api/v1/nodes/n", "k", "v", answers=[answer(200, LEFT_OUT["no JSON"])])
    tap.check("one that is no JSON is no success", differs((out[:5], len(seen)), ("0 [] ", 1)))


def main(peer):
    tap = Tap()
    api = FakeApi()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "token").write_text("first\n", encoding="utf-8")
        config = folder / "config"
        api.write_config(config, user="tokenFile: token")
        watcher = Watcher(peer, config, "/api/v1/pods", "fieldSelector=a%3Db", 2)
        request = first_list(tap, api, watcher)
        request = events(tap, api, watcher, request)
        request = troubles(tap, api, watcher, request)
        request = gone(tap, api, watcher, request)
        request = repeated(tap, api, watcher, request)
        request = half_open(tap, api, watcher, request, folder)
        request = bad_list(tap, api, watcher, request)
        request = bad_events(tap, api, watcher, request)
        request.head()
        tap.check("it ends in order", differs(watcher.program.stop()[0], 0))
        calls(tap, api, peer, config)
    tap.done()


main(*sys.argv[1:])
