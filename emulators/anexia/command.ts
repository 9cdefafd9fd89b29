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
  description: 'the Anexia Engine, as far as load balancers need it',
  addOptions: (command, { durationMs, wholeNumber }) =>
    command
      .addOption(
        new Option('--state-delay <duration>', 'until an object is deployed')
          .argParser(durationMs)
          .default(1_000, '1s'),
      )
      .option('--load-balancers <n>', 'how many there are', wholeNumber(1, 100), 2)
      .addOption(
        new Option('--rows <form>', 'what rows of lists hold: identifier and name, or everything')
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
