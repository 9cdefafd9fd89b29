import { type Command, InvalidArgumentError, Option } from 'commander';
import { listenAddress, wholeNumber } from '../../src/commands/option-readers.ts';
import { DEFAULT_PLANS } from '../latitude/state/catalogue.ts';
import type { FakelatitudeCommand } from './fakelatitude.ts';

const planSlugs = (text: string): string[] => {
  const plans = text.split(',').map((one) => one.trim());
  if (plans.every((plan) => /^[a-z0-9][a-z0-9-]*$/.test(plan))) return [...new Set(plans)];
  throw new InvalidArgumentError('Give slugs of plans with commas, such as c3-small-x86.');
};

export function addFakelatitude(cli: Command): void {
  cli
    .command('fakelatitude')
    .description('the emulator of the API of Latitude.sh alone; prints one JSON line')
    .addOption(
      new Option('--listen <host:port>', 'loopback address; the admin API has the next port')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .addOption(
      new Option('--plans <slugs>', 'plans that there are')
        .argParser(planSlugs)
        .default(DEFAULT_PLANS, DEFAULT_PLANS.join()),
    )
    .option('--stock <file>', 'how many of each plan at each site, YAML or JSON; 20 if not given')
    .option('--seed <n>', 'of ids and chance', wholeNumber(0, 4_294_967_295), 1)
    .addOption(
      new Option('--clock <kind>', 'a manual one is moved by the admin API')
        .choices(['real', 'manual'])
        .default('real'),
    )
    .addOption(
      new Option('--profile <name>', 'fast: a hundred times as fast as the real service')
        .choices(['real', 'fast'])
        .default('real'),
    )
    .option('--faults <file>', 'fault rules from the start, YAML or JSON')
    .action(
      async ({
        stock,
        faults,
        ...rest
      }: Omit<FakelatitudeCommand, 'stockFile' | 'faultsFile'> & {
        stock?: string;
        faults?: string;
      }) => {
        const { fakelatitude } = await import('./fakelatitude.ts');
        await fakelatitude({
          ...rest,
          ...(stock !== undefined && { stockFile: stock }),
          ...(faults !== undefined && { faultsFile: faults }),
        });
      },
    );
}
