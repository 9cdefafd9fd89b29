import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../adapters/clock/system-clock.ts';
import type { ReportFormat } from '../conformance/report.ts';
import { configured, countOf, testing } from './options.ts';
import { addProviderReading } from './fleet-program.ts';
import { byFlags, type Through } from './remote/flags.ts';

const SET_ID = /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i;
const USUAL_SET_ID = 'zzzzz-zzzzz-zzzzzzcloudtest';

const setId = (text: string): string => {
  if (SET_ID.test(text)) return text;
  throw new InvalidArgumentError('Give 5-5-15 letters and digits.');
};
const TEST_HELP = `
It makes a machine, looks at it, changes it, destroys it, and cleans up whatever happens. Nothing
without the test's own instance set is ever touched, and the fleet's own is not used: give it
settings of its own for whatever belongs to one set alone, such as the label of an SSH key. A driver
that makes no machines is tested on one of its inventory.

Exit codes: 0 passed; 1 failed; 2 wrong usage or configuration; 3 passed, but something was left
behind; 130 interrupted.`;

interface TestFlags {
  readonly config: string;
  readonly setId: string;
  readonly plan?: string;
  readonly image?: string;
  readonly reservation?: string;
  readonly destroyExisting: boolean;
  readonly command?: string;
  readonly pause: boolean;
  readonly only: readonly string[];
  readonly allowDestructive: boolean;
  readonly timeout: number;
  readonly format: ReportFormat;
}

interface SweepFlags {
  readonly config: string;
  readonly remove: boolean;
  readonly expectCount?: number;
  readonly json: boolean;
}

/** Adds `provider` and its commands. */
export function addProviderCommands(
  cli: Command,
  version: string,
  through: Through = byFlags,
): void {
  const provider = cli.command('provider').description('look at providers, and test their drivers');
  const test = provider
    .command('test <driver>')
    .description('put a driver to the test; <driver> may be the name of a configured provider')
    .requiredOption('--config <file>', 'configuration; only its providers and ssh are read')
    .option('--set-id <id>', 'instance set of the test', setId, USUAL_SET_ID)
    .option('--plan <plan>', 'use capacity of this plan')
    .option('--image <image>', 'operating system of the machine')
    .option('--reservation <id>', 'use this slot; where none is made: this machine')
    .option('--destroy-existing', 'first destroy what an earlier test left', false)
    .option('--command <command>', 'run this on the machine')
    .option('--pause', 'wait for Enter once the machine is up', false)
    .option('--allow-destructive', 'also try power and reinstallation', false);
  testing(test, { ms: 2 * 60 * 60_000, text: '2h' })
    .addHelpText('after', TEST_HELP)
    .action(async (driver: string, flags: TestFlags) => {
      const { providerTest } = await import('./provider-test.ts');
      const { config, timeout, ...rest } = flags;
      process.exitCode = await providerTest({
        ...rest,
        provider: driver,
        configFile: config,
        timeoutMs: timeout,
        version,
      });
      endAnyway();
    });
  configured(provider.command('sweep [provider]'))
    .description(
      'what we left at it and nothing needs, an hour old or more; of one that is not configured, or ' +
        'of none: what is recorded of it, or of all such',
    )
    .option('--remove', 'remove it; otherwise it is only told', false)
    .option(
      '--expect-count <n>',
      'how many records that are, of one that is not configured',
      countOf,
    )
    .option('--json', 'print one line of JSON', false)
    .action(async (name: string | undefined, { config: file, json, ...rest }: SweepFlags) => {
      const { sweep } = await import('./provider-sweep.ts');
      const { locally } = await import('./remote/session.ts');
      const stopping = new AbortController();
      // The first interrupt ends what is asked of providers; the second one ends the process.
      process.once('SIGINT', () => stopping.abort());
      const options = { ...rest, file, provider: name, version, signal: stopping.signal };
      await locally({ json }, () => sweep(options));
    });
  addProviderReading(provider, through);
}

const LEFT_OPEN_MS = 10_000;

/** A driver that left a socket or a timer open would keep the process for ever. */
function endAnyway(): void {
  const timer = systemClock.setTimeout(() => {
    process.stderr.write('shepherd: the driver left sockets or timers open when it was stopped\n');
    process.exit();
  }, LEFT_OPEN_MS);
  (timer as NodeJS.Timeout).unref();
}
