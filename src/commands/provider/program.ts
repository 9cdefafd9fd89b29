import { type Command, InvalidArgumentError, Option } from 'commander';
import { UsageError } from '../../domain/errors.ts';
import { PROVIDER_HOLD_KINDS } from '../../domain/verbs.ts';
import { configured } from '../config-option.ts';
import { asking } from '../remote/ask-flags.ts';
import { byFlags, formatOf, remote, type CommonFlags, type Through } from '../remote/flags.ts';
import type { ClearFlags } from '../remote/providers.ts';

interface Common {
  readonly config: string;
  readonly url?: string;
  readonly json: boolean;
}

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const count = (text: string): number => {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Give a whole number.');
};

/** The first interrupt ends what is asked of providers; the second one ends the process. */
function untilInterrupt(): AbortSignal {
  const stopping = new AbortController();
  process.once('SIGINT', () => stopping.abort());
  return stopping.signal;
}

/** Adds `plan`, and to `provider` what looks at providers, sweeps them and ends their holds. */
export function addProviderReading(
  cli: Command,
  provider: Command,
  version: string,
  through: Through = byFlags,
): void {
  remote(cli.command('plan [provider]'))
    .description('what would be done now and why; changes nothing')
    .option('--all', 'with --config: every free slot, also those that are left alone', false)
    .action(async (name: string | undefined, flags: CommonFlags & { all: boolean }) => {
      const { pastConsole } = await import('../remote/open-door.ts');
      const file = pastConsole(flags);
      if (file === null) {
        const { showPlan } = await import('../remote/plan.ts');
        return through(flags, (session) => showPlan(name, session));
      }
      const { plan } = await import('./plan.ts');
      const { databaseUrl: url, all } = flags;
      const from = { file, ...(url !== undefined && { url }), provider: name, version, all };
      const how = { json: formatOf(flags) === 'json', signal: untilInterrupt() };
      const { text, isGood } = await plan({ ...from, ...how });
      say(text);
      if (!isGood) process.exitCode = 1;
    });

  remote(provider.command('status [provider]'))
    .description('what must not be asked of it for now, its shelf, its unfinished creations')
    .option('--live', 'with --config: list it, too, from here', false)
    .action(async (name: string | undefined, flags: CommonFlags & { live: boolean }) => {
      if (flags.live) return listLive(name, flags, version);
      const { providerStatus } = await import('../remote/providers.ts');
      return through(flags, (session) => providerStatus(name, session));
    });

  configured(provider.command('sweep [provider]'))
    .description(
      'what we left at it and nothing needs, an hour old or more; of one that is not configured, or ' +
        'of none: what is recorded of it, or of all such',
    )
    .option('--remove', 'remove it; otherwise it is only told', false)
    .option('--expect-count <n>', 'how many records that are, of one that is not configured', count)
    .option('--json', 'print one line of JSON', false)
    .action(
      async (
        name: string | undefined,
        { config, ...rest }: Common & { remove: boolean; expectCount?: number },
      ) => {
        const { sweep } = await import('./sweep.ts');
        const options = { ...rest, file: config, provider: name, version };
        say(await sweep({ ...options, signal: untilInterrupt() }));
      },
    );

  asking(provider.command('clear <provider> [slots...]'), '30s', 'it is over')
    .description('take slots off the shelf, or end holds, before their time')
    .option('--all-slots', 'every slot on the shelf; with --expect-count', false)
    .option('--expect-count <n>', 'how many slots that are', count)
    .addOption(
      new Option('--hold <kind>', 'end all holds of this kind instead').choices(
        PROVIDER_HOLD_KINDS,
      ),
    )
    .action(async (name: string, slots: string[], flags: CommonFlags & ClearFlags) => {
      const { clearProvider } = await import('../remote/providers.ts');
      await through(flags, (session) => clearProvider(name, slots, flags, session));
    });
}

/** @throws {UsageError} no configuration is given, with which providers are reached. */
async function listLive(
  name: string | undefined,
  { config = process.env['SHEPHERD_CONFIG'], databaseUrl: url, json, output }: CommonFlags,
  version: string,
): Promise<void> {
  if (config === undefined) throw new UsageError('--live asks providers from here: give --config');
  const { providerStatus } = await import('./status.ts');
  const from = { file: config, ...(url !== undefined && { url }), provider: name, version };
  const how = { live: true, json: json || output === 'json', signal: untilInterrupt() };
  say(await providerStatus({ ...from, ...how }));
}
