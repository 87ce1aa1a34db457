# SPDX-License-Identifier: MIT
#
# soak.py - all that can happen to a cluster, at random, while jobs are resized
#
# Run by tests/soak inside a sandbox. Every few tenths of a second one thing
# happens; every few seconds pollux-check looks for what must never be.
# The same seed gives the same row of events, not the same moments.

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

CHECK_EVERY_S = 4
RIGID_MAX = 8
NEVER = re.compile(r'fatal:|[Ss]egmentation|assertion|xmalloc|cycle skipped')


def run(*command, check=False, timeout=60):
    """Its output, or None when it failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    if check and done.returncode:
        print(f'# {" ".join(command)}: {done.stderr.strip()}', file=sys.stderr)
    return done.stdout if done.returncode == 0 else None


class Soak:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.sandbox = options.sandbox
        self.light = options.light
        self.log = f'{self.sandbox}/log/slurmctld.log'
        self.jobs = {}          # id: 'elastic' or 'rigid'
        self.later = []         # (when, what, *how) to be undone
        self.hurt = set()       # nodes that something is done to
        self.counts = {}
        self.found = {}
        self.slurm = set()      # what Slurm does wrong by itself
        self.offset = 0
        self.resizes = 0
        self.submitted = 0

    # What slurmctld said since the last time.
    def read_log(self):
        try:
            with open(self.log, errors='replace') as log:
                log.seek(self.offset)
                text = log.read()
                self.offset = log.tell()
        except OSError:
            return
        self.resizes += len(re.findall(r'JobId=\d+ has \d+ GPUs on', text))
        for line in text.splitlines():
            if NEVER.search(line):
                self.violate('log', line)

    def violate(self, kind, what):
        key = f'{kind}: {what}'
        if key not in self.found:
            print(f'# {time.strftime("%T")} {key}', file=sys.stderr)
        self.found[key] = self.found.get(key, 0) + 1

    def check(self, *more):
        out = subprocess.run([self.options.check, '--json', '--log', self.log,
                              *more], capture_output=True, text=True)
        if out.returncode == 2:
            return False        # slurmctld is away
        if not out.stdout:
            self.violate('check', out.stderr.strip().splitlines()[-1])
            return False
        told = json.loads(out.stdout)
        if told['found']:
            self.keep()
        for item in told['found']:
            self.violate(item['kind'], item['what'])
        self.slurm |= {f'{item["kind"]}: {item["what"]}'
                       for item in told['slurm']}
        return True

    def keep(self):
        """What Slurm says now, for whoever looks for the cause."""
        if not self.options.keep:
            return
        with open(f'{self.options.keep}/found.txt', 'a',
                  encoding='utf-8') as kept:
            kept.write(f'{time.strftime("%FT%T")}\n')
            for what in ('job', 'node', 'lic'):
                kept.write(run('scontrol', '-d', 'show', what) or '')
            kept.write(run('scontrol', 'show', 'assoc_mgr',
                           'flags=assoc,qos') or '')
            # A node stays completing for as long as one of these does.
            for line in (run('ps', '-eo', 'pid,etimes,args') or '').splitlines():
                if 'slurmstepd' in line or 'epilog' in line:
                    kept.write(line[:200] + '\n')

    def refresh(self):
        text = run('squeue', '-h', '-o', '%A')
        if text is not None:
            here = {int(job) for job in text.split()}
            self.jobs = {job: kind for job, kind in self.jobs.items()
                         if job in here}

    def count(self, kind):
        return sum(1 for value in self.jobs.values() if value == kind)

    def pick(self, kind=None):
        jobs = sorted(job for job, value in self.jobs.items()
                      if not kind or value == kind)
        return str(self.chance.choice(jobs)) if jobs else None

    def submit(self, kind, *command):
        out = run('sbatch', '--parsable', '-o', '/dev/null', *command)
        if out:
            self.jobs[int(out.split(';')[0])] = kind
            self.submitted += 1

    # The events.

    def elastic(self):
        if self.count('elastic') >= self.options.elastic:
            return
        c = self.chance
        low = c.choice((1, 1, 1, 2, 4))
        params = f'pollux,min={low},max={c.choice((4, 8, 16, 32))}'
        light = [self.light, '--log=/dev/null', '--restart=0', '--tell=5',
                 f'--whim={c.uniform(1, 3):.1f}',
                 f'--seconds={c.uniform(5, 60):.1f}']
        light += c.choice(([], ['--live'], ['--live=0.3'], ['--ack=0.3']))
        if c.random() < 0.03:
            light.append('--ack=never')
        if c.random() < 0.1:
            light.append('--no-hint')
        sbatch = [f'--scheduler-params={params}',
                  f'--priority={c.randint(1, 2000)}']
        if c.random() < 0.2:
            sbatch.append(f'--licenses=toy:{c.randint(1, 2)}')
        if c.random() < 0.2:
            sbatch.append(f'--mem-per-gpu={c.choice((10, 100))}')
        if c.random() < 0.3:
            sbatch.append(f'--cpus-per-gpu={c.choice((1, 2))}')
        if c.random() < 0.2:
            sbatch.append('--no-requeue')
        if c.random() < 0.1:
            sbatch.append('--array=1-2')
        step = ''
        if c.random() < 0.1:
            step = 'srun --overlap -n1 sleep 100 & '
        self.submit('elastic', *sbatch, '--wrap',
                    f'{step}exec {" ".join(light)}')

    def rigid(self):
        if self.count('rigid') >= RIGID_MAX:
            return
        c = self.chance
        seconds = c.choice((0, 1, 2, 5, 10))
        shape = c.choice((
            ['--gpus-per-node=1'], ['-N2', '--gpus-per-node=2'],
            ['-N3', '--gpus-per-node=4'], ['-n3'], ['-G3', '-n3'],
            ['--exclusive', '--gpus-per-node=4'], ['-N2', '-n4', '--mem=100'],
            ['--array=1-3', '--gpus-per-node=1'], ['--licenses=toy:1'],
            ['-N1', '-c4', '--gpus-per-node=2']))
        self.submit('rigid', *shape, f'--priority={c.randint(1, 3000)}',
                    '--wrap', f'srun --overlap -n1 true; sleep {seconds}')

    def cancel(self):
        job = self.pick()
        if job:
            run('scancel', job)

    def suspend(self):
        job = self.pick()
        if job and run('scontrol', 'suspend', job) is not None:
            self.after(1, 3, 'resume', job)

    def resume(self, job):
        run('scontrol', 'resume', job)

    def requeue(self):
        job = self.pick()
        if job and run('scontrol', 'requeue', job) is not None:
            # Or it waits two minutes.
            self.after(1, 2, 'begin', job)

    def begin(self, job):
        run('scontrol', 'update', f'job={job}', 'StartTime=now')

    def prioritise(self):
        job = self.pick()
        if job:
            run('scontrol', 'update', f'job={job}',
                f'priority={self.chance.randint(1, 3000)}')

    def hold(self):
        job = self.pick()
        if job and run('scontrol', 'hold', job) is not None:
            self.after(1, 3, 'release', job)

    def release(self, job):
        run('scontrol', 'release', job)

    def node(self):
        """One that nothing is done to, while enough are left."""
        free = sorted(set(self.options.nodes) - self.hurt)
        if len(self.hurt) >= max(1, len(self.options.nodes) // 4):
            return None
        node = self.chance.choice(free)
        self.hurt.add(node)
        return node

    def node_state(self, state):
        node = self.node()
        if node:
            run('scontrol', 'update', f'nodename={node}', f'state={state}',
                'reason=soak')
            self.after(1, 5, 'heal', node)

    def drain(self):
        self.node_state('drain')

    def down(self):
        self.node_state('down')

    def heal(self, node):
        run('scontrol', 'update', f'nodename={node}', 'state=resume')
        self.hurt.discard(node)

    def kill_node(self):
        node = self.node()
        if not node:
            return
        self.kill(node)
        run('scontrol', 'update', f'nodename={node}', 'state=down',
            'reason=soak')
        self.after(1, 4, 'start_node', node)

    def start_node(self, node):
        run('pollux-sandbox', 'restart', '--dir', self.sandbox, node,
            timeout=120)
        self.heal(node)

    def kill(self, daemon, how=signal.SIGKILL):
        try:
            with open(f'{self.sandbox}/run/{daemon}.pid') as pid:
                os.kill(int(pid.read()), how)
        except (OSError, ValueError):
            pass

    # What happens to machines, with --hosts.

    def sandbox_does(self, *words):
        return run('pollux-sandbox', words[0], '--dir', self.sandbox,
                   *words[1:], timeout=120)

    def power(self):
        """An operator says that it is down, or slurmctld finds out."""
        node = self.node()
        if not node:
            return
        self.sandbox_does('power', node, 'off')
        if self.chance.random() < 0.5:
            run('scontrol', 'update', f'nodename={node}', 'state=down',
                'reason=soak')
        self.after(1, 25, 'power_on', node)

    def power_on(self, node):
        if self.sandbox_does('power', node, 'on') is None:
            self.after(1, 3, 'power_on', node)
        else:
            self.heal(node)

    def cut(self):
        node = self.node()
        if node:
            self.sandbox_does('net', node, self.chance.choice(
                ('cut', 'cut-in', 'cut-out')))
            self.after(1, 25, 'join', node)

    def join(self, node):
        self.sandbox_does('net', node, 'heal')
        self.heal(node)

    def kill_dbd(self):
        self.kill('slurmdbd')
        self.after(1, 10, 'start_dbd')

    def start_dbd(self):
        run('pollux-sandbox', 'restart', '--dir', self.sandbox, 'slurmdbd',
            timeout=180)

    def reconfigure(self):
        run('scontrol', 'reconfigure')

    def restart(self):
        """Killed, or told to end."""
        if self.chance.random() < 0.7:
            self.kill('slurmctld')
        run('pollux-sandbox', 'restart', '--dir', self.sandbox, 'slurmctld',
            timeout=180)

    def after(self, low, high, what, *how):
        self.later.append((time.monotonic() + self.chance.uniform(low, high),
                           what, how))

    EVENTS = (
        ('elastic', 100), ('rigid', 60), ('cancel', 12), ('suspend', 6),
        ('requeue', 6), ('prioritise', 10), ('hold', 4), ('drain', 4),
        ('down', 3), ('kill_node', 2), ('reconfigure', 3), ('restart', 1))
    HOST_EVENTS = (('power', 3), ('cut', 3), ('kill_dbd', 1))

    def event(self):
        names, weights = zip(*self.EVENTS + (
            self.HOST_EVENTS if self.options.hosts else ()))
        name = self.chance.choices(names, weights)[0]
        self.counts[name] = self.counts.get(name, 0) + 1
        getattr(self, name)()

    def undo(self, all_of_it=False):
        now = time.monotonic()
        due = [item for item in self.later if all_of_it or item[0] <= now]
        self.later = [item for item in self.later if item not in due]
        for _, what, how in due:
            getattr(self, what)(*how)

    def fill(self):
        """Enough jobs that there is something to take from."""
        while self.count('elastic') < self.options.elastic // 2:
            before = self.submitted
            self.elastic()
            if self.submitted == before:
                break

    def go(self, end):
        check_s = time.monotonic() + CHECK_EVERY_S
        while time.monotonic() < end and \
                not 0 < self.options.resizes <= self.resizes:
            self.event()
            self.undo()
            self.refresh()
            self.fill()
            self.read_log()
            if time.monotonic() > check_s:
                self.check('--no-sacct')
                check_s = time.monotonic() + CHECK_EVERY_S
                if self.options.verbose:
                    print(f'# {time.strftime("%T")} {self.resizes} resizes, '
                          f'{self.submitted} jobs, {self.counts}',
                          file=sys.stderr)
            time.sleep(self.chance.uniform(0, 0.3))

    def idle(self):
        text = run('sinfo', '-h', '-N', '-o', '%n %T')
        busy = [line for line in (text or 'unknown').splitlines()
                if not line.endswith(' idle')]
        left = run('squeue', '-h', '-o', '%A %T')
        return busy + (left or '').splitlines()

    def completing_s(self):
        """Who is told to end a job while it is cut off is told again.

        Slurm does so KillWait + 2 MessageTimeout later, when it next purges.
        """
        text = run('scontrol', 'show', 'config') or ''
        told = {key: int(value) for key, value in
                re.findall(r'^(KillWait|MessageTimeout) *= (\d+) sec', text,
                           re.M)}
        return 90 + told.get('KillWait', 30) + \
            2 * told.get('MessageTimeout', 60)

    def settle(self):
        """All jobs end, all nodes come back: nothing may be left."""
        self.undo(all_of_it=True)
        end = time.monotonic() + self.completing_s()
        while True:
            for node in self.options.nodes:
                run('scontrol', 'update', f'nodename={node}', 'state=resume')
            run('scancel', '--user', str(os.getuid()))
            left = self.idle()
            if not left:
                break
            if time.monotonic() > end:
                self.violate('left', '; '.join(left))
                self.keep()
                break
            time.sleep(1)
        time.sleep(6)           # what is still on its way to slurmdbd
        self.read_log()
        if not self.check():
            self.violate('check', 'it could not look at the end')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--sandbox', required=True)
    parser.add_argument('--light', required=True)
    parser.add_argument('--check', required=True)
    parser.add_argument('--nodes', type=lambda text: text.split(','))
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--resizes', type=int, default=0)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--elastic', type=int, default=22, metavar='JOBS')
    parser.add_argument('--hosts', action='store_true')
    parser.add_argument('--keep', metavar='DIR')
    parser.add_argument('--verbose', action='store_true')
    soak = Soak(parser.parse_args())
    began = time.monotonic()
    soak.go(began + soak.options.seconds)
    took = time.monotonic() - began
    soak.settle()
    print(json.dumps({
        'resizes': soak.resizes, 'violations': len(soak.found),
        'seconds': round(took, 1), 'jobs': soak.submitted,
        'seed': soak.options.seed, 'events': soak.counts,
        'found': sorted(soak.found), 'slurm': sorted(soak.slurm)}))
    return 1 if soak.found else 0


if __name__ == '__main__':
    sys.exit(main())
