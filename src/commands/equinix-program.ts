import { type Command, InvalidArgumentError, Option } from 'commander';
import { systemClock, systemRandom } from '../adapters/clock/system-clock.ts';
import { createDoor } from '../adapters/provider/equinix/door.ts';
import { UsageError } from '../domain/errors.ts';
import { slotOf } from '../domain/ids.ts';
import { parseDuration } from '../settings/duration.ts';
import type { AccessFlags } from './equinix/access.ts';
import type { ConsentFlags } from './equinix/consent.ts';
import type { Operator } from './equinix/operator.ts';
import type { Outcome } from './equinix/report.ts';
import { watchForEnd } from './signals.ts';
import { jsonLine, printableLines } from './text-table.ts';

/** What a command is run with, instead of the terminal. */
export type OperatorSource = () => { readonly operator: Operator; release(): void };
/** `isGood` of a command that ran to its end. */
export type Finish = (isGood: boolean) => void;

interface Printed {
  readonly json: boolean;
}

const SAFETY_HELP = `
Before anything is changed the operator is asked, unless --yes says to how many things with
--expect-count; without a terminal that is the only way. The end of the input, an interrupt and every
other answer mean no. The exit code is 0 only if everything was done, 2 for a wrong command line.

Who asks: the provider of --config; or --username and --token-file, or the environment's
EQUINIX_USERNAME and EQUINIX_TOKEN.`;

/** Adds `equinix` and its commands: what an operator does by hand with an account. */
export function addEquinixCommands(
  cli: Command,
  from: OperatorSource = atTerminal,
  finish: Finish = (isGood) => void (process.exitCode = isGood ? 0 : 1),
): void {
  const group = cli
    .command('equinix')
    .description('look after reservations and devices of an Equinix Metal account')
    .addHelpText('after', SAFETY_HELP);

  const command = (usage: string, description: string) =>
    withAccess(group.command(usage).description(description))
      .option('--dry-run', 'only show what would be done', false)
      .option('--json', 'print one line of JSON', false);
  const asking = (usage: string, description: string) =>
    command(usage, description)
      .option('--yes', 'do not ask; needs --expect-count', false)
      .option('--expect-count <n>', 'refuse unless it is about so many', countOf)
      .addHelpText('after', SAFETY_HELP);

  async function run(
    { json }: Printed,
    doing: string,
    task: (operator: Operator) => Promise<Outcome>,
  ): Promise<void> {
    const { operator: bare, release } = from();
    const operator = { ...bare, note: (text: string) => bare.note(printableLines(text)) };
    try {
      const outcome = await task(operator).catch(createDoor().enter(`cannot ${doing}`));
      operator.say(json ? jsonLine(outcome.json) : printableLines(outcome.text));
      finish(outcome.isGood);
    } finally {
      release();
    }
  }

  command('list', 'count reservations by metro, plan and class')
    .option('--organization <id>', 'of all its projects')
    .option('--project <id>', 'of this project')
    .option('--timeout <duration>', 'give up after this', durationOf, 60_000)
    .action(async (o: Listed) => {
      const { listReservations } = await import('./equinix/list.ts');
      await run(o, 'list reservations', (operator) => listReservations(o, operator));
    });

  asking('delete <project>', 'delete the devices of a project')
    .option('--wait', 'until their reservations can be used again', false)
    .action(async (project: string, o: Asked & { wait: boolean }) => {
      const { deleteDevices } = await import('./equinix/delete.ts');
      const flags = { ...o, project };
      await run(o, 'delete devices', (operator) => deleteDevices(flags, operator));
    });

  asking('move <source> <target>', 'move all reservations of a project to another').action(
    async (source: string, target: string, o: Asked) => {
      const { moveReservations } = await import('./equinix/move.ts');
      const flags = { ...o, source, target };
      await run(o, 'move reservations', (operator) => moveReservations(flags, operator));
    },
  );

  asking('reboot <project>', 'reboot one device of a project, or all')
    .option('--device <id>', 'this one; nothing is asked')
    .option('--all', 'all that are meant', false)
    .action(async (project: string, o: Asked & { device?: string; all: boolean }) => {
      const { rebootDevices } = await import('./equinix/reboot.ts');
      const flags = { ...o, project };
      await run(o, 'reboot devices', (operator) => rebootDevices(flags, operator));
    });

  asking('yoink', 'take reservations from one project to another, free ones first')
    .requiredOption('--source-project <id>', 'where they are')
    .requiredOption('--target-project <id>', 'where they go')
    .requiredOption('--spec <plan>', 'name of the plan')
    .requiredOption('--metro <code>', 'metro that they are in')
    .option('--count <n>', 'how many', countFromOne, 1)
    .action(async (o: Asked & Taken) => {
      const { yoink } = await import('./equinix/yoink.ts');
      await run(o, 'take reservations', (operator) => yoink(o, operator));
    });
}

interface Listed extends AccessFlags, Printed {
  readonly organization?: string;
  readonly project?: string;
  readonly timeout: number;
}
type Asked = AccessFlags & ConsentFlags & Printed;
interface Taken {
  readonly sourceProject: string;
  readonly targetProject: string;
  readonly spec: string;
  readonly metro: string;
  readonly count: number;
}

const withAccess = (command: Command): Command =>
  command
    .option('--config <file>', 'configuration of a daemon, for where, who and whose')
    .option('--provider <name>', 'the one of --config that is meant, if there are several')
    .option('--token-file <file>', 'holds the API key; only its owner may read it')
    .option('--username <name>', 'user of the API key')
    .option('--base-url <url>', 'where the API is')
    .option('--allow-insecure-http', 'plain http to other machines', false)
    .option('--api-rate <duration>', 'least time between two calls', durationOf)
    .option('--prefix <prefix>', 'only devices whose hostname starts so')
    .option('--owner <id>', 'our instance set; devices of others are then left alone')
    .option('--all-owners', 'devices whatever their name and owner', false)
    .addOption(new Option('--token <key>').hideHelp().argParser(refuseToken));

/** Command lines are seen by everybody on the machine, and kept in histories. */
function refuseToken(): never {
  throw new UsageError('no API key on the command line; give --token-file or set EQUINIX_TOKEN');
}

const wholeNumber = (min: number) => (text: string) => {
  const value = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (value >= min) return value;
  throw new InvalidArgumentError(`Give a whole number from ${min}.`);
};
const countOf = wholeNumber(0);
const countFromOne = wholeNumber(1);

function durationOf(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs !== null) return durationMs;
  throw new InvalidArgumentError('Give a duration such as 250ms or 2s.');
}

async function machinesOf(file: string, signal: AbortSignal) {
  const { withDatabase } = await import('./database.ts');
  return withDatabase({ file }, async (bmdb) => {
    const { machines } = await bmdb.scan(signal);
    return new Map(
      machines.flatMap(({ provided }) =>
        provided
          ? [
              [
                provided.providerId,
                slotOf(provided.provider, { ...provided, id: provided.providerId }),
              ],
            ]
          : [],
      ),
    );
  });
}

/** The person who started the process; an interrupt ends what is under way. */
function atTerminal() {
  const ending = new AbortController();
  const stop = () => ending.abort();
  const release = watchForEnd(systemClock, { stop, abandon: () => undefined });
  const operator: Operator = {
    input: process.stdin,
    say: (line) => void process.stdout.write(`${line}\n`),
    note: (text) => void process.stderr.write(`${text}\n`),
    env: process.env,
    clock: systemClock,
    random: systemRandom,
    machinesOf: (file) => machinesOf(file, ending.signal),
    signal: ending.signal,
  };
  return { operator, release };
}
