import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addDatabaseCommands } from './commands/db-program.ts';
import { addEquinixCommands } from './commands/equinix-program.ts';
import { addFleetCommands } from './commands/fleet-program.ts';
import { addBalancerCommands } from './commands/lb/program.ts';
import { addMachineCommands } from './commands/machine-program.ts';
import { addProviderReading } from './commands/provider/program.ts';
import { addProviderCommands } from './commands/provider-program.ts';
import { SCENARIOS, type ScenarioName } from './commands/scenarios/scenario.ts';
import { printableLines } from './commands/text-table.ts';
import { explain, FleetError, UsageError } from './domain/errors.ts';
import { parseDuration } from './settings/duration.ts';

const ROOT = join(import.meta.dirname, '..');
const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** EX_SOFTWARE of sysexits.h: a bug of ours. */
const EXIT_BUG = 70;

const version = (): string =>
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version;

const wholeNumber = (min: number, max: number) => (text: string) => {
  const value = /^\d+$/.test(text) ? Number(text) : NaN;
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
};

const listenAddress = (text: string) => {
  const [, host, port] = /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new InvalidArgumentError('Give a loopback address and a port, such as 127.0.0.1:0.');
};

const durationMs = (text: string) => {
  const parsedMs = parseDuration(text);
  if (parsedMs !== null) return parsedMs;
  throw new InvalidArgumentError('Give a duration such as 250ms, 2s or 1m.');
};

const basePath = (text: string) => {
  if (/^(\/[\w.~-]+)*\/?$/.test(text) && !text.startsWith('/_fake')) return text;
  throw new InvalidArgumentError('Give a path such as /metal/v1; /_fake is taken.');
};

const INSPECT_PORT = 4244;
const inspectOption = () =>
  new Option('--inspect [port]', 'stream actors to the Stately inspector, on loopback')
    .argParser(wholeNumber(0, 65_535))
    .preset(INSPECT_PORT);

function program(): Command {
  const cli = new Command('shepherd')
    .description('Keeps a fleet of physical machines alive.')
    .version(version())
    .showHelpAfterError('(add --help for what there is)')
    .exitOverride();

  cli
    .command('run')
    .description('run the daemon until SIGINT or SIGTERM')
    .requiredOption('--config <file>', 'configuration, YAML')
    .option('--check-config', 'only check the configuration', false)
    .addOption(inspectOption())
    .action(async (o: { config: string; checkConfig: boolean; inspect?: number }) => {
      const { run } = await import('./commands/run.ts');
      const flags = o.inspect === undefined ? {} : { 'inspect.port': o.inspect };
      await run({ file: o.config, checkOnly: o.checkConfig, flags, version: version() });
    });

  addDatabaseCommands(cli);
  addMachineCommands(cli);
  addFleetCommands(cli);
  addEquinixCommands(cli);
  addProviderReading(cli, addProviderCommands(cli, version()), version());
  addBalancerCommands(cli, version());

  cli
    .command('sim')
    .description('a simulated fleet, and a daemon that keeps it alive')
    .option(
      '--machines <n>',
      'how many (default: 12, or what --data-dir holds; 40 for a scenario)',
      wholeNumber(1, 2_000),
    )
    .option('--chaos', 'kill agents and hang machines now and then', false)
    .option('--exit-when-running', 'end when every machine runs', false)
    .option('--json', 'print one JSON line at the end, and only warnings before', false)
    .option('--light', 'agents live in this process: for hundreds of machines', false)
    .option('--data-dir <dir>', 'keep everything here and continue there next time')
    .option('--console-port <port>', 'port of the console', wholeNumber(0, 65_535), 4243)
    .option(
      '--timeout <s>',
      'give up --exit-when-running or --scenario after this',
      wholeNumber(1, 86_400),
      600,
    )
    .addOption(
      new Option('--scenario <name>', 'play a fault, tell whether what is promised of it holds')
        .choices(SCENARIOS)
        .conflicts(['chaos', 'exitWhenRunning', 'dataDir', 'inspect']),
    )
    .option('--no-drain', 'with --scenario rolling: reboot machines that still serve')
    .addOption(inspectOption())
    .action(
      async (o: {
        machines?: number;
        drain: boolean;
        chaos: boolean;
        exitWhenRunning: boolean;
        json: boolean;
        light: boolean;
        dataDir?: string;
        consolePort: number;
        timeout: number;
        inspect?: number;
        scenario?: ScenarioName;
      }) => {
        const { timeout, inspect, scenario, ...rest } = o;
        if (scenario !== undefined) {
          const { playScenario } = await import('./commands/scenarios/run.ts');
          const timeoutMs = timeout * 1_000;
          await playScenario({ ...rest, scenario, timeoutMs, version: version() });
          return;
        }
        if (!rest.drain) throw new UsageError('--no-drain is for --scenario rolling');
        const { sim } = await import('./commands/sim.ts');
        await sim({
          ...rest,
          timeoutMs: timeout * 1_000,
          version: version(),
          ...(inspect !== undefined && { inspectPort: inspect }),
        });
      },
    );

  cli
    .command('fakequinix')
    .description('the emulator of the Equinix Metal API alone; prints one JSON line')
    .addOption(
      new Option('--listen <host:port>', 'loopback address')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .addOption(
      new Option('--profile <name>', 'times of the lifecycle')
        .choices(['fast', 'real'])
        .default('fast'),
    )
    .option('--reservations <n>', 'free reservations', wholeNumber(0, 100_000), 10)
    .option('--world <file>', 'what there is, YAML or JSON')
    .option('--seed <n>', 'of ids and chance', wholeNumber(0, 4_294_967_295), 1)
    .addOption(
      new Option('--clock <kind>', 'manual stands still until it is advanced')
        .choices(['real', 'manual'])
        .default('real'),
    )
    .addOption(
      new Option('--base-path <path>', 'below which the API is')
        .argParser(basePath)
        .default('/metal/v1'),
    )
    .option('--state <file>', 'keep the state here and continue there next time')
    .option('--machines', 'put simulated machines behind the devices', false)
    .action(
      async (o: {
        listen: { host: string; port: number };
        profile: 'fast' | 'real';
        reservations: number;
        world?: string;
        seed: number;
        clock: 'real' | 'manual';
        basePath: string;
        state?: string;
        machines: boolean;
      }) => {
        const { fakequinix } = await import('./commands/fakequinix.ts');
        const { world, state, ...rest } = o;
        await fakequinix({
          ...rest,
          ...(world !== undefined && { worldFile: world }),
          ...(state !== undefined && { stateFile: state }),
        });
      },
    );

  cli
    .command('fakengine')
    .description('the emulator of the Anexia Engine alone; prints one JSON line')
    .addOption(
      new Option('--listen <host:port>', 'loopback address')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .addOption(
      new Option('--state-delay <duration>', 'until an object is deployed')
        .argParser(durationMs)
        .default(1_000, '1s'),
    )
    .option('--faults <file>', 'fault rules from the start, YAML or JSON')
    .option('--seed <n>', 'of ids and chance', wholeNumber(0, 4_294_967_295), 1)
    .option('--load-balancers <n>', 'how many there are', wholeNumber(1, 100), 2)
    .addOption(
      new Option('--rows <form>', 'what rows of lists hold: identifier and name, or everything')
        .choices(['short', 'full'])
        .default('short'),
    )
    .action(
      async ({
        stateDelay,
        faults,
        rows,
        ...rest
      }: {
        listen: { host: string; port: number };
        stateDelay: number;
        faults?: string;
        seed: number;
        loadBalancers: number;
        rows: 'short' | 'full';
      }) => {
        const { fakengine } = await import('./commands/fakengine.ts');
        const faultsFile = faults === undefined ? {} : { faultsFile: faults };
        await fakengine({ ...rest, ...faultsFile, stateDelayMs: stateDelay, knobs: { rows } });
      },
    );

  cli
    .command('diagrams')
    .description('write every statechart to docs/machines as Mermaid and JSON')
    .option('--check', 'fail when a file is stale instead of writing it', false)
    .action(async ({ check }: { check: boolean }) => {
      const { diagrams } = await import('./commands/diagrams.ts');
      process.stdout.write(`${diagrams({ root: ROOT, check })}\n`);
    });
  return cli;
}

async function main(): Promise<void> {
  try {
    await program().parseAsync();
  } catch (error) {
    process.exitCode = report(error);
  }
}

/** One clear message for what a person can mend; the stack only for what is our fault. */
function report(error: unknown): number {
  const { code, exitCode } = error as { code?: unknown; exitCode?: unknown };
  if (typeof code === 'string' && code.startsWith('commander.')) {
    return exitCode === 0 ? 0 : EXIT_USAGE;
  }
  if (error instanceof FleetError) {
    process.stderr.write(`shepherd: ${printableLines(explain(error))}\n`);
    return error instanceof UsageError ? EXIT_USAGE : EXIT_FAILED;
  }
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`shepherd: internal error; please report it\n${stack}\n`);
  // Services of a crashed supervisor may still hold the event loop.
  process.exit(EXIT_BUG);
}

await main();
