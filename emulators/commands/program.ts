import { type Command, Option } from 'commander';
import { inspectOption, wholeNumber } from '../../src/commands/options.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { SIM_PROVIDERS, type SimProviderName } from '../sim/providers/names.ts';
import { SCENARIOS, type ScenarioName } from '../sim/scenarios/scenario.ts';
import { addEmulate } from './emulate.ts';

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

  addEmulate(cli);
}
