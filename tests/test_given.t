# SPDX-License-Identifier: MIT
# test_given.t - what researchers are told and given: scripts of their own,
# without Slurm
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1
python_runs

# launch FOLDER OPTIONS... PROGRAM...: all that is said is in said.txt
launch() {
	cd "$WORK/$1" || return 1
	shift
	EPOCHS=1 timeout 120 pollux-launch --local "$@" >said.txt 2>&1
	local rc=$?
	cat said.txt
	return $rc
}

# ---- names and folders ----

named_by_script() {
	mkdir -p names && cp "$bindings/examples/train.py" names/gan.v2.py &&
		launch names "$python" -u gan.v2.py &&
		grep 'pollux-launch: job gan.v2; .*its folder is .*/names/pollux-gan.v2$' said.txt &&
		[ -d pollux-gan.v2 ] && ! ls -d pollux-*python*
}

says_trained() {
	launch names "$python" gan.v2.py &&
		grep "already trained: all 1 epochs, in [0-9]* steps; delete $PWD/pollux-gan.v2 to begin anew" said.txt
}

trains_when_told() {
	launch names "$python" gan.v2.py >/dev/null && rm -r pollux-gan.v2 &&
		launch names "$python" gan.v2.py &&
		! grep 'already trained' said.txt && grep '^epoch 0' said.txt
}

is_up() {
	[ -e "$run/pollux/$1/socket" ]
}

# Two trainings of one name, in different places and in the same.
folders_apart() {
	cd "$WORK" && mkdir -p here || return 1
	pollux-launch --local bash -c 'sleep 60' >/dev/null 2>&1 &
	first=$!
	(cd here && exec pollux-launch --local bash -c 'sleep 60') \
		>here.txt 2>&1 &
	second=$!
	wait_until "is_up bash && is_up bash-2" 20 &&
		wait_until '[ -d here/pollux-bash ]' 20 &&
		launch here true && launch here bash -c true &&
		grep 'job bash-3; .*its folder is .*/here/pollux-bash-2$' \
			said.txt
	local rc=$?
	kill -TERM $first $second
	wait $first $second
	return $rc
}

# ---- starts ----

# Two ranks that know of each other, though each was to be started twice.
without_torchrun() {
	mkdir -p "$WORK/torchrun" && cat >"$WORK/torchrun/ddp.py" <<-'END'
		import os, sys
		sys.stdout.write("rank %s of %s\n" % (os.environ["RANK"],
		                                     os.environ["WORLD_SIZE"]))
	END
	launch torchrun -n 2 "$python" -m torch.distributed.run \
		--nproc_per_node=2 ddp.py &&
		grep 'leave torchrun out, pollux-launch starts the ranks, .*: running .* ddp.py' said.txt &&
		grep 'job ddp;' said.txt &&
		[ "$(grep -c '^rank [01] of 2$' said.txt)" -eq 2 ]
}

# A script of PyTorch alone, as docs/launch.md says: two ranks, three, one that
# is killed, then one.
moved_by_signal() {
	local victim script=$bindings/examples/train_on_signal.py
	mkdir -p "$WORK/signal/plain" && cd "$WORK/signal/plain" &&
		"$python" "$script" >plain.txt && cd .. || return 1
	pollux-launch --local -n 2 "$python" -u "$script" --pause=0.05 \
		>said.txt 2>&1 &
	launcher=$!
	trains_in train_on_signal 2 && resize_to 3 && resize_to 2 &&
		victim=$(pgrep -f "^$python -u $script" | tail -n 1) &&
		kill -KILL "$victim" &&
		wait_until 'grep "restart 1 of" said.txt' 30 && resize_to 1
	local rc=$?
	wait $launcher || rc=1
	cat said.txt
	[ $rc -eq 0 ] && same_states plain/state.pt \
		pollux-train_on_signal/state.pt
}

trains_in() {
	wait_until "pollux-launch --job=$1 --status 2>/dev/null |
		grep '^$1: $2 rank.* training'" 60
}

resize_to() {
	pollux-launch --job=train_on_signal --resize="$1" &&
		trains_in train_on_signal "$1"
}

same_states() {
	"$python" - "$@" <<-'END'
		import sys, torch
		one, two = (torch.load(path) for path in sys.argv[1:])
		apart = max(float((one["model"][name] - two["model"][name]).abs().max())
		            for name in one["model"])
		print("%d and %d steps, weights %.2g apart" %
		      (one["step"], two["step"], apart))
		sys.exit(one["step"] != two["step"] or apart > 1e-3)
	END
}

told_to_keep_its_size() {
	mkdir -p "$WORK/deaf" && launch deaf sleep 22 &&
		grep 'neither used libpollux nor caught signal SIGUSR1: until it does the job keeps its size' said.txt
}

# The next ranks take longer than they may.
warm_time_is_told() {
	mkdir -p "$WORK/warm" && cd "$WORK/warm" || return 1
	cat >slow.py <<-END
		import os, runpy, time
		time.sleep(0 if os.environ["POLLUX_GENERATION"] == "1" else 4)
		runpy.run_path("$bindings/examples/train.py", run_name="__main__")
	END
	EPOCHS=100000 pollux-launch --local --warm-timeout=1 "$python" slow.py \
		>said.txt 2>&1 &
	local launcher=$!
	wait_until "pollux-launch --job=slow --status | grep training" 30 &&
		pollux-launch --job=slow --resize=2
	wait_until "grep 'after the 1 s of --warm-timeout: give them longer' said.txt" 30 &&
		wait_until "pollux-launch --job=slow --status | grep '2 ranks.*training'" 60
	local rc=$?
	kill -TERM $launcher
	wait $launcher
	cat said.txt
	return $rc
}

# Its folder on a disk of 3 MB; the checkpoint has 4.
full_disk_is_named() {
	mkdir -p "$WORK/full" && cd "$WORK/full" || return 1
	sed 's/Linear(8 \* 16 \* 4, 16)/Linear(512, 2000), torch.nn.Linear(2000, 16)/' \
		"$bindings/examples/train.py" >big.py
	unshare -m sh -c "mkdir disk && mount -t tmpfs -o size=3m none disk &&
		EPOCHS=1 timeout 100 pollux-launch --local --max-restarts=0 \
			-d disk/run $python big.py" >said.txt 2>&1
	local rc=$?
	cat said.txt
	[ $rc -ne 0 ] &&
		grep "^pollux.library.Error: cannot save .*in $PWD/disk/run: cannot write: No space left" said.txt
}

# In an elastic job of Slurm's, but not by its launcher.
launcher_is_missed() {
	cd "$WORK" && SLURM_JOB_ID=1 POLLUX_PARAMS=pollux,max=4 EPOCHS=1 \
		"$python" "$bindings/examples/train.py" 2>&1 | tee alone.txt
	grep 'pollux: this job is elastic .* but it keeps its GPUs: pollux-launch has not started it; write: srun pollux-launch' alone.txt &&
		EPOCHS=1 "$python" "$bindings/examples/train.py" >alone.txt 2>&1 &&
		! grep 'has not started' alone.txt
}

# ---- metrics ----

tell() {
	pollux-launch --job="$1" "${@:2}"
}

trains_on() {
	tell "$1" --status | grep "^$1: $2 rank.* training"
}

# One of its ranks, by a signal that it cannot see.
kill_rank() {
	local victim
	victim=$(pgrep -f "^$python .*$1.py" | tail -n 1)
	kill -KILL "$victim" &&
		wait_until "grep 'restart 1 of' said.txt" 30
}

resized_and_killed() {
	mkdir -p "$WORK/measured" && cd "$WORK/measured" || return 1
	touch slow
	PYTHONPATH=$bindings/tests:$PYTHONPATH pollux-launch --local \
		"$python" "$bindings/tests/measured.py" 200 0.1 >said.txt 2>&1 &
	local launcher=$!
	wait_until "grep ' on 1$' said.txt" 60 && tell measured --resize=3 &&
		wait_until "grep ' on 3$' said.txt" 60 && kill_rank measured &&
		wait_until "trains_on measured 3" 60 &&
		tell measured --resize=2
	rm slow
	wait $launcher
	local rc=$?
	cat said.txt
	return $rc
}

# What the others had trained when a rank was lost is not trained again.
rescued() {
	cd "$WORK/measured" && grep 'rescued step\|restored step' said.txt
	local step
	step=$(sed -n 's/.*rescued step \([0-9]*\) .*/\1/p' said.txt | sort -n | tail -n 1)
	[ -n "$step" ] && grep "restored step $step," said.txt
}

# All samples of each epoch, once, with one rank, with three and with two; but
# for the step in which a rank was lost.
measured_exactly() {
	cd "$WORK/measured" && sed -n 's/^epoch [0-9]*: //p' said.txt | uniq -c
	[ "$(grep -c '^epoch ' said.txt)" -ge 195 ] &&
		[ "$(grep '^epoch ' said.txt | grep -vc \
			': 500.0 333500.0 evaluated: 18.0 438.0 on [123]$')" -le 1 ] &&
		! grep '^epoch ' said.txt | grep -v 'evaluated: 18.0 438.0 on [123]$' &&
		[ "$(sed -n 's/^epoch .* on //p' said.txt | sort -u | wc -l)" -eq 3 ]
}

# ---- the complete script ----

script_in_docs() {
	awk '/^```$/ { if (shown) exit }
		shown
		/^```python$/ { shown = 1 }' "$POLLUX_SRCDIR/docs/python.md" |
		diff - "$bindings/examples/complete.py"
}

# Slowed down, so that there is something to be resized.
complete_elastic() {
	mkdir -p "$WORK/complete" && cd "$WORK/complete" || return 1
	touch slow
	cat >whole.py <<-END
		import os, runpy, time
		from torch.optim import SGD
		step = SGD.step
		def slowly(self):
		    time.sleep(0.05 if os.path.exists("slow") else 0)
		    return step(self)
		SGD.step = slowly
		runpy.run_path("$bindings/examples/complete.py", run_name="__main__")
	END
	EPOCHS=30 pollux-launch --local "$python" whole.py >said.txt 2>&1 &
	local launcher=$!
	wait_until "trains_on whole 1 && grep '^epoch 0' said.txt" 60 &&
		tell whole --resize=2 && wait_until "trains_on whole 2" 60 &&
		kill_rank whole && wait_until "trains_on whole 2" 60
	rm slow
	wait $launcher
	local rc=$?
	cat said.txt
	return $rc
}

# Steps never fall, the last epoch is 5 behind the best, weights can be loaded.
# Who is lost behind a line and before its step is saved leaves that line.
complete_results() {
	cd "$WORK/complete" && cat results/curves.jsonl &&
		jq -es '[.[].step] | . == sort and (unique | length >= 6)' \
			results/curves.jsonl || return 1
	jq -es '[group_by(.step)[] | last.accuracy] |
			(index(max) == length - 6) and max > 0.6' \
		results/curves.jsonl || return 1
	"$python" - results/best.pt results/last.pt <<-END
		import runpy, sys, torch
		network = runpy.run_path("$bindings/examples/complete.py")["network"]
		for path in sys.argv[1:]:
		    network().load_state_dict(torch.load(path))
	END
}

# The package is linked into the environment.
in_a_venv() {
	cd "$WORK" && "$python" -m venv --without-pip --system-site-packages env ||
		return 1
	ln -s "$bindings/pollux" env/lib/python3.*/site-packages/ || return 1
	mkdir -p venv && env -u PYTHONPATH EPOCHS=1 POLLUX_LIBRARY="$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" \
		timeout 100 pollux-launch --local -n 2 -d venv/run \
		env/bin/python3 "$bindings/examples/train.py"
}

# ---- containers ----

# Its gradient is a message of 4 MB.
make_wide() {
	mkdir -p "$WORK/wide" && {
		sed 's/^    return torch.nn.Sequential($/    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(256, 4096), torch.nn.Linear(4096, 16))\n\n\ndef other():\n&/' \
			"$bindings/examples/train.py"
	} >"$WORK/wide/wide.py"
}

# apart COMMAND...: two ranks, each in namespaces that COMMAND makes. It may
# have hung or crashed.
apart() {
	make_wide && cd "$WORK/wide" && rm -rf run || return 1
	EPOCHS=1 timeout 100 pollux-launch --local --name=wide -n 2 \
		--max-restarts=0 --params=max-batch=64 -d run \
		"$@" "$python" "$WORK/wide/wide.py" >said.txt 2>&1
	local rc=$?
	cat said.txt
	[ $rc -eq 0 ] && grep '^epoch 0: loss' said.txt
}

# box: runs a program in a container of its own, with the system's programs and
# ours, and of the variables those that docs/python.md names.
make_box() {
	cat >"$WORK/box" <<-END
		#!/bin/bash
		kept=(--clearenv --setenv PATH /usr/bin --setenv PYTHONPATH "$bindings")
		for name in \$(compgen -e); do
		    case \$name in
		    POLLUX_* | PMIX_* | OMPI_* | SLURM_* | PYTHONUNBUFFERED)
		        kept+=(--setenv "\$name" "\${!name}") ;;
		    TMPDIR | RANK | *_RANK | *_SIZE | MASTER_* | OMP_* | EPOCHS)
		        kept+=(--setenv "\$name" "\${!name}") ;;
		    esac
		done
		exec bwrap "\${kept[@]}" --ro-bind /usr /usr --ro-bind /etc /etc \
		    --ro-bind /sys /sys --symlink usr/lib /lib \
		    --symlink usr/lib64 /lib64 --symlink usr/bin /bin \
		    --proc /proc --dev /dev --tmpfs /tmp --tmpfs /var \
		    --unshare-user --unshare-pid --unshare-ipc --unshare-uts \
		    --ro-bind "$POLLUX_BUILDDIR" "$POLLUX_BUILDDIR" \
		    --ro-bind "$POLLUX_SRCDIR" "$POLLUX_SRCDIR" \
		    --bind "$WORK/wide" "$WORK/wide" --bind "$run" "$run" \
		    --chdir "$WORK/wide" -- \
		    env POLLUX_LIBRARY="$POLLUX_BUILDDIR/src/agent/.libs/libpollux.so.0" "\$@"
	END
	chmod +x "$WORK/box"
}

# A small gradient, which is enough for the crash and fast on TCP.
in_a_container() {
	make_wide && make_box && cd "$WORK/wide" && rm -rf run || return 1
	EPOCHS=100000 TMPDIR=$run pollux-launch --local --name=boxed \
		--params=max=2 -d "$WORK/wide/run" "$WORK/box" \
		"$python" "$bindings/examples/train.py" >said.txt 2>&1 &
	local launcher=$!
	wait_until "trains_on boxed 1 && grep '^epoch 0' said.txt" 60 &&
		tell boxed --resize=2 && wait_until "trains_on boxed 2" 60 &&
		sleep 1 && tell boxed --stop
	wait $launcher
	local rc=$?
	cat said.txt
	[ $rc -eq 0 ] && grep 'pollux: 2 ranks on 1 node over mpi' said.txt &&
		grep ': 1 -> 2 ranks on .*, pause' said.txt &&
		! grep 'ranks failed' said.txt
}

# ---- pollux-doctor ----

doctor_reads() {
	cd "$WORK" && printf '%s\n' "import pollux" \
		"from torch.utils.data import DistributedSampler" \
		"s = DistributedSampler(range(8))" >sampled.py
	pollux-doctor "$python" "$bindings/examples/train.py" >well.txt
	local rc=$?
	cat well.txt
	[ $rc -eq 0 ] && [ "$(grep -c '^ok ' well.txt)" -eq 5 ] &&
		grep "^ok  *python .*$python" well.txt &&
		grep '^ok  *torch  *PyTorch [0-9]' well.txt || return 1
	pollux-doctor "$python" -u sampled.py --lr 1 >ill.txt
	rc=$?
	cat ill.txt
	[ $rc -eq 1 ] && grep '^wrong  *sampler  *line 3: ' ill.txt || return 1
	fails pollux-doctor torchrun --nproc_per_node=2 sampled.py >ill.txt
	grep '^wrong  *torchrun  *leave torchrun out' ill.txt || return 1
	env -u PYTHONPATH pollux-doctor "$python" sampled.py >ill.txt
	rc=$?
	cat ill.txt
	[ $rc -eq 0 ] || grep '^wrong  *package .*No module named .pollux' ill.txt
}

# ---- other frameworks ----

# framework NAME TRAINED: its example on one rank, then on two, with stubs of
# it.
framework() {
	local name=$1
	mkdir -p "$WORK/$name" && cd "$WORK/$name" || return 1
	PYTHONPATH=$bindings/tests/stubs:$PYTHONPATH STUB_STEP=0.05 \
		pollux-launch --local --params=max=2 --name="$name" \
		"$python" "$bindings/examples/with_$name.py" >said.txt 2>&1 &
	local launcher=$!
	wait_until "trains_on $name 1" 60 && sleep 2 && tell "$name" --resize=2
	wait $launcher
	local rc=$?
	cat said.txt
	[ $rc -eq 0 ] && grep ': 1 -> 2 ranks on' said.txt &&
		! grep 'failed\|tidies up\|Error' said.txt &&
		[ "$(grep -c "^trained $2, batch 32 a rank\$" said.txt)" -eq 2 ] &&
		train_one_model && alone "$name"
}

# The two ranks have half a batch each, and the same weights at the end. What
# two ranks say may be on one line.
train_one_model() {
	[ "$(grep -o 'stub: batches of 32' said.txt | wc -l)" -eq 2 ] &&
		grep -o 'stub: weights [0-9a-f]*' said.txt | sort | uniq -c |
		grep '^ *2 stub: weights'
}

# Without a launcher, too.
alone() {
	mkdir alone && cd alone &&
		PYTHONPATH=$bindings/tests/stubs:$PYTHONPATH EPOCHS=1 STEPS=5 \
		"$python" "$bindings/examples/with_$1.py" &&
		! ls ./pollux-*
}

ok "a local job and its folder are called after the script" named_by_script
ok "a script that has been trained says so, and how to begin anew" says_trained
ok "without its folder it begins anew" trains_when_told
ok "jobs of one name in two places have folders without a number" folders_apart
ok "torchrun is left out: ranks are the launcher's" without_torchrun
ok "a script with PyTorch's DDP and a signal is resized, killed, and right" \
	moved_by_signal
ok "a program that nobody can resize is told so" told_to_keep_its_size
ok "next ranks that are late are told, with --warm-timeout" warm_time_is_told
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	ok "a full disk is told with the folder" full_disk_is_named
else
	skip "a full disk is told with the folder" "needs root"
fi
ok "an elastic job without its launcher is told how to have it" \
	launcher_is_missed
ok "a training with metrics is resized, and loses a rank" resized_and_killed
ok "the others save what they have trained, metrics or not" rescued
ok "its metrics are those of each sample, once, on any number of ranks" \
	measured_exactly
ok "the complete script of docs/python.md is the example" script_in_docs
ok "it is resized, loses a rank and ends" complete_elastic
ok "its best model, early stop and curves come through that" complete_results
if "$python" -m venv --help >/dev/null 2>&1; then
	ok "a venv finds the package that is linked into it" in_a_venv
else
	skip "a venv finds the package that is linked into it" "no python3-venv"
fi
if unshare -Urpf --mount-proc true 2>/dev/null; then
	ok "ranks in namespaces of users of their own train" apart unshare -Ur
	ok "so do ranks with process numbers of their own" \
		apart unshare -Urpf --mount-proc
else
	skip "ranks in namespaces of their own train" "no namespaces for us here"
fi
if bwrap --ro-bind / / --unshare-user true 2>/dev/null; then
	ok "a training in containers is resized in memory" in_a_container
else
	skip "a training in containers is resized in memory" "no bubblewrap"
fi
ok "a Trainer of transformers is saved, and goes on with two ranks" \
	framework transformers "200 steps"
ok_thorough "so does a loop with accelerate" framework accelerate "5 epochs"
ok_thorough "so does a Trainer of Lightning" framework lightning "5 epochs"
ok "pollux-doctor reads a script" doctor_reads
plan "$tap_count"
