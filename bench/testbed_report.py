# SPDX-License-Identifier: MIT
"""What testbed prints: figures side by side, and pictures."""

import json
import math
import statistics

WIDE = 72  # columns of the picture


def percentile(values, p):
    """The smallest value that p % are not above."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(p / 100 * len(ordered)) - 1)]


def figures(o, jobs, rows):
    """Of one run, in seconds of the recording."""
    alone = {j["name"]: j["alone"] for j in jobs}
    jct = {r["name"]: (r["end"] - r["submit"]) * o.compress for r in rows}
    slow = [jct[n] / alone[n] for n in jct]
    pauses = [r["pause_s"] for r in rows if r["pause_s"]]
    first = min(r["submit"] for r in rows)
    return {
        "jobs": len(rows),
        "completed": sum(r["state"] == "COMPLETED" for r in rows),
        "avg_jct_s": statistics.fmean(jct.values()),
        "p50_jct_s": percentile(jct.values(), 50),
        "p99_jct_s": percentile(jct.values(), 99),
        "makespan_s": (max(r["end"] for r in rows) - first) * o.compress,
        "gpu_hours": sum(r["gpu_seconds"] for r in rows) * o.compress / 3600,
        "worst_slowdown": max(slow),
        "mean_slowdown": statistics.fmean(slow),
        "fairness_jain": sum(slow) ** 2 / (len(slow) *
                                           sum(s * s for s in slow)),
        "resizes": sum(r["resizes"] for r in rows),
        "pause_median_s": statistics.median(
            p["median"] for p in pauses) if pauses else None,
        "pause_worst_s": max(p["worst"] for p in pauses) if pauses else None,
    }


LINES = [
    ("average JCT", "avg_jct_s", "{:.0f} s"),
    ("median JCT", "p50_jct_s", "{:.0f} s"),
    ("99 % of JCTs below", "p99_jct_s", "{:.0f} s"),
    ("makespan", "makespan_s", "{:.0f} s"),
    ("GPU-hours", "gpu_hours", "{:.1f}"),
    ("slowdown, mean", "mean_slowdown", "{:.2f}"),
    ("slowdown, worst", "worst_slowdown", "{:.2f}"),
    ("fairness (Jain's, of slowdowns)", "fairness_jain", "{:.2f}"),
    ("resizes", "resizes", "{:d}"),
    ("pause of a resize, median*", "pause_median_s", "{:.2f} s"),
    ("pause of a resize, worst*", "pause_worst_s", "{:.2f} s"),
    ("completed", "completed", "{:d}"),
]


def print_plan(o, jobs, dropped):
    print(f"{len(jobs)} jobs of {o.workload}, {o.compress:g} times faster, on "
          f"{o.nodes} nodes x {o.gpus_per_node} virtual GPUs.")
    for why, count in dropped.items():
        print(f"Left out: {count} that {why}.")
    print("Emulated: the time of a pass and its gradient's noise. Real: "
          "Slurm, MPI ranks,\nsums, measurements, resizes, checkpoints.",
          flush=True)


def print_table(mine):
    print(f"\n{'':32} {'sched/backfill':>15} {'sched/pollux':>15} {'ratio':>7}")
    for label, key, form in LINES:
        a, b = mine["backfill"][key], mine["pollux"][key]
        text = [form.format(v) if v is not None else "-" for v in (a, b)]
        ratio = f"{b / a:.3f}" if a and b is not None else "-"
        print(f"{label:32} {text[0]:>15} {text[1]:>15} {ratio:>7}")
    print("* of this machine's seconds; slowdown: JCT over the job's time "
          "alone at its fixed size")


def print_prediction(mine, predicted):
    print(f"\n{'average JCT':32} {'sched/backfill':>15} {'sched/pollux':>15} "
          f"{'ratio':>7}")
    for name, of in (("pollux-sim predicts", lambda s: predicted[s]),
                     ("measured", lambda s: mine[s]["avg_jct_s"])):
        a, b = of("backfill"), of("pollux")
        print(f"{name:32} {a:13.0f} s {b:13.0f} s {b / a:7.3f}")
    off = [mine[s]["avg_jct_s"] / predicted[s] - 1
           for s in ("backfill", "pollux")]
    ratio = (1 + off[1]) / (1 + off[0]) - 1
    print(f"{'difference':32} {off[0]:+14.1%} {off[1]:+15.1%} {ratio:+8.1%}")


def digit(gpus):
    return "0123456789abcdefg"[gpus] if gpus <= 16 else "+"


def print_picture(o, scheduler, rows):
    """A line a job: '.' it waits, a digit its GPUs (g: 16)."""
    first = min(r["submit"] for r in rows)
    scale = max(r["end"] - first for r in rows) / WIDE or 1
    print(f"\nGPUs a job over time, sched/{scheduler}; a column is "
          f"{scale * o.compress:.0f} s")
    for r in sorted(rows, key=lambda r: r["submit"]):
        line = ""
        for column in range(WIDE):
            at = first + (column + 0.5) * scale
            held = [s["gpus"] for s in r["shapes"]
                    if s["start"] <= at < s["end"]]
            if held:
                line += digit(held[-1])
            else:
                line += "." if r["submit"] <= at < r["end"] else " "
        print(f"{r['name'][:15]:15} {line}".rstrip())


def draw(path, o, runs):
    """The same as a picture; matplotlib knows the kinds of files."""
    try:
        import matplotlib
    except ImportError:
        print("no picture: install python3-matplotlib")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(len(runs), 1, figsize=(11, 9), sharex=True)
    for axis, (scheduler, rows) in zip(axes, runs.items()):
        first = min(r["submit"] for r in rows)
        for y, r in enumerate(sorted(rows, key=lambda r: -r["submit"])):
            axis.plot([(t - first) * o.compress / 3600
                       for t in (r["submit"], r["end"])], [y, y], ":",
                      color="grey", linewidth=0.8)
            for s in r["shapes"]:
                axis.barh(y, (s["end"] - s["start"]) * o.compress / 3600,
                          left=(s["start"] - first) * o.compress / 3600,
                          height=0.8, edgecolor="white", linewidth=0.3,
                          color=pyplot.cm.viridis(1 - s["gpus"] / 16))
                axis.text((s["start"] - first) * o.compress / 3600, y,
                          str(s["gpus"]), fontsize=5, va="center")
        axis.set_title(f"GPUs a job, sched/{scheduler}")
        axis.set_yticks([])
    axes[-1].set_xlabel("hours of the recording")
    figure.tight_layout()
    figure.savefig(path)
    print(f"picture: {path}")


def conclude(o, jobs, runs, predicted):
    mine = {s: figures(o, jobs, rows) for s, rows in runs.items()}
    for scheduler, rows in runs.items():
        print_picture(o, scheduler, rows)
    if o.picture:
        draw(o.picture, o, runs)
    print_table(mine)
    print_prediction(mine, predicted)
    if o.json:
        ratio = mine["pollux"]["avg_jct_s"] / mine["backfill"]["avg_jct_s"]
        print(json.dumps({
            "backfill": mine["backfill"], "pollux": mine["pollux"],
            "ratio": ratio,
            "predicted_ratio": predicted["pollux"] / predicted["backfill"],
            "predicted": predicted}))
    return 0 if all(m["completed"] == len(jobs) for m in mine.values()) else 1
