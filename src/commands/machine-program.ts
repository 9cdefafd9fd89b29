import { Option, type Command } from 'commander';
import { described, MACHINE_VERBS, type MachineVerb } from '../domain/verbs.ts';
import { durationOf, someOf, wordsOf } from './options.ts';
import { addDetails, bodyOf, targetAndFlags } from './verb-options.ts';
import { choosing, selecting } from './remote/ask-flags.ts';
import { acting, byFlags, listing, remote, type Through } from './remote/flags.ts';
import type { MachinesFlags } from './remote/machines.ts';

/** Adds `machines`, and `machine` with its commands. */
export function addMachineCommands(cli: Command, through: Through = byFlags): void {
  addList(cli, through);
  const machine = cli.command('machine').description('look at a machine, or ask for something');
  addReading(machine, through);
  for (const verb of MACHINE_VERBS) addVerb(machine, through, verb);
}

function addList(cli: Command, through: Through): void {
  const machines = listing(cli.command('machines'))
    .description('the machines of the fleet and how they are; asks no provider')
    .option('--state <states>', 'only those in these: Running, Quarantined/needsHuman', wordsOf)
    .option('--provider <name>', 'only those of this provider');
  choosing(machines, (chosen) => `only those ${chosen}`)
    .option('--needs-human', 'only those that need a person', false)
    .option('--held', 'only those under a hold', false)
    .option('--filter <text>', 'as on the page: "state:silent since>2h rack7"')
    .option('--watch', 'go on with every change, until Ctrl-C', false)
    .action(
      acting(through)(async () => async (session, flags: MachinesFlags & { watch: boolean }) => {
        if (!flags.watch)
          return (await import('./remote/machines.ts')).listMachines(session, flags);
        return (await import('./remote/watch.ts')).watchMachines(session, flags);
      }),
    );
}

const HISTORY_LINES = 50;

const naming = (command: Command): Command =>
  remote(command).option('--exact', 'the whole name only, no beginning', false);

function addReading(machine: Command, through: Through): void {
  const act = acting(through);
  const machineCommands = () => import('./remote/machine.ts');
  naming(machine.command('show <machine>'))
    .description('everything about one machine, or about a slot')
    .action(act(async () => (await machineCommands()).showMachine));
  naming(machine.command('explain <machine>'))
    .description('why it is where it is, what stands in the way, and what would end it')
    .action(act(async () => (await machineCommands()).explainMachine));
  naming(machine.command('history <machine>'))
    .description('what happened to a machine; of a slot, to all machines that were on it')
    .option('--limit <n>', 'at most so many lines, the latest ones', someOf, HISTORY_LINES)
    .action(act(async () => (await machineCommands()).showHistory));
  naming(machine.command('wait <machine>'))
    .description('wait until a machine is so: exit 0 it is, 1 it cannot come to it, 3 it is late')
    .requiredOption('--for <what>', 'state=Running, state=Running/healthy, hold=<kind>, no-request')
    .addOption(
      new Option('--timeout <duration>', 'at most so long')
        .argParser(durationOf)
        .default(600_000, '10m'),
    )
    .action(act(async () => (await import('./remote/wait.ts')).waitForMachine));
}

/** A command that files requests of one verb. */
function addVerb(machine: Command, through: Through, verb: MachineVerb): void {
  const { cli = verb, help, isOrder = false, reason } = described(verb);
  const command = addDetails(machine.command(`${verb} [machine]`).description(cli), verb);
  selecting(command, isOrder ? '0s, it is only filed' : '30s', reason);
  if (help !== undefined) command.addHelpText('after', help);
  command.action(async (...given: readonly unknown[]) => {
    const { momentOf, runVerb } = await import('./remote/verbs.ts');
    const { name, ...flags } = targetAndFlags(verb, given);
    const { until } = flags;
    const isUntilRelative = until !== undefined && 'forMs' in until;
    const asked = { ...flags, waitMs: isOrder ? 0 : DECISION_WAIT_MS, isUntilRelative };
    await through(flags, async (session) => {
      const nowMs = until === undefined ? 0 : await momentOf(session.client);
      const names = name === undefined ? [] : [name];
      return runVerb(session, bodyOf(verb, flags, nowMs), names, asked);
    });
  });
}

/** An order takes its time, and is only filed. */
const DECISION_WAIT_MS = 30_000;
