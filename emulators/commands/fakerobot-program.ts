import { type Command, Option } from 'commander';
import { listenAddress, wholeNumber } from '../../src/commands/option-readers.ts';
import type { FakerobotCommand } from './fakerobot.ts';

/** The subcommand `fakerobot`. */
export function addFakerobot(cli: Command): void {
  cli
    .command('fakerobot')
    .description('the emulator of the Hetzner Robot web service alone; prints one JSON line')
    .addOption(
      new Option('--listen <host:port>', 'loopback address of the API')
        .argParser(listenAddress)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1:0'),
    )
    .option('--servers <n>', 'how many servers there are', wholeNumber(1, 2_000), 1)
    .option('--free-prefix <text>', 'names of servers begin so', 'free-')
    .option('--ssh-port <port>', 'of every machine; 0: a free one', wholeNumber(0, 65_535), 0)
    .option('--seed <n>', 'of addresses, drives and chance', wholeNumber(0, 4_294_967_295), 1)
    .addOption(
      new Option('--clock <kind>', 'a manual one is moved by the admin API')
        .choices(['real', 'manual'])
        .default('real'),
    )
    .addOption(
      new Option('--profile <name>', 'fast: machines are a hundred times as fast as real ones')
        .choices(['real', 'fast'])
        .default('real'),
    )
    .option('--faults <file>', 'fault rules from the start, YAML or JSON')
    .action(
      async ({ faults, ...rest }: Omit<FakerobotCommand, 'faultsFile'> & { faults?: string }) => {
        const { fakerobot } = await import('./fakerobot.ts');
        await fakerobot({ ...rest, ...(faults !== undefined && { faultsFile: faults }) });
      },
    );
}
