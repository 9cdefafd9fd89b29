import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { parse } from 'yaml';
import { z } from 'zod';
import { systemClock, systemRandom } from '../../src/adapters/clock/system-clock.ts';
import { createPinoLog } from '../../src/adapters/log/pino-log.ts';
import { examples } from '../../src/commands/help.ts';
import { durationOf, listenAddress, wholeNumber } from '../../src/commands/options.ts';
import { watchForEnd } from '../../src/commands/signals.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { anexia } from '../anexia/command.ts';
import { equinix } from '../equinix/command.ts';
import { hetznerRobot } from '../hetzner-robot/command.ts';
import { createManualClock, realClock } from '../kit/clock.ts';
import type { CommonOptions, EmulatorCommand } from '../kit/command.ts';
import { ListenError } from '../kit/listen.ts';
import { latitude } from '../latitude/command.ts';
import { redfish } from '../redfish/command.ts';

/** A new emulator is one line here. */
const EMULATORS: readonly EmulatorCommand[] = [equinix, redfish, hetznerRobot, latitude, anexia];

/** Former command names of the emulators. */
const FORMER_NAMES: Readonly<Record<string, string>> = {
  fakequinix: 'equinix',
  fakefish: 'redfish',
  fakerobot: 'hetzner-robot',
  fakelatitude: 'latitude',
  fakengine: 'anexia',
};

interface EmulateFlags {
  readonly listen: { readonly host: string; readonly port: number };
  readonly seed: number;
  readonly clock: 'real' | 'manual';
  readonly profile: 'real' | 'fast';
  readonly faults?: string;
}

/** Adds `shepherd emulate NAME`. An emulator's former name prints the new one. */
export function addEmulate(cli: Command): void {
  const emulate = cli
    .command('emulate')
    .description(
      'Run one emulated API on this computer. Prints its URL and secrets as one line of JSON',
    );
  for (const emulator of EMULATORS) addEmulator(emulate, emulator);
  for (const [former, name] of Object.entries(FORMER_NAMES)) {
    cli
      .command(former, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .helpOption(false)
      .action(() => {
        throw new UsageError(
          `${former} is now: shepherd emulate ${name} (--help tells its options)`,
        );
      });
  }
}

function addEmulator(parent: Command, emulator: EmulatorCommand): void {
  const command = parent
    .command(emulator.name)
    .description(emulator.description)
    .addOption(
      new Option('--listen <host:port>', 'Loopback address. The admin routes have the next port')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .option(
      '--seed <n>',
      'Seed of IDs and chance, not of secrets',
      wholeNumber(0, 4_294_967_295),
      1,
    )
    .addOption(
      new Option(
        '--clock <kind>',
        'Clock. A manual clock stands still until an admin route advances it',
      )
        .choices(['real', 'manual'])
        .default('real'),
    )
    .addOption(
      new Option('--profile <name>', 'Speed. "fast" is a hundred times as fast as the real API')
        .choices(['real', 'fast'])
        .default('real'),
    )
    .option('--faults <file>', 'File with fault rules, YAML or JSON');
  emulator.addOptions(command, { wholeNumber, durationMs: durationOf });
  examples(command, `shepherd emulate ${emulator.name} --profile fast`);
  command.action((given: EmulateFlags) => run(emulator, given));
}

/** Prints one JSON line to standard output, and runs until a signal. */
async function run(emulator: EmulatorCommand, given: EmulateFlags): Promise<void> {
  const { listen, seed, clock, profile, faults: file, ...own } = given;
  const log = createPinoLog({ level: 'info', format: 'json', isTerminal: false });
  const ends: { abandon?: (() => void) | undefined } = {};
  const stopping = new Promise<void>(
    (stop) => void watchForEnd(systemClock, { stop, abandon: () => ends.abandon?.() }),
  );
  const common: CommonOptions = {
    ...{ listen, seed, profile },
    clock: clock === 'manual' ? createManualClock(realClock.now()) : realClock,
    faults: file === undefined ? [] : readRules(file),
    log: log.child({ component: emulator.name }),
    random: systemRandom,
  };
  const started = await emulator.start(common, own).catch((error: unknown) => {
    if (error instanceof z.ZodError) throw new UsageError(`${file}: ${complaintsOf(error)}`);
    if ([ListenError, ...(emulator.mendable ?? [])].some((kind) => error instanceof kind)) {
      throw new UsageError((error as Error).message, { cause: error });
    }
    throw error;
  });
  ends.abandon = started.abandon;
  process.stdout.write(`${JSON.stringify(started.line)}\n`);
  await stopping;
  await started.close();
}

/** The fault rules of a file. @throws {UsageError} the file is unreadable or holds no list. */
function readRules(file: string): never[] {
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const message = (error as Error).message.split('\n')[0] ?? '';
    throw new UsageError(`${file} cannot be read: ${message}`);
  }
  // An emulator with a state file already has these rules after a restart.
  const rules = content as readonly object[];
  if (Array.isArray(content))
    return rules.map((rule, n) => ({ id: `file-${n + 1}`, ...rule })) as never[];
  throw new UsageError(`${file} holds no list; write one fault rule per item`);
}

/** The problems of a rule, in one line. */
const complaintsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${path.join('.') || 'rule'}: ${message}`).join('; ');
