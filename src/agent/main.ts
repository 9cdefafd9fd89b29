import { runAgent } from './detached.ts';
import { log, thisProgram } from './program.ts';
import { DETACHED_FLAG, takeOver } from './takeover.ts';

/**
 * The program on a machine. Started over SSH, it answers and starts a detached copy of itself; this
 * copy is the agent.
 */
const life = process.env[DETACHED_FLAG] === '1' ? runAgent : takeOver;

life(thisProgram()).catch((error: unknown) => {
  log(`failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
