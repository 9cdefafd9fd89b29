import type { Command } from 'commander';
import { printableLines } from './commands/layout.ts';
import { createProgram } from './commands/program.ts';
import { EXIT_FAILED, exitCodeFor } from './commands/remote/failures.ts';
import { programVersion } from './commands/version.ts';
import { explain, FleetError, isDiskFull } from './domain/errors.ts';

const EXIT_USAGE = 2;
/** EX_SOFTWARE of sysexits.h: our bug. */
const EXIT_BUG = 70;
/** As of a program that SIGPIPE ended. */
const EXIT_PIPE = 141;

/** Adds the commands of emulators, unless ours is called: the daemon does not load them. */
async function addPretended(
  cli: Command,
  version: string,
  called: string | undefined,
): Promise<void> {
  if (cli.commands.some((each) => each.name() === called)) return;
  const { addEmulators } = await import('../emulators/commands/program.ts');
  addEmulators(cli, version);
}

async function main(): Promise<void> {
  try {
    const version = programVersion();
    const cli = createProgram(version);
    await addPretended(cli, version, process.argv[2]);
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

/** One clear message for mistakes that a person can fix; the stack only for our bugs. */
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
  // Services of a crashed supervisor may keep the event loop alive.
  process.exit(EXIT_BUG);
}

/** Ends a command whose output is no longer read, for example by `head`. Daemons listen themselves. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (process.stdout.listenerCount('error') > 1) return;
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT_PIPE);
}

process.stdout.on('error', endWithReader);
await main();
