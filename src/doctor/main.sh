# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: MIT
#
# pollux-doctor - what is wrong with an installation, and how to mend it
#
# First facts are gathered, each into a file of one folder (facts.sh); then
# checks read these files alone (checks.sh). So what was seen elsewhere can be
# looked at (--from), and each check be tested with one word changed.
# make puts the files into one, with the table of params.c: what parameters the
# scheduler has, and their values.
#
# Exit codes: 0 nothing is wrong; 1 something is; 2 misuse.

set -u
export LC_ALL=C
libexec="@libexecdir@/pollux"
version="@PACKAGE_VERSION@"
plugindir="@plugindir@"

from='' save='' folder=. try='' form=people quiet=''
facts='' wrongs=0 warnings=0
down='' # slurmctld does not answer
declare -A config=()

checks="slurmctld versions scheduler submit option select parameters files
backfill preempt gres gpus devices accounting shapes comments prologs partitions pmix
openmpi cuda nccl launcher checkpoints memory sockets clock job"

usage() {
	cat <<'END'
Usage: pollux-doctor [OPTION...] [CHECK...]
  or:  pollux-doctor PYTHON SCRIPT
What is wrong with an installation of Pollux for Slurm, or with one's own
environment on this machine, and how to mend it: one line a check. Or with a
training script, as in: pollux-doctor python3 train.py

  -d, --checkpoint-dir=DIR   the folder that checkpoints will be in (default:
                             the working folder)
      --from=DIR             look at what --save kept, and run no command
      --json                 print JSON
  -l, --list                 name the checks
  -q, --quiet                only what is wrong, or may be
      --save=DIR             keep what is looked at, for somebody else to see
  -t, --try                  submit an elastic job that is held, change its
                             comment and cancel it
  -?, --help                 Give this help list
      --usage                Give a short usage message
  -V, --version              Print program version

Mandatory or optional arguments to long options are also mandatory or optional
for any corresponding short options.

Exit code: 0 nothing is wrong, 1 something is, 2 the command line is.
END
}

misuse() {
	[ -z "${1:-}" ] || echo "pollux-doctor: $1" >&2
	echo "Try 'pollux-doctor --help' or 'pollux-doctor --usage'" \
		"for more information." >&2
	exit 2
}

read_options() {
	local words
	words=$(getopt -n pollux-doctor -o '?Vd:lqt' -l \
		help,usage,version,checkpoint-dir:,from:,json,list,quiet,save:,try \
		-- "$@") || misuse
	eval set -- "$words"
	while [ "$1" != -- ]; do
		case $1 in
		-d | --checkpoint-dir) folder=$2 && shift ;;
		--from) from=$2 && shift ;;
		--save) save=$2 && shift ;;
		--json) form=json ;;
		-l | --list) tr ' ' '\n' <<<"$checks" && exit ;;
		-q | --quiet) quiet=yes ;;
		-t | --try) try=yes ;;
		--usage) echo 'Usage: pollux-doctor [-?Vlqt] [-d DIR]' \
			'[--checkpoint-dir=DIR] [--from=DIR] [--json] [--list]' \
			'[--quiet] [--save=DIR] [--try] [--help] [--usage]' \
			'[--version] [CHECK...]' && exit ;;
		-V | --version) echo "pollux-doctor $version" && exit ;;
		*) usage && exit ;;
		esac
		shift
	done
	shift
	for check; do
		[[ " ${checks//$'\n'/ } " == *" $check "* ]] ||
			misuse "'$check': no such check, see --list"
	done
	chosen=${*:-$checks}
}

choose_facts() {
	[ -z "$from" ] || [ -z "$save$try" ] ||
		misuse "--from looks at what is there: no --save, no --try"
	if [ -n "$from" ]; then
		[ -r "$from/config" ] || misuse "--from: no facts in '$from'"
		facts=$from
		read_config
		[ -z "$down" ] || read_file
	elif [ -n "$save" ]; then
		mkdir -p "$save" || misuse "--save: cannot write into '$save'"
		facts=$save
	else
		facts=$(mktemp -d) || exit 1
		trap 'rm -rf "$facts"' EXIT
	fi
}

# A script of the user's: what is said of it is python's to say, by the package
# itself (bindings/python/pollux/checkup.py).
is_program() {
	case ${1##*/} in
	python | python[0-9]* | torchrun | *.py) return 0 ;;
	esac
	return 1
}

check_program() {
	local python=python3 rc=0 why
	case ${1##*/} in
	python*) python=$1 && shift ;;
	torchrun)
		printf '%-9s %-11s %s\n' wrong torchrun "leave torchrun out: pollux-launch starts the ranks"
		rc=1
		shift
		;;
	esac
	# The script: what follows is its own.
	while [ $# -gt 0 ] && [[ $1 != *.py ]]; do
		shift
	done
	[ $# -gt 0 ] || misuse "which script? pollux-doctor python3 train.py"
	why=$("$python" -c 'import pollux' 2>&1) || {
		printf '%-9s %-11s %s\n' wrong package "$python: ${why##*$'\n'}: link the package into its environment, docs/python.md says how"
		return 1
	}
	"$python" -m pollux.checkup "$1" || rc=1
	return $rc
}

main() {
	local check chosen comma=''
	if [ $# -gt 0 ] && is_program "$1"; then
		check_program "$@"
		return
	fi
	read_options "$@"
	choose_facts
	[ -n "$from" ] || gather_all
	[ $form != json ] || printf '{"version":"%s","checks":[' "$version"
	for check in $chosen; do
		"check_$check"
	done
	[ $form != json ] ||
		printf '],"wrong":%d,"warnings":%d}\n' $wrongs $warnings
	[ $wrongs -eq 0 ]
}

main "$@"
