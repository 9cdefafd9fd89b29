import { realpathSync } from 'node:fs';
import { log, runAgent } from './detached.ts';
import { DETACHED_FLAG, takeOver } from './takeover.ts';

/**
 * The program that runs on a machine. Called over SSH it takes the machine over and starts itself
 * once more, detached; that copy is the agent.
 */
const executable = realpathSync(process.argv[1]!);
const life = process.env[DETACHED_FLAG] === '1' ? runAgent : takeOver;

life(executable).catch((error: unknown) => {
  log(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
