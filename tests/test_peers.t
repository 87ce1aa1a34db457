# SPDX-License-Identifier: MIT
# test_peers.t - what another user of the machine does to a run while it trains
#
# The other user is nobody, the run's is root: so it takes root. What he does
# to each socket by itself is in tests/unit/test_peers.c.
#
# In a network of its own: he takes all ports, and comes to all names there.
if [ "$(id -u)" = 0 ] && [ -z "${PEERS_APART:-}" ]; then
	PEERS_APART=1 exec unshare --net bash "$0"
fi
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1

use_build_tree
command -v mpirun >/dev/null || skip_all "there is no mpirun"
command -v pollux-train >/dev/null || skip_all "pollux-train is not built"
[ "$(id -u)" = 0 ] || skip_all "only root can be two users"
ip link set lo up || skip_all "there is no network of its own"
command -v setpriv >/dev/null || skip_all "there is no setpriv"
# Nobody may look into the folders of root's own.
python=/usr/bin/python3
[ -x $python ] || skip_all "there is no $python"
cd "$WORK" || exit 1
run=$(mktemp -d /tmp/plx.XXXXXX) && chmod 755 "$run"
export XDG_RUNTIME_DIR=$run
# Where others may lay folders, as in /tmp; nobody else's runs are attacked.
mkdir -m 1777 "$run/tmp" && export TMPDIR=$run/tmp
enemy=
trap 'kill $enemy 2>/dev/null; rm -rf "$run"; lib_end' EXIT
plan 9

samples=3000
mkdir samples
export POLLUX_SAMPLE_LOG=$WORK/samples

# In the background: what is started is $!, and ends with the test.
as_nobody() {
	exec setpriv --reuid=65534 --regid=65534 --clear-groups \
		--pdeathsig KILL "$@"
}

# All that nobody can do without knowing anything, again and again: he comes to
# every socket that he can see, says what ranks and launchers say, or nothing,
# takes names as they were made once, and lays folders in /tmp.
cat >enemy.py <<'END'
import os, re, socket, sys, time

pid, tmp, held = sys.argv[1], sys.argv[2], []
lines = [b"stop\n", b"done\n", b"hello ranks=9 nodes=9\ndone\n", b"", b"x" * 65536]

def come(name, what):
    s = socket.socket(socket.AF_UNIX)
    s.setblocking(False)
    try:
        s.connect(name)
        s.send(what)
    except OSError:
        return s.close()
    held.append(s)
    print("came to", name.replace("\0", "@"), flush=True)

def take(name):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.bind(name)
        s.listen(8)
        held.append(s)
    except OSError:
        s.close()

seen, round = set(), 0
while True:
    for line in open("/proc/net/unix"):
        name = line.split()[7:]
        if not name or not (re.match("@pollux[.][0-9a-f]{32}$", name[0])
                or name[0].startswith(tmp)):
            continue
        name = name[0]
        address = "\0" + name[1:] if name[0] == "@" else name
        if name not in seen:
            print("saw", name, flush=True)
            seen.add(name)
        come(address, lines[round % len(lines)])
    for generation in range(1, 9):
        take("\0pollux.0.%s.%d.%s" % (pid, generation, socket.gethostname()))
    for entry in os.listdir(tmp):
        if entry.startswith("pollux-") and not entry.endswith(".far"):
            try:
                os.mkdir("%s/%s.far" % (tmp, entry))
                os.chmod("%s/%s.far" % (tmp, entry), 0o777)
                take("%s/%s.far/socket" % (tmp, entry))
            except OSError:
                pass
    round += 1
    while len(held) > 500:
        held.pop(0).close()
    time.sleep(0.02)
END

launch() {
	pollux-launch --local -n 2 -d ckpt --name=job --params=min=1,max=4 \
		--json-log=json "$@" pollux-train --samples=$samples --batch=256 \
		--max-batch=256 --emulate-gpu=compute --epochs=1000000 >out 2>err &
	launcher=$!
}

trains_on() {
	pollux-launch --job=job --status | grep -q "^job: $1 rank.* training"
}

begin_enemy() {
	as_nobody $python enemy.py "$launcher" "$TMPDIR" >enemy.out 2>&1 &
	enemy=$!
	wait_until "[ -d '$TMPDIR' ] && kill -0 $enemy" 5
}

resizes() {
	local ranks
	for ranks in 3 1 2; do
		pollux-launch --job=job --resize=$ranks || return 1
		wait_until "trains_on $ranks" 20 || return 1
	done
}

handed_over() {
	cat err json
	[ "$(grep -c '"event":"resize"' json)" -eq 3 ] &&
		grep -c '"leave_s":0.0[,}]' json | grep -qx 3 &&
		! grep -q 'no shared memory\|no memory' out err
}

ended_well() {
	wait "$launcher"
	local code=$?
	cat err
	[ "$code" -eq 143 ]
}

came_to_memory() {
	cat enemy.out
	grep -q 'came to @pollux\.[0-9a-f]\{32\}$' enemy.out
}

all_samples() {
	bash "$POLLUX_SRCDIR/tests/samples.sh" samples $samples \
		"$(cat samples/* | awk 'NF == 5 && $2 > last { last = $2 }
			END { print last + 0 }')" so-far
}

# A port where the ranks are to meet is taken: by all that pollux-rank knows.
port_is_refused() {
	$python - "$POLLUX_BUILDDIR/src/launcher/pollux-rank" <<'END'
import os, socket, subprocess, sys

s = socket.socket()
s.bind(("0.0.0.0", 0))
s.listen(1)
port = str(s.getsockname()[1])
env = dict(os.environ, MASTER_PORT=port)
got = subprocess.run([sys.argv[1], "--bind=none", "--", "touch", "started"],
    env=env, capture_output=True, text=True)
print(got)
want = "pollux-rank: port " + port + ", where the ranks are to meet"
sys.exit(not (got.returncode == 250 and got.stderr.startswith(want)
    and not os.path.exists("started")))
END
}

# All ports are taken at the first starts; then they are free.
begins_on_another_port() {
	rm -rf ckpt json
	as_nobody $python - <<'END' &
import resource, socket, time

resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
held = []
for port in range(20000, 32000):
    s = socket.socket()
    try:
        s.bind(("127.0.0.1", port))
        s.listen(1)
        held.append(s)
    except OSError:
        s.close()
time.sleep(600)
END
	enemy=$!
	wait_until "[ \$(ss -Htln 'sport >= 20000 and sport < 32000' | wc -l) \
		-gt 11000 ]" 30
	launch
	wait_until "grep -q 'is taken by another program' out err" 30 || return 1
	kill "$enemy"
	wait_until "trains_on 2" 60
}

stops() {
	pollux-launch --job=job --stop
	wait "$launcher"
}

launch
ok "a run trains" wait_until "trains_on 2" 30
ok "another user comes to all that he can see" begin_enemy
ok "it is resized all the same" resizes
ok "through memory, whose name he could not take" handed_over
ok "whose socket he came to, and got nothing" came_to_memory
kill "$launcher"
ok "it trains on until its own user ends it" ended_well
ok "no sample is lost or repeated" all_samples
kill "$enemy"
wait "$enemy" 2>/dev/null
ok "ranks do not start where another program has their port" port_is_refused
ok "the next start has another port" begins_on_another_port
stops
