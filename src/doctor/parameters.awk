# SPDX-License-Identifier: MIT
#
# parameters.awk - the table of params.c as lines "KEY KIND LOW HIGH WANT"
#
# A row is { "key", AT(field), KIND, low, high, default, "want" }, over as many
# lines as it takes. Anything else between its braces ends make.

/^\t\{ "[a-z_]+", AT\(/ { row = "" ; open = 1 }
open { row = row " " $0 }
open && /\},$/ {
	open = 0
	rows++
	gsub(/[\t ]+/, " ", row)
	gsub(/" "/, "", row)
	if (!match(row, /"[^"]*" \},$/)) {
		print "no text: " row >"/dev/stderr"
		exit 1
	}
	want = substr(row, RSTART + 1, RLENGTH - 5)
	split(substr(row, 1, RSTART - 1), part, / *, */)
	key = part[1]
	gsub(/[{ "]/, "", key)
	if (want ~ /\047/ || part[4] part[5] !~ /^[-+.0-9e]+$/) {
		print "not numbers: " row >"/dev/stderr"
		exit 1
	}
	print key, part[3], part[4], part[5], want
}
END {
	if (!rows)
		exit 1
}
