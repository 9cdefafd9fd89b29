import { type Command, Option } from 'commander';
import { examples } from '../../src/commands/help.ts';
import { inspectOption, wholeNumber } from '../../src/commands/options.ts';
import { UsageError } from '../../src/domain/errors.ts';
import { SIM_PROVIDERS, type SimProviderName } from '../sim/providers/names.ts';
import { SCENARIOS, type ScenarioName } from '../sim/scenarios/scenario.ts';
import { addEmulate } from './emulate.ts';

/** Adds the simulated fleet and the emulators. @param version version of the program. */
export function addEmulators(cli: Command, version: string): void {
  const command = cli
    .command('sim')
    .description('Run a simulated fleet, and a daemon that keeps it alive')
    .option(
      '--machines <n>',
      'Number of machines (default: 12, or the number in --data-dir; 40 with --scenario)',
      wholeNumber(1, 2_000),
    )
    .addOption(
      new Option('--provider <kind>', 'Emulated provider of the machines')
        .choices(SIM_PROVIDERS)
        .default('equinix'),
    )
    .option(
      '--adopt',
      'With --provider redfish or hetzner-robot: take over machines that already run',
      false,
    )
    .option('--chaos', 'Kill agents, hang machines, break a disk, and retire one machine', false)
    .option('--exit-when-running', 'End when every machine runs', false)
    .option('--light', 'Run all agents in this process, for hundreds of machines', false)
    .option('--data-dir <dir>', 'Keep all data in this directory, and continue there next time')
    .option('--console-port <port>', 'Port of the console', wholeNumber(0, 65_535), 4243)
    .option(
      '--timeout <s>',
      'Give up --exit-when-running or --scenario after this many seconds',
      wholeNumber(1, 86_400),
      600,
    )
    .addOption(
      new Option('--scenario <name>', 'Simulate a fault, and judge whether all promises hold')
        .choices(SCENARIOS)
        .conflicts(['chaos', 'exitWhenRunning', 'dataDir', 'inspect', 'adopt']),
    )
    .option('--no-drain', 'With --scenario rolling: reboot machines that still serve')
    .option('--json', 'Print one line of JSON at the end, and only warnings before', false)
    .addOption(inspectOption());
  examples(
    command,
    'shepherd sim --machines 12 --chaos',
    'shepherd sim --machines 300 --scenario storm',
    'shepherd sim --data-dir ./fleet --provider redfish',
  ).action(
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
          throw new UsageError('--scenario works only with --provider equinix');
        }
        const { playScenario } = await import('../sim/scenarios/run.ts');
        const timeoutMs = timeout * 1_000;
        await playScenario({ ...rest, scenario, timeoutMs, version: version });
        return;
      }
      if (!rest.drain) throw new UsageError('--no-drain works only with --scenario rolling');
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
