/* SPDX-License-Identifier: MIT */
/* targets.h - every target: X(name) for the function fuzz_name() */
#ifndef PLX_FUZZ_TARGETS_H
#define PLX_FUZZ_TARGETS_H

#define FUZZ_TARGETS(X)                                                        \
	X(ask)                                                                 \
	X(csv)                                                                 \
	X(emulate)                                                             \
	X(events)                                                              \
	X(fence)                                                               \
	X(fields)                                                              \
	X(folder)                                                              \
	X(handed)                                                              \
	X(hear)                                                                \
	X(hint)                                                                \
	X(hold)                                                                \
	X(images)                                                              \
	X(keys)                                                                \
	X(ledger)                                                              \
	X(listen)                                                              \
	X(load)                                                                \
	X(local)                                                               \
	X(look)                                                                \
	X(manifest)                                                            \
	X(meet)                                                                \
	X(nodes)                                                               \
	X(note)                                                                \
	X(notice)                                                              \
	X(options)                                                             \
	X(params)                                                              \
	X(place)                                                               \
	X(proc)                                                                \
	X(record)                                                              \
	X(resident)                                                            \
	X(restore)                                                             \
	X(rows)                                                                \
	X(section)                                                             \
	X(snapshot)                                                            \
	X(spank)                                                               \
	X(stat)                                                                \
	X(steps)                                                               \
	X(status)                                                              \
	X(submit)                                                              \
	X(tail)                                                                \
	X(target)                                                              \
	X(traces)                                                              \
	X(usage)                                                               \
	X(view)                                                                \
	X(word)                                                                \
	X(workload)

#endif
