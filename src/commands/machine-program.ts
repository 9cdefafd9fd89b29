import { Option, type Command } from 'commander';
import { described, MACHINE_VERBS, type MachineVerb } from '../domain/verbs.ts';
import { addConditionCommands } from './condition-program.ts';
import { examples } from './help.ts';
import { durationOf, someOf, wholeNumber, wordsOf } from './options.ts';
import { addDetails, bodyOf, targetAndFlags } from './verb-options.ts';
import { choosing, EXACT, MACHINE, selecting } from './remote/ask-flags.ts';
import { acting, byFlags, listing, remote, type Through } from './remote/flags.ts';
import type { MachinesFlags } from './remote/machines.ts';

/** Adds `machines`, and `machine` with its commands. */
export function addMachineCommands(cli: Command, through: Through = byFlags): void {
  addList(cli, through);
  addSsh(cli, through);
  const machine = cli
    .command('machine')
    .description('Look at one machine, or ask daemons to act on machines');
  addReading(machine, through);
  addConditionCommands(machine, through);
  for (const verb of MACHINE_VERBS) addVerb(machine, through, verb);
}

function addList(cli: Command, through: Through): void {
  const machines = remote(cli.command('machines'))
    .description('List the machines of the fleet with their states. Asks no provider')
    .option('--state <states>', 'Only machines in these states, separated by commas', wordsOf)
    .option('--provider <name>', 'Only machines of this provider');
  choosing(machines, (chosen) => `Only machines ${chosen}`)
    .option('--needs-human', 'Only machines that need a person', false)
    .option('--held', 'Only machines under a hold', false)
    .option('--filter <text>', 'Filter, in the language of the search field of the page')
    .option('--watch', 'Show every change until Ctrl-C', false);
  listing(machines).action(
    acting(through)(async () => async (session, flags: MachinesFlags & { watch: boolean }) => {
      if (!flags.watch) return (await import('./remote/machines.ts')).listMachines(session, flags);
      return (await import('./remote/watch.ts')).watchMachines(session, flags);
    }),
  );
  examples(
    machines,
    'shepherd machines --needs-human',
    'shepherd machines --state Recovering,Quarantined/needsHuman --sort -since',
    "shepherd machines --filter 'state:silent since>2h' -o wide",
    'shepherd machines --provider hetzner -o name | head -n 3',
  );
}

const SSH_HELP = `
Runs your own ssh with your own key. It accepts only the host key that Shepherd pinned for the machine, and
connects to the address and as the user that the provider lists. Shepherd's key never leaves the daemon.`;

function addSsh(cli: Command, through: Through): void {
  const ssh = remote(cli.command('ssh'))
    .argument('<machine>', MACHINE)
    .argument('[command...]', 'Command to run, after "--". Default: a login shell')
    .description('Log in to a machine with your own ssh, and check its pinned host key')
    .option('--user <name>', 'User name. Default: as the provider lists it')
    .option('--port <port>', 'Port. Default: as the address has it', wholeNumber(1, 65_535))
    .option('--identity <file>', 'Private key. Default: as your ssh chooses')
    .action(acting(through)(async () => (await import('./remote/ssh.ts')).openSsh));
  examples(
    ssh,
    'shepherd ssh rack/b4-07',
    'shepherd ssh b4-07 --user root -- journalctl -u shepherd-agent -n 50',
  ).addHelpText('after', SSH_HELP);
}

const HISTORY_LINES = 50;

const naming = (machine: Command, name: string): Command =>
  remote(machine.command(name)).argument('<machine>', MACHINE).option('--exact', EXACT, false);

function addReading(machine: Command, through: Through): void {
  const act = acting(through);
  const machineCommands = () => import('./remote/machine.ts');
  examples(
    naming(machine, 'show')
      .description('Show everything about one machine or slot')
      .action(act(async () => (await machineCommands()).showMachine)),
    'shepherd machine show rack/b4-07',
    'shepherd machine show 10.1.4.7 -o yaml',
  );
  examples(
    naming(machine, 'explain')
      .description('Explain why a machine is in its state, what blocks it, and what ends the block')
      .action(act(async () => (await machineCommands()).explainMachine)),
    'shepherd machine explain b4-07',
    'for m in $(shepherd machines --needs-human -o name); do shepherd machine explain $m; done',
  );
  examples(
    naming(machine, 'history')
      .description('Show the history of a machine, or of a slot and all its machines')
      .option('--limit <n>', 'Show at most this many lines, the latest ones', someOf, HISTORY_LINES)
      .action(act(async () => (await machineCommands()).showHistory)),
    'shepherd machine history rack/b4-07 --limit 200',
  );
  examples(
    naming(machine, 'wait')
      .description('Wait until the machine reaches the given state')
      .requiredOption(
        '--for <what>',
        'What to wait for: state=Running, state=Running/healthy, hold=KIND, no-hold=KIND or no-request',
      )
      .addOption(
        new Option('--timeout <duration>', 'Wait at most this long')
          .argParser(durationOf)
          .default(600_000, '10m'),
      )
      .action(act(async () => (await import('./remote/wait.ts')).waitForMachine)),
    'shepherd machine wait rack/b4-07 --for state=Running/healthy --timeout 5m',
    'shepherd machine wait rack/b4-07 --for no-request && echo done',
  ).addHelpText('after', '\nExit status: 0 reached, 1 can no longer be reached, 3 timed out.');
}

const WHY = "--reason 'kernel 6.12'";
const EXAMPLES: Readonly<Record<MachineVerb, readonly string[]>> = {
  'restart-agent': [`shepherd machine restart-agent rack/b4-07 --reason 'agent uses 2 GB'`],
  hold: [
    "shepherd machine hold rack/b4-07 --kind no-recover --until 2h --reason 'disk swap'",
    "shepherd machine hold rack/b4-09 --kind no-allocate --reason 'slot is broken'",
  ],
  unhold: ["shepherd machine unhold rack/b4-07 --kind no-recover --reason 'disk swapped'"],
  'clear-backoff': ["shepherd machine clear-backoff rack/b4-07 --reason 'key installed'"],
  withdraw: ["shepherd machine withdraw rack/b4-07 --reason 'not today'"],
  'cancel-install': ["shepherd machine cancel-install rack/b4-07 --reason 'wrong image'"],
  note: ["shepherd machine note rack/b4-07 'power supply replaced'"],
  label: [
    'shepherd machine label rack/b4-07 rack=b4 team-',
    'shepherd machine label rack=b4 --slots rack/b4-07,rack/b4-08 --expect-count 2',
  ],
  reboot: [
    `shepherd machine reboot rack/b4-07 ${WHY}`,
    `shepherd machine reboot --provider rack --state Running --dry-run ${WHY}`,
    `shepherd machine reboot --provider rack --state Running --expect-count 40 ${WHY}`,
  ],
  quarantine: ["shepherd machine quarantine rack/b4-07 --until 24h --reason 'forensics'"],
  release: [
    "shepherd machine release rack/b4-07 --reason 'cable replaced'",
    "shepherd machine release rack/b4-07 --forget-host-key --yes --reason 'new disk'",
  ],
  retire: ["shepherd machine retire rack/b4-07 --reason 'third disk in a year'"],
  unretire: ["shepherd machine unretire rack/b4-07 --reason 'board replaced'"],
  accept: ["shepherd machine accept rack/b4-07 --reason 'memory replaced'"],
  reinstall: [
    '# Without --yes the command only shows what would happen.',
    "shepherd machine reinstall rack/b4-07 --reason 'new base image'",
    "shepherd machine reinstall rack/b4-07 --yes --reason 'new base image'",
  ],
  install: [
    'shepherd machine install rack/b4-07 --image-url https://images.example.org/base.raw.zst \\',
    '  --sha256 "$SUM" --compression zstd --root-device name=nvme0n1 --reason release --yes',
  ],
  deprovision: [
    "shepherd machine deprovision hetzner/2345678 --reason 'contract ends'",
    "shepherd machine deprovision hetzner/2345678 --yes --reason 'contract ends'",
  ],
};

/** Adds the command that sends requests of one verb. */
function addVerb(machine: Command, through: Through, verb: MachineVerb): void {
  const { cli = verb, help, isOrder = false, reason } = described(verb);
  const command = machine.command(verb).argument('[machine]', MACHINE).description(cli);
  addDetails(command, verb);
  selecting(command, isOrder ? '0s, only send the request' : '30s', reason);
  examples(command, ...EXAMPLES[verb]);
  if (help !== undefined) command.addHelpText('after', help);
  command.action(async (...given: readonly unknown[]) => {
    const { momentOf, runVerb } = await import('./remote/verbs.ts');
    const { name, ...flags } = targetAndFlags(verb, given);
    const { from, until } = flags;
    const isRelative = [from, until].some((when) => when !== undefined && 'forMs' in when);
    const asked = { ...flags, waitMs: isOrder ? 0 : DECISION_WAIT_MS, isRelative };
    await through(flags, async (session) => {
      const nowMs = (from ?? until) === undefined ? 0 : await momentOf(session.client);
      const names = name === undefined ? [] : [name];
      return runVerb(session, bodyOf(verb, flags, nowMs), names, asked);
    });
  });
}

/** Daemons decide about these at once. An order takes its time, and the command does not wait for it. */
const DECISION_WAIT_MS = 30_000;
