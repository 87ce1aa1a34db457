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
backfill gres gpus devices accounting shapes comments prologs partitions pmix
openmpi cuda nccl launcher checkpoints memory sockets clock job"

usage() {
	cat <<'END'
Usage: pollux-doctor [OPTION...] [CHECK...]
What is wrong with an installation of Pollux for Slurm, or with one's own
environment on this machine, and how to mend it: one line a check.

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

main() {
	local check chosen comma=''
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
