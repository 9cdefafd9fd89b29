import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  durationMs,
  inspectOption,
  listenAddress,
  wholeNumber,
} from '../../src/commands/option-readers.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { PROFILE_NAMES } from '../redfish/profiles.ts';
import { SIM_PROVIDERS, type SimProviderName } from '../sim/providers/names.ts';
import { SCENARIOS, type ScenarioName } from '../sim/scenarios/scenario.ts';
import type { FakefishCommand } from './fakefish.ts';
import { addFakelatitude } from './fakelatitude-program.ts';
import { addFakerobot } from './fakerobot-program.ts';

const basePath = (text: string) => {
  if (/^(\/[\w.~-]+)*\/?$/.test(text) && !text.startsWith('/_fake')) return text;
  throw new InvalidArgumentError('Give a path such as /metal/v1; /_fake is taken.');
};

/** Adds the simulated fleet and the emulators. @param version Of the program. */
export function addEmulators(cli: Command, version: string): void {
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
          const { playScenario } = await import('../sim/scenarios/run.ts');
          const timeoutMs = timeout * 1_000;
          await playScenario({ ...rest, scenario, timeoutMs, version: version });
          return;
        }
        if (!rest.drain) throw new UsageError('--no-drain is for --scenario rolling');
        const { sim } = await import('../sim/sim.ts');
        await sim({
          ...rest,
          timeoutMs: timeout * 1_000,
          version: version,
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
        const { fakequinix } = await import('./fakequinix.ts');
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
        const { fakengine } = await import('./fakengine.ts');
        const faultsFile = faults === undefined ? {} : { faultsFile: faults };
        await fakengine({ ...rest, ...faultsFile, stateDelayMs: stateDelay, knobs: { rows } });
      },
    );

  addFakefish(cli);
  addFakelatitude(cli);
  addFakerobot(cli);
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
        const { fakefish } = await import('./fakefish.ts');
        await fakefish({ ...rest, ...(faults !== undefined && { faultsFile: faults }) });
      },
    );
}
