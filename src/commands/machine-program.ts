import { Option, type Command } from 'commander';
import { HOLD_KINDS, type DrainMode, type HoldKind } from '../domain/machine.ts';
import {
  drainOf,
  durationOf,
  imageOf,
  rootDeviceOf,
  someOf,
  untilMsOf,
  WHEN_HELP,
  whenOf,
  wordsOf,
  type DrainFlags,
  type ImageFlags,
  type When,
} from './options.ts';
import { choosing, selecting, type VerbFlags } from './remote/ask-flags.ts';
import { byFlags, listing, remote, type CommonFlags, type Through } from './remote/flags.ts';
import type { MachinesFlags } from './remote/machines.ts';
import type { Verb } from './remote/verbs.ts';

/** Adds `machines`, and `machine` with its commands. */
export function addMachineCommands(cli: Command, through: Through = byFlags): void {
  addList(cli, through);
  const machine = cli.command('machine').description('look at a machine, or ask for something');
  addReading(machine, through);
  const adding = { machine, through };
  addOrders(adding);
  addDecisions(adding);
  addInstall(adding);
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
    .action(async (flags: MachinesFlags & { readonly watch: boolean }) => {
      if (flags.watch) {
        const { watchMachines } = await import('./remote/watch.ts');
        await through(flags, async (session) => {
          await watchMachines(flags, session);
          return { text: '', exitCode: 0 };
        });
        return;
      }
      const { listMachines } = await import('./remote/machines.ts');
      await through(flags, (session) => listMachines(flags, session));
    });
}

const HISTORY_LINES = 50;

interface NameFlags extends CommonFlags {
  readonly exact: boolean;
}

const naming = (command: Command): Command =>
  remote(command).option('--exact', 'the whole name only, no beginning', false);

function addReading(machine: Command, through: Through): void {
  naming(machine.command('show <machine>'))
    .description('everything about one machine, or about a slot')
    .action(async (name: string, flags: NameFlags) => {
      const { showMachine } = await import('./remote/machine.ts');
      await through(flags, (session) => showMachine(name, flags, session));
    });
  naming(machine.command('explain <machine>'))
    .description('why it is where it is, what stands in the way, and what would end it')
    .action(async (name: string, flags: NameFlags) => {
      const { explainMachine } = await import('./remote/machine.ts');
      await through(flags, (session) => explainMachine(name, flags, session));
    });
  naming(machine.command('history <machine>'))
    .description('what happened to a machine; of a slot, to all machines that were on it')
    .option('--limit <n>', 'at most so many lines, the latest ones', someOf, HISTORY_LINES)
    .action(async (name: string, flags: NameFlags & { readonly limit: number }) => {
      const { showHistory } = await import('./remote/machine.ts');
      await through(flags, (session) => showHistory(name, flags, session));
    });
  naming(machine.command('wait <machine>'))
    .description('wait until a machine is so: exit 0 it is, 1 it cannot come to it, 3 it is late')
    .requiredOption('--for <what>', 'state=Running, state=Running/healthy, hold=<kind>, no-request')
    .addOption(
      new Option('--timeout <duration>', 'at most so long')
        .argParser(durationOf)
        .default(600_000, '10m'),
    )
    .action(
      async (
        name: string,
        { timeout, ...flags }: NameFlags & { readonly for: string; readonly timeout: number },
      ) => {
        const { waitForMachine } = await import('./remote/wait.ts');
        const wait = { ...flags, timeoutMs: timeout };
        await through(flags, (session) => waitForMachine(name, wait, session));
      },
    );
}

/** How long a verb waits by itself, and whether nobody can have back what it takes. */
interface Manner<Flags> {
  readonly waits: string;
  readonly waitMs: number;
  readonly isDestroying?: (flags: Flags) => boolean;
}
const ORDER = { waits: '0s, it is only filed', waitMs: 0 };
const DECISION = { waits: '30s', waitMs: 30_000 };
const DESTROYING = { isDestroying: () => true };

/** A command that files requests of one verb. */
function addVerb<Flags extends VerbFlags>(
  through: Through,
  command: Command,
  { waits, waitMs, isDestroying = () => false }: Manner<Flags>,
  verbOf: (flags: Flags, nowMs: number) => Verb,
): Command {
  return selecting(command, waits).action(async (name: string | undefined, flags: Flags) => {
    const { momentOf, runVerb } = await import('./remote/verbs.ts');
    const until = 'until' in flags ? (flags.until as When) : undefined;
    const isUntilRelative = until !== undefined && 'forMs' in until;
    const asked = { ...flags, waitMs, isDestroying: isDestroying(flags), isUntilRelative };
    await through(flags, async (session) => {
      const nowMs = until !== undefined ? await momentOf(session.client) : 0;
      return runVerb(name, verbOf(flags, nowMs), asked, session);
    });
  });
}

const orYes = (command: Command): Command =>
  command.option('--yes', 'ask for it, and do not only tell', false);

const draining = (command: Command): Command =>
  command
    .option('--no-drain', 'do not wait until its load balancers let it go: connections are cut')
    .option('--force-drain', 'take it out of its pools though too few members stay active', false);

const drainPart = (flags: DrainFlags): { readonly drain: DrainMode | null } => ({
  drain: drainOf(flags),
});

interface Adding {
  readonly machine: Command;
  readonly through: Through;
}

/** Work, which takes its time. */
function addOrders({ machine, through }: Adding): void {
  addVerb(
    through,
    draining(
      machine.command('restart-agent [machine]').description('start the agent anew, over SSH'),
    ),
    ORDER,
    (flags: VerbFlags & DrainFlags) => ({ verb: 'restart-agent', ...drainPart(flags) }),
  );
  addVerb(
    through,
    draining(
      machine
        .command('reboot [machine]')
        .description('reboot it by its provider')
        .option('--force', 'do not ask its system first', false),
    ),
    ORDER,
    ({ force, ...flags }: VerbFlags & DrainFlags & { readonly force: boolean }) => ({
      ...{ verb: 'reboot', force },
      ...drainPart(flags),
    }),
  );
  addVerb(
    through,
    draining(
      orYes(machine.command('reinstall [machine]').description('reinstall it; its disks are lost')),
    ),
    { ...ORDER, ...DESTROYING },
    (flags: VerbFlags & DrainFlags) => ({ verb: 'reinstall', ...drainPart(flags) }),
  );
  addVerb(
    through,
    machine
      .command('withdraw [machine]')
      .description('take back what was ordered (restart-agent, reboot, reinstall) and not begun'),
    DECISION,
    () => ({ verb: 'withdraw' }),
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
  new Option('--until <when>', `ends by itself: ${WHEN_HELP}`).argParser(whenOf);

const HOLD_HELP = `
no-start: no agent is started. no-recover: nothing is done when it falls silent. no-allocate: no
machine is made on the slot. preserve: it is neither reinstalled nor given back. no-serve: its load
balancers let it go, and it stays out of its pools.

A hold on a slot that is named stays when the machine on it changes. Holds of one kind on one slot
replace each other.`;

const SLOT_HELP = `
A hold no-allocate, in your name and with your reason, keeps the slot free, so that the machine is not made
(or taken in) again at once. machine unhold --kind no-allocate ends it.`;

function addDecisions({ machine, through }: Adding): void {
  addVerb(
    through,
    machine
      .command('hold [machine]')
      .description('forbid something to be done to it')
      .addOption(kindOption())
      .addOption(untilOption())
      .option('--force', 'of no-serve: though too few members of its pools stay active', false),
    DECISION,
    ({ kind, until, force }: HoldFlags, nowMs) => ({
      ...{ verb: 'hold', kind },
      untilMs: untilMsOf(until, nowMs),
      ...(force && { force }),
    }),
  ).addHelpText('after', HOLD_HELP);
  addVerb(
    through,
    machine.command('unhold [machine]').description('take a hold away').addOption(kindOption()),
    DECISION,
    ({ kind }: HoldFlags) => ({ verb: 'unhold', kind }),
  );
  addVerb(
    through,
    machine
      .command('quarantine [machine]')
      .description('leave it alone, whatever happens to it')
      .addOption(untilOption()),
    DECISION,
    ({ until }: HoldFlags, nowMs) => ({ verb: 'quarantine', untilMs: untilMsOf(until, nowMs) }),
  );
  addVerb(
    through,
    machine
      .command('release [machine]')
      .description('end its quarantine, and forget what recovery tried')
      .option('--forget-host-key', 'its SSH host key changed for a reason that you know', false)
      .option('--yes', 'ask for it, and do not only tell; of --forget-host-key', false),
    {
      ...DECISION,
      isDestroying: ({ forgetHostKey }: VerbFlags & { readonly forgetHostKey: boolean }) =>
        forgetHostKey,
    },
    ({ forgetHostKey }) => ({ verb: 'release', forgetHostKey }),
  );
  addVerb(
    through,
    draining(
      orYes(
        machine
          .command('deprovision [machine]')
          .description('give it back to its provider; its slot stays free')
          .option('--return-to-pool', 'the next machine may be made on its slot at once', false),
      ),
    ),
    { ...DECISION, ...DESTROYING },
    ({ returnToPool, ...flags }: VerbFlags & DrainFlags & { readonly returnToPool: boolean }) => ({
      ...{ verb: 'deprovision', ...drainPart(flags) },
      ...(returnToPool && { returnToPool }),
    }),
  ).addHelpText('after', SLOT_HELP);
  addVerb(
    through,
    machine.command('clear-backoff [machine]').description('try again at once what failed'),
    DECISION,
    () => ({ verb: 'clear-backoff' }),
  );
}

function addInstall({ machine, through }: Adding): void {
  addVerb(
    through,
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
    { ...DECISION, ...DESTROYING },
    (flags: VerbFlags & ImageFlags) => ({ verb: 'install', image: imageOf(flags) }),
  );
  addVerb(
    through,
    machine
      .command('cancel-install [machine]')
      .description('take an installation back that its agent was not told of yet'),
    DECISION,
    () => ({ verb: 'cancel-install' }),
  );
}
