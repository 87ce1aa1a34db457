# SPDX-License-Identifier: MIT
# test_rehearsal.t - pollux-launch --local --rehearse: what is ready, and what is
# found out
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/python.sh" || exit 1
python_runs

# rehearse SCRIPT [EPOCHS]: what it says is in said.txt
rehearse() {
	mkdir -p "$WORK/rehearsal" && cd "$WORK/rehearsal" || return 1
	EPOCHS=${2:-100000} POLLUX_REHEARSAL_WAIT=$((30 * POLLUX_PATIENCE)) \
		pollux-launch --local --rehearse "$python" "$1" >said.txt 2>&1
	local rc=$?
	cat said.txt
	return $rc
}

# It ends by itself after some seconds, if nobody slows it down.
rehearsed() {
	rehearse "$bindings/examples/complete.py" 20 &&
		grep '^ready$' said.txt && ! grep '^problem' said.txt &&
		grep 'loss over the first [0-9]* steps: .* on one rank' said.txt &&
		grep 'the first [0-9]* steps are those of plain PyTorch' said.txt &&
		grep '^pollux: resized .* validation, after step' said.txt &&
		! ls -d pollux-* "${TMPDIR:-/tmp}"/pollux-rehearsal-*
}

# Each rank's loss counts as often as there are ranks.
rehearsed_apart() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/pollux.backward(loss)/pollux.backward(loss * pollux.world_size())/' \
			"$bindings/examples/train.py" >"$WORK/rehearsal/apart.py"
	fails rehearse apart.py &&
		grep '^problem: loss over .* the ranks train something else$' said.txt
}

# Its average forgets faster, the more ranks there are.
rehearsed_average() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/1 - DECAY/1 - 0.97 ** pollux.world_size()/' \
			"$bindings/examples/complete.py" >"$WORK/rehearsal/decay.py"
	fails rehearse decay.py &&
		grep '^problem: "average" has moved .* times as far as the weights in .* on one rank, .* on two$' said.txt
}

# Only rank 0 has an average.
rehearsed_rank0() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/if pollux.is_step():/if pollux.is_step() and pollux.rank() == 0:/' \
			"$bindings/examples/complete.py" >"$WORK/rehearsal/rank0.py"
	fails rehearse rank0.py &&
		grep '^problem: .*"average[^ ]*" differs between rank 0 and rank 1' said.txt
}

# Its average moves otherwise where pollux is not plain PyTorch.
rehearsed_kept() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/1 - DECAY/0.01 if hasattr(pollux.current(), "tail") else 0.02/' \
			"$bindings/examples/complete.py" >"$WORK/rehearsal/kept.py"
	fails alone kept.py &&
		grep '^step 1 is not that of plain PyTorch: "average[^ ]*" is .* apart' said.txt
}

# The same, and pollux is not told the loss.
rehearsed_untold() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/pollux.backward(loss)/(loss * pollux.world_size()).backward()/' \
			"$bindings/examples/train.py" >"$WORK/rehearsal/untold.py"
	fails rehearse untold.py &&
		grep '^problem: loss over .* the ranks train something else$' said.txt &&
		grep '^pollux: the first .* plain PyTorch: loss [1-9]' said.txt
}

other_rate="plain PyTorch: the learning rate is"

# Its schedule counts steps; that of pollux.LRScheduler() counts epochs.
rehearsed_unscheduled() {
	mkdir -p "$WORK/rehearsal" && sed -e '/^        scheduler.step/d' \
		-e 's/^\( *\)optimizer.step()/&\n\1scheduler.step()/' \
		"$bindings/examples/train.py" >"$WORK/rehearsal/schedule.py"
	fails alone schedule.py &&
		grep "^step 4 is not that of $other_rate 0.05, there 0.015\$" said.txt
}

# alone SCRIPT: the part of a rehearsal that is on one rank
alone() {
	cd "$WORK/rehearsal" || return 1
	EPOCHS=100000 "$python" - "$python" "$1" >said.txt 2>&1 <<-END
		import shutil, sys, tempfile
		from pollux import rehearse
		folder = tempfile.mkdtemp()
		problems = []
		rehearse.rehearse_alone(sys.argv[1:], folder + "/one", problems)
		shutil.rmtree(folder)
		print("\n".join(problems))
		sys.exit(len(problems))
	END
	local rc=$?
	cat said.txt
	return $rc
}

# What PyTorch would add to the gradient before, libpollux has zeroed.
rehearsed_unzeroed() {
	mkdir -p "$WORK/rehearsal" && {
		echo "from itertools import count; seen = count()"
		sed 's/optimizer.zero_grad()/if next(seen) % 2 == 0: &/' \
			"$bindings/examples/train.py"
	} >"$WORK/rehearsal/unzeroed.py"
	fails alone unzeroed.py &&
		grep '^step 2 is not that of plain PyTorch: weights are .* apart' said.txt
}

rehearsed_rule() {
	mkdir -p "$WORK/rehearsal" &&
		sed 's/^def main.*/&\n    pollux.init(lr_rule=lambda state: 2.0)/' \
			"$bindings/examples/train.py" >"$WORK/rehearsal/rule.py"
	fails alone rule.py &&
		grep "^step 1 is not that of $other_rate 0.1, there 0.05\$" said.txt
}

# In passes of 20 of 64 samples, fetched by workers; dropout, a layer that is
# frozen, noise of the script's own, AdamW, and no zero_grad().
rehearsed_by_chance() {
	local net='net = network()'
	net+='\n    net.insert(2, torch.nn.Dropout(0.3))'
	net+='\n    net[-1].requires_grad_(False)'
	mkdir -p "$WORK/rehearsal" && sed \
		-e 's/^def main.*/&\n    pollux.init(max_gpu_batch=20)/' \
		-e 's/max_batch_size=8 [*] BATCH/num_workers=2/' \
		-e "s/^\( *\)model = .*/\1$net\n\1model = pollux.DistributedDataParallel(net)/" \
		-e 's/optim.SGD(.*/optim.AdamW(model.parameters(), lr=0.003)/' \
		-e 's/optimizer.zero_grad()/images = images + torch.randn_like(images)/' \
		"$bindings/examples/train.py" >"$WORK/rehearsal/chance.py"
	[ "$(diff "$bindings/examples/train.py" "$WORK/rehearsal/chance.py" |
		grep -c '^>')" -eq 8 ] && alone chance.py &&
		grep 'the first [0-9]* steps are those of plain PyTorch: loss' said.txt
}

# As mpirun of Open MPI 5 ends what it says of an MPI_Abort().
rehearsed_nul() {
	"$python" - <<-'END'
		import os, tempfile
		from pollux import rehearse
		with tempfile.TemporaryDirectory() as folder:
		    with open(os.path.join(folder, "said"), "wb") as file:
		        file.write(b"a rank has ended\n\0\0Error: no such file\n")
		    job = rehearse.Job.__new__(rehearse.Job)
		    job._folder = folder
		    of_job = job.last_words("")
		    alone = rehearse._last_of(os.path.join(folder, "said"))
		    print(ascii(of_job), ascii(alone))
		    assert of_job == alone == "Error: no such file"
	END
}

# It reads what pollux-launch sets for each rank.
rehearsed_where() {
	mkdir -p "$WORK/rehearsal" && {
		echo "import os"
		echo "assert os.environ['LOCAL_RANK'] + os.environ['RANK'] == '00'"
		echo "assert os.environ['WORLD_SIZE'] == '1'"
		echo "os.listdir(os.environ['POLLUX_CHECKPOINT_DIR'])"
		cat "$bindings/examples/train.py"
	} >"$WORK/rehearsal/where.py"
	alone where.py &&
		grep 'the first [0-9]* steps are those of plain PyTorch: loss' said.txt
}

# It reads what only its first start has written.
rehearsed_broken() {
	mkdir -p "$WORK/rehearsal"
	{
		echo "import os"
		echo "if os.environ['POLLUX_GENERATION'] != '1':"
		echo "    raise ValueError('never twice')"
		cat "$bindings/examples/train.py"
	} >"$WORK/rehearsal/broken.py"
	fails rehearse broken.py &&
		grep '^problem: .*ValueError: never twice' said.txt
}

rehearsed_other() {
	fails pollux-launch --local --rehearse true 2>&1 |
		grep 'rehearse is for scripts of Python'
}

ok "a script that comes through a rehearsal is ready" rehearsed
ok "one that trains something else on two ranks is found out" rehearsed_apart
ok_thorough "so is one whose average is another one there" rehearsed_average
ok "or that only rank 0 has" rehearsed_rank0
ok "or that is not what plain PyTorch would have" rehearsed_kept
ok_thorough "so is one whose backward() pollux is not told of" rehearsed_untold
ok "one that is not what plain PyTorch would train is found out" \
	rehearsed_unscheduled
ok "so is one that adds up gradients" rehearsed_unzeroed
ok "so is a learning rate that is another one at the script's own batch" \
	rehearsed_rule
ok "dropout, noise and passes are as plain PyTorch has them" rehearsed_by_chance
ok "one that asks for its rank finds it, with plain PyTorch, too" rehearsed_where
ok "one that cannot be started twice is found out" rehearsed_broken
ok "NUL bytes between lines of ranks are in no sentence" rehearsed_nul
ok "a program that is no script of Python's is refused" rehearsed_other
plan "$tap_count"
