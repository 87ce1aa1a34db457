# SPDX-License-Identifier: MIT
"""Which jobs testbed replays, and what pollux-sim says about them."""

import csv
import json

from testbed_cluster import Failure

COLUMNS = ["name", "time", "application", "num_replicas", "batch_size"]
# Of a start, seconds of this machine: ranks, MPI, the first checkpoint.
START_S = 1.0
INTERVAL_S = 1.0  # from an event to a decision about it, of this machine


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or any(c not in rows[0] for c in COLUMNS):
        raise Failure(f"{path}: want columns {','.join(COLUMNS)}")
    try:
        return [{"name": r["name"], "submit": float(r["time"]),
                 "app": r["application"], "gpus": int(r["num_replicas"]),
                 "batch": int(r["batch_size"])} for r in rows]
    except ValueError as error:
        raise Failure(f"{path}: {error}") from None


def write(path, jobs):
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for j in jobs:
            out.writerow([j["name"], round(j["submit"]), j["app"], j["gpus"],
                          j["batch"]])


def simulate(place, o, jobs, policy, *more):
    """The JSON of a policy, and each job's row."""
    workload, rows = place.path("workload.csv"), place.path("sim.csv")
    write(workload, jobs)
    text = place.run(
        "src/sim/pollux-sim", f"--policy={policy}", f"--traces={o.traces}",
        f"--nodes={o.nodes}", f"--gpus-per-node={o.gpus_per_node}",
        "--json", f"--jobs={rows}", *more, workload)
    with open(rows, newline="") as file:
        return json.loads(text)["workloads"][0], list(csv.DictReader(file))


def choose(place, o):
    """Thin the workload; (jobs, {why left out: number})."""
    dropped = {}
    jobs = []
    for job in read(o.workload):
        if job["gpus"] > o.nodes * o.gpus_per_node:
            why = "want more GPUs than there are"
        elif job["submit"] >= 3600 * o.hours:
            why = f"come after {o.hours:g} hours"
        else:
            jobs.append(job)
            continue
        dropped[why] = dropped.get(why, 0) + 1
    if jobs:
        _, rows = simulate(place, o, jobs, "fifo", "--restart-delay=0")
        for job, row in zip(jobs, rows):
            job["alone"] = float(row["finish_s"]) - float(row["start_s"])
    short = [j for j in jobs if j["alone"] <= o.longest]
    if len(short) < len(jobs):
        dropped[f"take over {o.longest:g} s"] = len(jobs) - len(short)
    jobs = short[::o.every]
    if not jobs:
        raise Failure("no job is left; see --every, --hours and --longest")
    if len(short) > len(jobs):
        dropped[f"are not every {o.every}. one"] = len(short) - len(jobs)
    first = jobs[0]["submit"]
    for job in jobs:
        job["submit"] -= first
    return jobs, dropped


def predict(place, o, jobs):
    """Mean JCT of both schedulers, from the simulator."""
    pace = [f"--restart-delay={START_S * o.compress:g}",
            f"--interval={max(1, round(INTERVAL_S * o.compress))}"]
    backfill, _ = simulate(place, o, jobs, "fifo", *pace)
    pollux, _ = simulate(place, o, jobs, "pollux", "--remaining",
                         "--uniform=mostly", "--home=roams", *pace)
    return {"backfill": backfill["avg_jct_s"], "pollux": pollux["avg_jct_s"]}
