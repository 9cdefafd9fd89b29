import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const KEEPER = fileURLToPath(new URL('./postgres-keeper.ts', import.meta.url));

/**
 * Lets all tests of a run share one PostgreSQL, which starts at the first use and stops at the end.
 * Its keeper is a process of its own, which ends with this process, however this process ends.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  let keeper: ChildProcess | null = null;
  let answer: Promise<string> | null = null;
  const start = () => {
    keeper = spawn(process.execPath, [KEEPER], { stdio: ['pipe', 'pipe', 'inherit'] });
    return firstLine(keeper);
  };
  const secret = `/${randomUUID()}`;
  const broker = createServer((request, response) => {
    // A worker asks seldom, and a kept connection may close just as the worker asks again.
    response.shouldKeepAlive = false;
    if (request.url !== secret) return void response.writeHead(404).end();
    answer ??= start();
    answer.then(
      (line) => response.end(line),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  project.provide('sharedPostgres', `${await listen(broker)}${secret}`);
  return async () => {
    broker.close();
    broker.closeAllConnections();
    if (keeper?.exitCode !== null || keeper.signalCode !== null) return;
    keeper.stdin?.end();
    await once(keeper, 'exit');
  };
}

async function listen(broker: Server): Promise<string> {
  broker.listen(0, '127.0.0.1');
  await once(broker, 'listening');
  const address = broker.address();
  if (typeof address !== 'object' || !address) throw new Error('the broker has no address');
  return `http://127.0.0.1:${address.port}`;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once('line', resolve);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`its keeper ended with ${code}`)));
  });
}
