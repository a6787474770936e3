#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The demonstration's verdict: results as they must be pass, and each way in
# which they can be wrong fails with a message of what was expected.
set -u
cd "$(dirname "$0")/../.." || exit 1
exec python3 - "${B:-build}/userspace/examples/demo_report" <<'END'
import copy, json, os, subprocess, sys, tempfile

report = sys.argv[1]
n = 0
failed = 0


def rank(r, absent=None, step=40000):
    absent = absent or [0, 0, 0, 0]
    return {
        "single": False, "ranks": 4, "epochs": 20, "steps": 460,
        "seconds": 10, "right": 350, "held_out": 360, "accuracy": 350 / 360,
        "loss": 0.1, "digest": "00112233aabbccdd", "rank": r, "lane": "i32",
        "bound_us": 100000, "step_p50_us": 20000, "step_p99_us": 30000,
        "step_max_us": step, "sum_max_us": 30000, "absent_steps": absent,
        "absent_step_max_us": [150000 if a else 0 for a in absent],
        "absent_sum_max_us": [110000 if a else 0 for a in absent],
        "late": [], "unfinished": [], "chunks": 3220, "partial": 0,
        "voided": 0, "lost": 0, "repaired": 0, "missed_values": 0,
        "lost_values": 0, "rejoins": 0, "rejoin_ms": 0, "syncs": 0,
        "sync_ms": 0, "drifted": 0,
    }


def stats(xdp=2400, socket=0, drops=None):
    counts = dict.fromkeys(
        ["closes_partial", "aligned", "nacks_sent", "stales", "errors"], 0)
    counts.update(xdp_contrib=xdp, socket_contrib=socket, local_contrib=800,
                  closes_full=800)
    return {"stats": [{"group": 7, "name": "digits", "counts": counts,
                       "drops": drops or {"late": 0}}]}


def good():
    files = {"single.json": {"accuracy": 349 / 360, "loss": 0.11,
                             "steps": 460, "seconds": 5}}
    for r in range(4):
        files[f"plain/rank{r}.json"] = rank(r)
        files[f"stop/rank{r}.json"] = rank(r, [0, 0, 22, 0])
        files[f"plain/stats{r}.json"] = stats()
        files[f"stop/stats{r}.json"] = stats(drops={"late": 5, "tag": 0})
    files["stop/rank2.json"]["rejoins"] = 1
    files["stop/rank2.json"]["rejoin_ms"] = 90
    # The stopped one's own step is as long as it was stopped.
    files["stop/rank2.json"]["absent_step_max_us"] = [9e6] * 4
    return files


def run(files):
    with tempfile.TemporaryDirectory() as d:
        os.mkdir(f"{d}/plain")
        os.mkdir(f"{d}/stop")
        for name, content in files.items():
            with open(f"{d}/{name}", "w") as f:
                f.write(content if isinstance(content, str)
                        else json.dumps(content))
        p = subprocess.run([report, d, "4", "2", "250", f"{d}/out.json"],
                           capture_output=True, text=True)
        out = None
        if os.path.exists(f"{d}/out.json"):
            out = json.load(open(f"{d}/out.json"))
        return p, out


def result(ok, name, why):
    global n, failed
    n += 1
    print(f"{'ok' if ok else 'not ok'} {n} - {name}")
    if not ok:
        failed = 1
        for line in str(why).splitlines():
            print(f"# {line}")


def fails(name, words, change):
    files = good()
    change(files)
    p, out = run(files)
    told = out and not out["ok"] and any(words in f for f in out["failures"])
    result(p.returncode == 1 and words in p.stderr and told and
           "demo: ok" not in p.stdout, name, p.stdout + p.stderr)


p, out = run(good())
result(p.returncode == 0 and not p.stderr and
       p.stdout.splitlines()[-1].startswith("demo: ok: "), "all is well",
       p.stdout + p.stderr)
result(out and out["ok"] and out["plain"]["xdp_share"] == 1 and
       out["stop"]["absent_rank"] == 2 and out["stop"]["absent_steps"] == 22 and
       out["stop"]["drops"] == {"late": 20} and out["stop"]["identical"] and
       out["stop"]["others_step_max_us"] == 150000 and
       len(out["stop"]["ranks"]) == 4, "figures are added up", out)


def setter(file, **values):
    return lambda files: files[file].update(values)


fails("accuracy of one rank", "plain: expected an accuracy within",
      setter("plain/rank3.json", accuracy=0.94))
fails("accuracy with one stopped", "stop: expected an accuracy within",
      setter("stop/rank0.json", accuracy=0.93))
fails("single process learns nothing", "expected the single process",
      setter("single.json", accuracy=0.5))
fails("other weights", "expected identical weights, rank 1 has ffff",
      setter("stop/rank1.json", digest="ffffffffffffffff"))
fails("drifted", "the state of rank 1 differed",
      setter("stop/rank1.json", drifted=1))
fails("a rank did not finish", "rank 0 came to the end without all",
      setter("plain/rank0.json", unfinished=[3]))
fails("not stale", "expected rank 2 to be STALE",
      setter("stop/rank2.json", rejoins=0))
fails("a step beyond the bound", "expected no step of the others",
      setter("stop/rank1.json", absent_step_max_us=[0, 0, 351000, 0]))


def other_late(files):
    for r in range(4):
        files[f"stop/rank{r}.json"]["absent_steps"] = [0, 23, 22, 0]


def nobody_late(files):
    for r in range(4):
        files[f"stop/rank{r}.json"]["absent_steps"] = [0, 0, 0, 0]


def by_socket(files):
    for r in range(4):
        files[f"plain/stats{r}.json"] = stats(xdp=1200, socket=1200)


fails("another rank is late", "expected rank 2 to be named", other_late)
fails("nobody is late", "expected rank 2 to be named", nobody_late)
fails("summed by the socket path", "expected at least 90 %", by_socket)

# As long as some step took with nobody stopped, one may take with one stopped.
files = good()
files["plain/rank0.json"]["step_max_us"] = 600000
files["stop/rank1.json"]["absent_step_max_us"] = [0, 0, 690000, 0]
p, out = run(files)
result(p.returncode == 0, "a slow machine's bound", p.stderr)

for name, content in [("no JSON", "{"), ("a figure is missing", {}),
                      ("none", None)]:
    files = good()
    if content is None:
        del files["plain/rank1.json"]
    else:
        files["plain/rank1.json"] = content
    p, out = run(files)
    result(p.returncode == 1 and p.stderr.startswith("demo: ") and
           "demo: ok" not in p.stdout, f"result of a rank: {name}", p.stderr)
files = good()
files["plain/stats0.json"] = {"stats": []}
p, out = run(files)
result(p.returncode == 1 and "no statistics" in p.stderr, "no counters",
       p.stderr)
print(f"1..{n}")
sys.exit(failed)
END
