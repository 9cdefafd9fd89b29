import { execFile } from 'node:child_process';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';

/** Used in turn instead of random ports. They are lower than any random port of other tests. */
const ports =
  (...all: number[]) =>
  () =>
    all.shift()!;

/** The result for another process that claims the port taken by this process. */
const CLAIM = `
  const server = require('node:net').createServer();
  server.once('error', ({ code }) => console.log(code));
  server.listen('\\0shepherd-port-' + process.argv[1], () => { console.log('free'); server.close(); });
`;
const claimedElsewhere = async (port: number) => {
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', CLAIM, String(port)]);
  return stdout.trim();
};

test('reserves a port for one caller, even while nobody listens on it', async () => {
  expect(await claimedElsewhere(9_001)).toBe('free');
  expect(await takeFreePort(new Set(), ports(9_001))).toBe(9_001);
  expect(await claimedElsewhere(9_001)).toBe('EADDRINUSE');
  const second = await takeFreePort(new Set(), ports(9_001, 9_002));
  expect(second, 'to another simulator of this process').toBe(9_002);
});

test('does not take a port on which somebody listens', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  expect(await takeFreePort(new Set(), ports(port, 9_003))).toBe(9_003);
  server.close();
});
