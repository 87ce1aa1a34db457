# SPDX-License-Identifier: MIT
# check_dashboard.t - the Grafana dashboard is whole; see also test_explain.t
#
# There its queries are held against what a live slurmctld exports.
. "${POLLUX_SRCDIR:?}/tests/lib.sh" || exit 1
. "${POLLUX_SRCDIR:?}/tests/metrics.sh" || exit 1

command -v jq >/dev/null || skip_all "jq is not installed"

# none FILTER: the dashboard has nothing of this kind.
none() {
	local found
	found=$(jq -c "$1" "$dashboard") || return
	echo "$found"
	[ -z "$found" ]
}

panels='.panels[] | select(.type != "row")'

# As Grafana would have filled them in, for promtool.
rules() {
	echo 'groups: [{ name: dashboard, rules: ['
	jq -r '.. | objects | .expr? // empty |
		gsub("\\$__rate_interval"; "5m") | gsub("\\$instance"; "x") |
		"{ record: a:b:c, expr: \(@json) },"' "$dashboard"
	echo ']}]'
}

queries_parse() {
	rules >"$WORK/rules.yml"
	promtool check rules "$WORK/rules.yml"
}

# Text as slurmctld writes it, but for one thing each.
faults_are_found() {
	local fault i
	{
		echo '# HELP pollux_gpus GPUs.'
		echo '# TYPE pollux_gpus gauge'
		for ((i = 1; i < 40; i++)); do
			echo "pollux_gpus{state=\"s$i\"} $i"
		done
		printf '# %s\n' 'HELP pollux_jobs Jobs.' 'TYPE pollux_jobs gauge'
		echo 'pollux_jobs 3'
	} >"$WORK/good"
	well_formed "$WORK/good" || return
	for fault in 1d 2d '1s/.*/&\n&/' '2s/.*/&\n&/' '2s/gauge/guess/' \
		'2s/gauge/counter/' '5s/.*/&\n&/' '5s/[0-9]*$/many/' \
		'5s/gpus/nodes/' '5s/"}/}/' '5{h;d};$G' '$d'; do
		sed "$fault" "$WORK/good" >"$WORK/bad"
		well_formed "$WORK/bad" >/dev/null || continue
		echo "passes: $fault"
		return 1
	done
}

# An empty answer that is only empty because nothing was read would pass all.
questions_are_found() {
	asked >"$WORK/asked"
	cat "$WORK/asked"
	grep -qx 'pollux_gpus state rigid' "$WORK/asked" &&
		grep -qx 'pollux_resizes_total kind' "$WORK/asked" &&
		grep -qx 'pollux_lock_held_seconds_bucket lock' "$WORK/asked"
}

plan 10
ok "the dashboard is JSON" jq -e '.panels | length > 20' "$dashboard"
ok "each panel has a title, a unit, and says what it shows" none "$panels |
	select((.title // \"\") == \"\" or (.description // \"\" | length) < 30 or
		(.fieldConfig.defaults.unit // \"\") == \"\") | .title"
ok "each panel asks something of the chosen Prometheus" none "$panels |
	select((.targets | length) == 0 or
		.datasource.uid != \"\${datasource}\") | .title"
ok "each asks for the chosen slurmctld alone" none '.. | objects |
	.expr? // empty | select(test("pollux_[a-z_]+(?![a-z_{])") or
	test("\\{(?!instance=\"\\$instance\")"))'
ok "what it is chosen from are variables" jq -e \
	'[.templating.list[].name] == ["datasource", "instance"]' "$dashboard"
ok "panels have ids of their own" none \
	'[.panels[].id] | select(length != (unique | length))'
ok "panels lie side by side, not on each other" none '
	[.panels[].gridPos] | . as $all | range(length) as $i |
	range($i) as $k | $all[$i] as $a | $all[$k] as $b |
	select($a.x + $a.w > 24 or ($a.x < $b.x + $b.w and $b.x < $a.x + $a.w and
		$a.y < $b.y + $b.h and $b.y < $a.y + $a.h)) | [$a, $b]'
if command -v promtool >/dev/null; then
	ok "promtool understands each query" queries_parse
else
	skip "promtool understands each query" "no promtool"
fi
ok "names, labels and values are found in queries" questions_are_found
ok "a fault in exported text is found" faults_are_found
