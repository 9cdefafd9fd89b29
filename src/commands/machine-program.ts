import { Option, type Command } from 'commander';
import { HOLD_KINDS, type HoldKind } from '../domain/machine.ts';
import type { TraitFilter } from '../domain/traits.ts';
import {
  askOptionsOf,
  choosing,
  reading,
  selecting,
  selectorOf,
  tell,
  type ReadFlags,
  type VerbFlags,
} from './machine/flags.ts';
import {
  drainOf,
  imageOf,
  rootDeviceOf,
  someOf,
  untilMsOf,
  whenOf,
  wordsOf,
  type DrainFlags,
  type ImageFlags,
  type When,
} from './machine/options.ts';
import type { Wish } from './machine/verbs.ts';

/** Adds `machines`, and `machine` with its commands. */
export function addMachineCommands(cli: Command): void {
  addList(cli);
  const machine = cli.command('machine').description('look at a machine, or ask for something');
  addReading(machine);
  addOrders(machine);
  addWithdraw(machine);
  addDecisions(machine);
  addInstall(machine);
}

interface ListFlags extends ReadFlags, TraitFilter {
  readonly state?: readonly string[];
  readonly provider?: string;
  readonly needsHuman: boolean;
  readonly held: boolean;
}

function addList(cli: Command): void {
  const machines = reading(cli.command('machines'))
    .description('the machines of the fleet and how they are; asks no provider')
    .option('--state <states>', 'only those in these: Running, Quarantined/needsHuman', wordsOf)
    .option('--provider <name>', 'only those of this provider');
  choosing(machines, (chosen) => `only those ${chosen}`)
    .option('--needs-human', 'only those that wait for a person', false)
    .option('--held', 'only those under a hold', false)
    .action(async ({ state, ...flags }: ListFlags) => {
      const { listMachines } = await import('./machine/listing.ts');
      await tell(flags, (means) => listMachines({ ...flags, states: state }, means));
    });
}

const HISTORY_LINES = 50;

function addReading(machine: Command): void {
  reading(machine.command('show <machine>'))
    .description('everything about one machine, or about a slot')
    .action(async (name: string, flags: ReadFlags) => {
      const { showMachine } = await import('./machine/show.ts');
      await tell(flags, (means) => showMachine(name, flags.json, means));
    });
  reading(machine.command('history <machine>'))
    .description('what happened to a machine; of a slot, to all machines that were on it')
    .option('--limit <n>', 'at most so many lines, the latest ones', someOf, HISTORY_LINES)
    .action(async (name: string, flags: ReadFlags & { readonly limit: number }) => {
      const { showHistory } = await import('./machine/history.ts');
      await tell(flags, (means) => showHistory({ ...flags, name }, means));
    });
}

const NO_WAIT = '0s, it is only filed';
const SHORT_WAIT = '30s';

/** A command that files requests of one verb. */
function addVerb<Flags extends VerbFlags>(
  command: Command,
  waits: string,
  wishOf: (flags: Flags, nowMs: number) => Wish,
): Command {
  return selecting(command, waits).action(async (name: string | undefined, flags: Flags) => {
    const { runVerb } = await import('./machine/verb.ts');
    const { expectCount, dryRun, yes = false } = flags;
    const options = {
      ...askOptionsOf(flags),
      selector: selectorOf(name, flags),
      expectCount,
      dryRun,
      yes,
      wish: (nowMs: number) => wishOf(flags, nowMs),
    };
    await tell(flags, (means) => runVerb(options, means));
  });
}

const orYes = (command: Command): Command =>
  command.option('--yes', 'ask for it, and do not only tell', false);

const draining = (command: Command): Command =>
  command
    .option('--no-drain', 'do not wait until its load balancers let it go: connections are cut')
    .option('--force-drain', 'take it out of its pools though too few members stay active', false);

/** Work, which takes its time. */
function addOrders(machine: Command): void {
  addVerb(
    draining(
      machine.command('restart-agent [machine]').description('start the agent anew, over SSH'),
    ),
    NO_WAIT,
    (flags: VerbFlags & DrainFlags) => ({ verb: 'restart-agent', drain: drainOf(flags) }),
  );
  addVerb(
    draining(
      machine
        .command('reboot [machine]')
        .description('reboot it by its provider')
        .option('--force', 'do not ask its system first', false),
    ),
    NO_WAIT,
    ({ force, ...flags }: VerbFlags & DrainFlags & { readonly force: boolean }) => ({
      ...{ verb: 'reboot', force },
      drain: drainOf(flags),
    }),
  );
  addVerb(
    draining(
      orYes(machine.command('reinstall [machine]').description('reinstall it; its disks are lost')),
    ),
    NO_WAIT,
    (flags: VerbFlags & DrainFlags) => ({ verb: 'reinstall', drain: drainOf(flags) }),
  );
}

interface HoldFlags extends VerbFlags {
  readonly kind: HoldKind;
  readonly until?: When;
  readonly force: boolean;
}

const kindOption = () =>
  new Option('--kind <kind>', 'what the hold forbids').choices(HOLD_KINDS).makeOptionMandatory();
const untilOption = () =>
  new Option('--until <when>', 'ends by itself: after 2h, or at 2025-12-01T10:00:00Z').argParser(
    whenOf,
  );

const HOLD_HELP = `
no-start: no agent is started. no-recover: nothing is done when it falls silent. no-allocate: no
machine is made on the slot. preserve: it is neither reinstalled nor given back. no-serve: its load
balancers let it go, and it stays out of its pools.

A hold on a slot that is named stays when the machine on it changes. Holds of one kind on one slot
replace each other.`;

function addDecisions(machine: Command): void {
  addVerb(
    machine
      .command('hold [machine]')
      .description('forbid something to be done to it')
      .addOption(kindOption())
      .addOption(untilOption())
      .option('--force', 'of no-serve: though too few members of its pools stay active', false),
    SHORT_WAIT,
    ({ kind, until, force }: HoldFlags, nowMs) => ({
      ...{ verb: 'hold', kind },
      untilMs: untilMsOf(until, nowMs),
      ...(force && { force }),
    }),
  ).addHelpText('after', HOLD_HELP);
  addVerb(
    machine.command('unhold [machine]').description('take a hold away').addOption(kindOption()),
    SHORT_WAIT,
    ({ kind }: HoldFlags) => ({ verb: 'unhold', kind }),
  );
  addVerb(
    machine
      .command('quarantine [machine]')
      .description('leave it alone, whatever happens to it')
      .addOption(untilOption()),
    SHORT_WAIT,
    ({ until }: HoldFlags, nowMs) => ({ verb: 'quarantine', untilMs: untilMsOf(until, nowMs) }),
  );
  addVerb(
    machine
      .command('release [machine]')
      .description('end its quarantine, and forget what recovery tried')
      .option('--forget-host-key', 'its SSH host key changed for a reason that you know', false),
    SHORT_WAIT,
    ({ forgetHostKey }: VerbFlags & { readonly forgetHostKey: boolean }) => ({
      verb: 'release',
      forgetHostKey,
    }),
  );
  addVerb(
    draining(
      orYes(machine.command('deprovision [machine]').description('give it back to its provider')),
    ),
    SHORT_WAIT,
    (flags: VerbFlags & DrainFlags) => ({ verb: 'deprovision', drain: drainOf(flags) }),
  );
  addVerb(
    machine.command('clear-backoff [machine]').description('try again at once what failed'),
    SHORT_WAIT,
    () => ({ verb: 'clear-backoff' }),
  );
}

function addWithdraw(machine: Command): void {
  addVerb(
    machine
      .command('withdraw [machine]')
      .description('take back what was ordered (restart-agent, reboot, reinstall) and not begun'),
    SHORT_WAIT,
    () => ({ verb: 'withdraw' }),
  );
}

function addInstall(machine: Command): void {
  addVerb(
    orYes(machine.command('install [machine]'))
      .description('have its agent install an operating system')
      .requiredOption('--image-url <url>', 'where the image is')
      .requiredOption('--sha256 <digits>', 'of the image as it lies on the disk, hexadecimal')
      .requiredOption('--root-device <disk>', 'name=sda, serial=… or wwn=…', rootDeviceOf)
      .addOption(
        new Option('--compression <kind>', 'of the image at the URL')
          .choices(['none', 'gzip', 'zstd', 'xz'])
          .default('none'),
      ),
    SHORT_WAIT,
    (flags: VerbFlags & ImageFlags) => ({ verb: 'install', image: imageOf(flags) }),
  );
  addVerb(
    machine
      .command('cancel-install [machine]')
      .description('take an installation back that its agent was not told of yet'),
    SHORT_WAIT,
    () => ({ verb: 'cancel-install' }),
  );
}
