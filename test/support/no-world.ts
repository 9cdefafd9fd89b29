import childProcess, { ChildProcess } from 'node:child_process';
import { Socket as UdpSocket } from 'node:dgram';
import { syncBuiltinESMExports } from 'node:module';
import { Server, Socket } from 'node:net';
import workerThreads from 'node:worker_threads';
import { systemClock } from '../../src/adapters/clock/system-clock.ts';

/*
 * Runs before every file of the project `virtual`. Code that opens a socket, starts a process or
 * waits for real time throws there. `projects.ts` chose the file by its imports; this check sees
 * what imports hide.
 */
const INSTALLED = Symbol.for('shepherd:no-world');

/** A function that also works as a constructor. */
function refuse(what: string) {
  return function refused(): never {
    throw new Error(
      `a test in virtual time ${what}: name what it imports for that in test/support/projects.ts`,
    );
  };
}

function install(): void {
  const listens = refuse('listens on a socket');
  const starts = refuse('starts a process');
  Object.assign(Socket.prototype, { connect: refuse('connects a socket') });
  Object.assign(Server.prototype, { listen: listens });
  Object.assign(UdpSocket.prototype, { bind: listens });
  Object.assign(ChildProcess.prototype, { spawn: starts });
  Object.assign(childProcess, { spawnSync: starts, execSync: starts, execFileSync: starts });
  Object.assign(workerThreads, { Worker: refuse('starts a thread') });
  syncBuiltinESMExports();
}

const shared = globalThis as { [INSTALLED]?: boolean };
if (!shared[INSTALLED]) install();
shared[INSTALLED] = true;
Object.assign(systemClock, { setTimeout: refuse('waits for real time') });
