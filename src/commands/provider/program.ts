import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ProviderHoldKind } from '../../domain/machine.ts';
import { configured } from '../config-option.ts';

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

const reading = (command: Command): Command =>
  configured(command)
    .option('--url <url>', 'instead of database.url, in the same form: for another role')
    .option('--json', 'print one line of JSON', false);

/** Adds `plan`, and to `provider` what looks at providers, sweeps them and ends their holds. */
export function addProviderReading(cli: Command, provider: Command, version: string): void {
  reading(cli.command('plan [provider]'))
    .description('what the provisioner would do now and why; changes nothing')
    .option('--all', 'every free slot, also those that are left alone', false)
    .action(async (name: string | undefined, { config, ...rest }: Common & { all: boolean }) => {
      const { plan } = await import('./plan.ts');
      const options = { ...rest, file: config, provider: name, version };
      const { text, isGood } = await plan({ ...options, signal: untilInterrupt() });
      say(text);
      if (!isGood) process.exitCode = 1;
    });

  reading(provider.command('status [provider]'))
    .description('what must not be asked of it for now, its shelf, its unfinished creations')
    .option('--live', 'list it, too', false)
    .action(async (name: string | undefined, { config, ...rest }: Common & { live: boolean }) => {
      const { providerStatus } = await import('./status.ts');
      const options = { ...rest, file: config, provider: name, version };
      say(await providerStatus({ ...options, signal: untilInterrupt() }));
    });

  configured(provider.command('sweep <provider>'))
    .description('what we left at it and nothing needs, an hour old or more')
    .option('--remove', 'remove it; otherwise it is only told', false)
    .option('--json', 'print one line of JSON', false)
    .action(async (name: string, { config, ...rest }: Common & { remove: boolean }) => {
      const { sweep } = await import('./sweep.ts');
      const options = { ...rest, file: config, provider: name, version };
      say(await sweep({ ...options, signal: untilInterrupt() }));
    });

  reading(provider.command('clear <provider> [slots...]'))
    .description('take slots off the shelf, or end holds, before their time')
    .option('--all-slots', 'every slot on the shelf; with --expect-count', false)
    .option('--expect-count <n>', 'how many slots that are', count)
    .addOption(
      new Option('--hold <kind>', 'end all holds of this kind instead').choices([
        'throttle',
        'quota',
        'capacity',
      ]),
    )
    .action(
      async (
        name: string,
        slots: string[],
        {
          config,
          ...rest
        }: Common & { allSlots: boolean; expectCount?: number; hold?: ProviderHoldKind },
      ) => {
        const { clear } = await import('./clear.ts');
        const options = { ...rest, file: config, provider: name, slots, version };
        say(await clear({ ...options, signal: untilInterrupt() }));
      },
    );
}
