import { Option } from 'commander';
import type { EmulatorCommand } from '../kit/command.ts';
import type { KnobValues } from './api.ts';

interface EngineFlags {
  readonly stateDelay: number;
  readonly loadBalancers: number;
  readonly rows: KnobValues['rows'];
}

export const anexia: EmulatorCommand = {
  name: 'anexia',
  description: 'Emulate the load balancer API of the Anexia Engine',
  addOptions: (command, { durationMs, wholeNumber }) =>
    command
      .addOption(
        new Option('--state-delay <duration>', 'Time until an object is deployed')
          .argParser(durationMs)
          .default(1_000, '1s'),
      )
      .option('--load-balancers <n>', 'Number of load balancers', wholeNumber(1, 100), 2)
      .addOption(
        new Option('--rows <form>', 'Content of rows in lists: identifier and name, or all fields')
          .choices(['short', 'full'])
          .default('short'),
      ),
  async start(common, own) {
    const { stateDelay: stateDelayMs, loadBalancers, rows } = own as unknown as EngineFlags;
    const { startAnexiaEmulator } = await import('./emulator.ts');
    const options = { ...common, stateDelayMs, loadBalancers, knobs: { rows } };
    const { url, token, adminUrl, adminToken, ...fake } = await startAnexiaEmulator(options);
    return {
      line: { url, token, loadBalancers: fake.loadBalancers, adminUrl, adminToken },
      close: fake.close,
    };
  },
};
