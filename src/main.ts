import { join } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addAccessCommands } from './commands/access-program.ts';
import { addConsoleCommands } from './commands/console-program.ts';
import { addDatabaseCommands } from './commands/db-program.ts';
import { addEquinixCommands } from './commands/equinix-program.ts';
import type { FakefishCommand } from './commands/fakefish.ts';
import { addRedfishCommands } from './commands/redfish-program.ts';
import { addFakelatitude } from './commands/fakelatitude-program.ts';
import { addFakerobot } from './commands/fakerobot-program.ts';
import { addFleetCommands } from './commands/fleet-program.ts';
import { addBalancerCommands } from './commands/lb/program.ts';
import { outputWidth } from './commands/machine/layout.ts';
import { addMachineCommands } from './commands/machine-program.ts';
import { addProviderReading } from './commands/provider/program.ts';
import { addProviderCommands } from './commands/provider-program.ts';
import { SIM_PROVIDERS, type SimProviderName } from './commands/sim-providers/names.ts';
import { SCENARIOS, type ScenarioName } from './commands/scenarios/scenario.ts';
import { printableLines } from './commands/text-table.ts';
import { EXIT_FAILED, exitCodeFor } from './commands/remote/failures.ts';
import { programVersion as version } from './commands/version.ts';
import { explain, FleetError, isDiskFull, UsageError } from './domain/errors.ts';
import { parseDuration } from './settings/duration.ts';
import { PROFILE_NAMES } from './simulator/fakefish/profiles.ts';

const ROOT = join(import.meta.dirname, '..');
const EXIT_USAGE = 2;
/** EX_SOFTWARE of sysexits.h: a bug of ours. */
const EXIT_BUG = 70;

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
  new Option(
    '--inspect [port]',
    "show actors: to admins in the console, and on this loopback port to Stately's inspector",
  )
    .argParser(wholeNumber(0, 65_535))
    .preset(INSPECT_PORT);

function program(): Command {
  const cli = new Command('shepherd')
    .description('Keeps a fleet of physical machines alive.')
    .version(version())
    .showHelpAfterError('(add --help for what there is)')
    .configureOutput({
      getOutHelpWidth: () => outputWidth(process.stdout),
      getErrHelpWidth: () => outputWidth(process.stderr),
    })
    .exitOverride();

  cli
    .command('run')
    .description('run the daemon until SIGINT or SIGTERM')
    .requiredOption('--config <file>', 'configuration, YAML')
    .option('--check-config', 'only check the configuration', false)
    .option('--roles <roles>', 'do only this, such as agent-server,console')
    .addOption(inspectOption())
    .action(
      async (o: { config: string; checkConfig: boolean; inspect?: number; roles?: string }) => {
        const { run } = await import('./commands/run.ts');
        const flags = {
          ...(o.inspect !== undefined && { 'inspect.port': o.inspect, 'inspect.console': true }),
          ...(o.roles !== undefined && { roles: `[${o.roles}]` }),
        };
        await run({ file: o.config, checkOnly: o.checkConfig, flags, version: version() });
      },
    );

  addDatabaseCommands(cli);
  addMachineCommands(cli);
  addFleetCommands(cli);
  addConsoleCommands(cli);
  addAccessCommands(cli);
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
    .addOption(
      new Option('--provider <kind>', 'on which emulator the machines stand')
        .choices(SIM_PROVIDERS)
        .default('equinix'),
    )
    .option('--adopt', 'with --provider redfish: take in machines that run a system', false)
    .option('--chaos', 'kill agents and hang machines now and then', false)
    .option('--exit-when-running', 'end when every machine runs', false)
    .option(
      '--json',
      'print one JSON line at the end, and only warnings before; with neither --exit-when-running nor --scenario, Ctrl-C is the end',
      false,
    )
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
        .conflicts(['chaos', 'exitWhenRunning', 'dataDir', 'inspect', 'adopt']),
    )
    .option('--no-drain', 'with --scenario rolling: reboot machines that still serve')
    .addOption(inspectOption())
    .action(
      async (o: {
        machines?: number;
        provider: SimProviderName;
        drain: boolean;
        adopt: boolean;
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
          if (rest.provider !== 'equinix') {
            throw new UsageError('scenarios are played on equinix alone');
          }
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

  addRedfishCommands(cli);
  addFakefish(cli);
  addFakelatitude(cli, { listenAddress, wholeNumber });
  addFakerobot(cli, { listenAddress, wholeNumber });

  cli
    .command('diagrams')
    .description('write every statechart to docs/machines as Mermaid and JSON')
    .option('--check', 'fail when a file is stale instead of writing it', false)
    .action(async ({ check }: { check: boolean }) => {
      const { diagrams } = await import('./commands/diagrams.ts');
      process.stdout.write(`${await diagrams({ root: ROOT, check })}\n`);
    });
  return cli;
}

function addFakefish(cli: Command): void {
  cli
    .command('fakefish')
    .description('the emulator of BMCs that speak Redfish alone; prints one JSON line')
    .addOption(
      new Option('--listen <host:port>', 'loopback address of the first BMC; others follow')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .addOption(
      new Option('--profile <vendor>', 'whose BMCs are played')
        .choices(PROFILE_NAMES)
        .default('generic'),
    )
    .option('--systems <n>', 'how many machines there are', wholeNumber(1, 5_000), 1)
    .option(
      '--bmcs <n>',
      'how many BMCs they share; one for each if not given',
      wholeNumber(1, 5_000),
    )
    .option('--seed <n>', 'of ids, serial numbers and chance', wholeNumber(0, 4_294_967_295), 1)
    .addOption(
      new Option('--clock <kind>', 'a manual one is moved by the admin API')
        .choices(['real', 'manual'])
        .default('real'),
    )
    .addOption(
      new Option('--pace <pace>', 'fast: a hundred times as fast as real machines')
        .choices(['real', 'fast'])
        .default('real'),
    )
    .option('--faults <file>', 'fault rules from the start, YAML or JSON')
    .action(
      async ({ faults, ...rest }: Omit<FakefishCommand, 'faultsFile'> & { faults?: string }) => {
        const { fakefish } = await import('./commands/fakefish.ts');
        await fakefish({ ...rest, ...(faults !== undefined && { faultsFile: faults }) });
      },
    );
}

async function main(): Promise<void> {
  try {
    const cli = program();
    if (process.argv[2] === 'complete') {
      const { complete } = await import('./commands/remote/completion.ts');
      await complete(cli, process.argv.slice(process.argv[3] === '--' ? 4 : 3));
      return;
    }
    await cli.parseAsync();
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
    return exitCodeFor(error);
  }
  if (isDiskFull(error)) {
    process.stderr.write(`shepherd: ${printableLines(explain(error))}\n`);
    process.exit(EXIT_FAILED);
  }
  const stack = error instanceof Error ? error.stack : String(error);
  process.stderr.write(`shepherd: internal error; please report it\n${stack}\n`);
  // Services of a crashed supervisor may still hold the event loop.
  process.exit(EXIT_BUG);
}

await main();
