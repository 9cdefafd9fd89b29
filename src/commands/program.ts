import { Command } from 'commander';
import { addCaseCommands } from './case-program.ts';
import { addConsoleCommands } from './console-program.ts';
import { addDatabaseCommands } from './db-program.ts';
import { addFleetCommands } from './fleet-program.ts';
import { examples, layOutHelp } from './help.ts';
import { addBalancerCommands } from './lb/program.ts';
import { addLogCommands } from './log-program.ts';
import { addMachineCommands } from './machine-program.ts';
import { CONFIG, inspectOption } from './options.ts';
import { addProviderCommands } from './provider-program.ts';
import { addRedfishCommands } from './redfish-program.ts';

/** What the exit status of every command means, unless its help says otherwise. */
export const EXIT_STATUS: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'Done, or sent if the command does not wait'],
  ['1', 'Refused, not found, or the database failed'],
  ['2', 'Wrong usage. Nothing was done'],
  ['3', 'Sent, but not done within --wait or --timeout'],
  ['4', 'Not logged in, or not allowed. See "shepherd whoami"'],
  ['5', 'No console answers'],
  ['70', 'Internal error. Please report it'],
  ['130, 143', 'Ended by SIGINT or SIGTERM'],
  ['141', 'Its output was closed before the end, for example by head'],
];

/** The command line of Shepherd, without the simulator and the emulators. */
export function createProgram(version: string): Command {
  const cli = layOutHelp(new Command('shepherd'))
    .description('Keeps a fleet of physical machines alive.')
    .version(version, '-V, --version', 'Print the version')
    .showHelpAfterError('(add --help to list commands and options)')
    .helpCommand('help [command]', 'Show the help of a command')
    .exitOverride();
  examples(
    cli,
    '# A simulated fleet on this computer:',
    'shepherd sim --machines 12',
    '# In a second terminal:',
    'shepherd machines',
    'shepherd machine explain $(shepherd machines -o name | head -n 1)',
  ).addHelpText(
    'after',
    `\nExit status:\n${EXIT_STATUS.map(([code, text]) => `  ${code.padEnd(10)}${text}`).join('\n')}`,
  );
  cli.commandsGroup('Machines and fleet:');
  addMachineCommands(cli);
  addFleetCommands(cli);
  addCaseCommands(cli);
  cli.commandsGroup('Providers and load balancers:');
  addProviderCommands(cli, version);
  addBalancerCommands(cli, version);
  addRedfishCommands(cli);
  cli.commandsGroup('Events and logs:');
  addLogCommands(cli);
  cli.commandsGroup('Consoles and access:');
  addConsoleCommands(cli);
  cli.commandsGroup('Daemon and database:');
  addRun(cli, version);
  addDatabaseCommands(cli);
  cli.commandsGroup('Simulation:');
  return cli;
}

interface RunFlags {
  readonly config: string;
  readonly checkConfig: boolean;
  readonly inspect?: number;
  readonly roles?: string;
}

function addRun(cli: Command, version: string): void {
  const command = cli
    .command('run')
    .description('Run the daemon until SIGINT or SIGTERM')
    .requiredOption('--config <file>', CONFIG)
    .option('--check-config', 'Only check the configuration', false)
    .option('--roles <roles>', 'Run only these roles, such as agent-server,console')
    .addOption(inspectOption())
    .action(async ({ config: file, checkConfig: checkOnly, inspect, roles }: RunFlags) => {
      const { run } = await import('./run.ts');
      const flags = {
        ...(inspect !== undefined && { 'inspect.port': inspect, 'inspect.console': true }),
        ...(roles !== undefined && { roles: `[${roles}]` }),
      };
      await run({ file, checkOnly, flags, version });
    });
  examples(
    command,
    'shepherd run --config /etc/shepherd/shepherd.yaml --check-config',
    'shepherd run --config /etc/shepherd/shepherd.yaml',
    '# No daemon is left: serve a console beside the database, and nothing else.',
    'shepherd run --config /etc/shepherd/shepherd.yaml --roles console',
  );
}
