import { runAgent } from './detached.ts';
import { log, thisProgram } from './program.ts';
import { DETACHED_FLAG, takeOver } from './takeover.ts';

/**
 * The program that runs on a machine. Called over SSH it takes the machine over and starts itself
 * once more, detached; that copy is the agent.
 */
const life = process.env[DETACHED_FLAG] === '1' ? runAgent : takeOver;

life(thisProgram()).catch((error: unknown) => {
  log(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
