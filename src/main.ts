import { Command } from 'commander';
import { addConsoleCommands } from './commands/console-program.ts';
import { addDatabaseCommands } from './commands/db-program.ts';
import { addRedfishCommands } from './commands/redfish-program.ts';
import { addFleetCommands } from './commands/fleet-program.ts';
import { addBalancerCommands } from './commands/lb/program.ts';
import { outputWidth, printableLines } from './commands/layout.ts';
import { addMachineCommands } from './commands/machine-program.ts';
import { addProviderCommands } from './commands/provider-program.ts';
import { EXIT_FAILED, exitCodeFor } from './commands/remote/failures.ts';
import { inspectOption } from './commands/options.ts';
import { programVersion as version } from './commands/version.ts';
import { explain, FleetError, isDiskFull } from './domain/errors.ts';

const EXIT_USAGE = 2;
/** EX_SOFTWARE of sysexits.h: a bug of ours. */
const EXIT_BUG = 70;

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
  addProviderCommands(cli, version());
  addBalancerCommands(cli, version());
  addRedfishCommands(cli);
  return cli;
}

/** Adds the commands of the pretended world, unless one of ours is called: the daemon does not load them. */
async function addPretended(cli: Command, called: string | undefined): Promise<void> {
  if (cli.commands.some((each) => each.name() === called)) return;
  const { addEmulators } = await import('../emulators/commands/program.ts');
  addEmulators(cli, version());
}

async function main(): Promise<void> {
  try {
    const cli = program();
    await addPretended(cli, process.argv[2]);
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
