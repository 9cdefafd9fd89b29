import { type Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../adapters/clock/system-clock.ts';
import type { ReportFormat } from '../conformance/report.ts';
import { configured, countOf, testing } from './options.ts';
import { addProviderReading } from './fleet-program.ts';
import { examples } from './help.ts';
import { byFlags, jsonOption, type Through } from './remote/flags.ts';

const SET_ID = /^[0-9a-z]{5}-[0-9a-z]{5}-[0-9a-z]{15}$/i;
const USUAL_SET_ID = 'zzzzz-zzzzz-zzzzzzcloudtest';

const setId = (text: string): string => {
  if (SET_ID.test(text)) return text;
  throw new InvalidArgumentError('Give 5-5-15 letters and digits.');
};
const TEST_HELP = `
The test creates a machine, looks at it, changes it and destroys it, and cleans up whatever happens. It
touches only devices of its own instance set. Give the test its own values for settings that belong to one
instance set, such as the label of an SSH key. With --reservation and the ID of an adopted server, and
with a driver that cannot create machines, the test uses that machine of the list and creates none.

Exit status: 0 passed, 1 failed, 2 wrong usage or configuration, 3 passed but something was left
behind, 130 interrupted.`;

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
  const provider = cli.command('provider').description('Look at providers, and test their drivers');
  const test = provider
    .command('test')
    .argument('<driver>', 'A driver, or the name of a configured provider')
    .description('Test a driver against its real API with a machine that the test creates')
    .requiredOption('--config <file>', 'Configuration file. Only "providers" and "ssh" are read')
    .option('--set-id <id>', 'Instance set of the test', setId, USUAL_SET_ID)
    .option('--plan <plan>', 'Use capacity of this plan')
    .option('--image <image>', 'Operating system of the machine')
    .option('--reservation <id>', 'Use this slot, or this machine if the driver creates none')
    .option('--destroy-existing', 'First destroy what an earlier test left behind', false)
    .option('--command <command>', 'Run this command on the machine')
    .option('--pause', 'Wait for Enter when the machine is up', false)
    .option('--allow-destructive', 'Also test power and reinstallation', false);
  examples(
    test,
    'shepherd provider test hetzner --config test.yaml --reservation 2345678',
    'shepherd provider test equinix --config test.yaml --plan c3.small.x86 --format junit > report.xml',
  );
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
  const sweeping = configured(provider.command('sweep'))
    .argument('[provider]', 'Name of a provider. Default: records of all unconfigured providers')
    .description('List or remove leftovers of Shepherd at a provider, such as unused SSH keys')
    .option('--remove', 'Remove the leftovers. Without this they are only listed', false)
    .option(
      '--expect-count <n>',
      'For an unconfigured provider: refuse unless it has exactly this number of records',
      countOf,
    )
    .addOption(jsonOption())
    .action(async (name: string | undefined, { config: file, json, ...rest }: SweepFlags) => {
      const { sweep } = await import('./provider-sweep.ts');
      const { locally } = await import('./remote/session.ts');
      const stopping = new AbortController();
      // The first Ctrl-C cancels the calls to providers. The second one ends the process.
      process.once('SIGINT', () => stopping.abort());
      const options = { ...rest, file, provider: name, version, signal: stopping.signal };
      await locally({ json }, () => sweep(options));
    });
  examples(
    sweeping,
    'shepherd provider sweep hetzner --config /etc/shepherd/shepherd.yaml',
    'shepherd provider sweep hetzner --config /etc/shepherd/shepherd.yaml --remove',
  ).addHelpText(
    'after',
    `
Only leftovers that are at least an hour old are listed. For a provider that no configuration has any
more, the command lists what the database records of the provider.`,
  );
  addProviderReading(provider, through);
}

const LEFT_OPEN_MS = 10_000;

/** A socket or timer that a driver left open would keep the process alive forever. */
function endAnyway(): void {
  const timer = systemClock.setTimeout(() => {
    process.stderr.write('shepherd: the driver left sockets or timers open when it stopped\n');
    process.exit();
  }, LEFT_OPEN_MS);
  (timer as NodeJS.Timeout).unref();
}
