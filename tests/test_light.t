# SPDX-License-Identifier: MIT
# test_light.t - the tests' own stand-in for launcher and ranks (light.c)
. "${POLLUX_SRCDIR:?}/tests/elastic.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/light.sh" || exit 1

sandbox_up --nodes 2 --gpus-per-node 4 \
	--params pollux_min_gap=0.2
plan 7

cold=$(submit_light cold pollux,max=8 -- --ack=0.2)
ok "a light job grows to eight GPUs" wait_until "has_gpus $cold 8" 30
ok "it stopped for that" wait_until "lit cold 'event=done .*gpus=8'" 10
rigid=$(submit_rigid -N2 --gpus-per-node=4 --priority=4294910000 -- 600)
# It was seen not to be, beside other tests: what it does instead is told.
parked() {
	wait_until "is_state $rigid RUNNING && lit cold event=parked" 30 && return
	cat "$WORK/cold.light"
	sb scontrol show job
	return 1
}
ok "it is parked for a job of higher priority" parked
sb scancel "$rigid" "$cold"

live=$(submit_light live pollux,max=8 -- --live=0.3 --samples=10000)
ok "another one grows handing over" \
	wait_until "lit live 'event=done .*gpus=8'" 30
ok "its ranks never stopped" fails lit live 'event=ack .*cold'
ok "it ends when it has trained enough" \
	wait_until "is_state $live COMPLETED" 60
ok "all nodes are idle, with no GPU allocated" wait_until cluster_is_idle 30
