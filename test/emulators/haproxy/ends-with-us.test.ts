import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { HaproxyOptions } from '../../../emulators/haproxy/haproxy-process.ts';
import { isActive, readServers } from '../../../emulators/haproxy/status.ts';
import { takeFreePort } from '../../../src/adapters/network/free-port.ts';
import { hasHaproxyFor, startTestHaproxy } from '../../support/haproxy.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'shepherd-haproxy-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
});

/** Processes with our directory among their arguments. */
const processes = (): string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(dir);
      } catch {
        return false; // It ended during the look.
      }
    });
const allEnded = () => vi.waitFor(() => expect(processes()).toEqual([]), 20_000);

/** A pool of one server, as an operator would write it. Returns the address for clients. */
async function writePool(): Promise<number> {
  const server = createServer((_request, response) => response.end('well'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const external = await takeFreePort(new Set());
  const { port } = server.address() as AddressInfo;
  const lines = [
    ...['defaults', '  timeout connect 5s', '  timeout client 1m', '  timeout server 1m'],
    ...['frontend f', `  bind 127.0.0.1:${external}`, '  default_backend b'],
    ...['backend b', `  server s 127.0.0.1:${port}`, ''],
  ];
  mkdirSync(join(dir, 'pools'), { recursive: true });
  writeFileSync(join(dir, 'pools', 'web.cfg'), lines.join('\n'));
  return external;
}

describe.runIf(hasHaproxyFor('the HAProxy of simulated fleets'))(
  'HAProxy in a directory of ours',
  () => {
    const start = (options: HaproxyOptions = {}) => startTestHaproxy({ dir, ...options });

    test('serves the files there, and leaves only them behind', async () => {
      const port = await writePool();
      const onDeath = vi.fn<(words: string) => void>();
      const haproxy = await start({ onDeath });
      const [response] = await once(get({ host: '127.0.0.1', port, agent: false }), 'response');
      expect(await text(response)).toBe('well');
      await haproxy.stop();
      await haproxy.stop();
      await allEnded();
      expect(readdirSync(dir).toSorted()).toEqual(['base.cfg', 'pools']);
      expect(onDeath).not.toHaveBeenCalled();
    });

    test('reports which servers get connections, and how many they have', async () => {
      await writePool();
      const [server] = await readServers(await start());
      expect(server).toEqual({
        ...{ backend: 'b', server: 's', status: 'no check' },
        ...{ weight: 1, sessions: 0 },
      });
      expect(isActive({ ...server!, weight: 0 })).toBe(false);
      for (const status of ['no check', 'UP', 'UP 1/3']) {
        expect(isActive({ ...server!, status }), status).toBe(true);
      }
      for (const status of ['DOWN', 'DOWN 1/2', 'DRAIN', 'MAINT', 'NOLB']) {
        expect(isActive({ ...server!, status }), status).toBe(false);
      }
    });

    test('places its socket elsewhere when the directory has a long name', async () => {
      const deep = join(dir, 'x'.repeat(80));
      const { masterSocket, stop } = await start({ dir: deep });
      expect(masterSocket.startsWith(deep)).toBe(false);
      await stop();
      expect(existsSync(dirname(masterSocket))).toBe(false);
    });

    test('reports an unrequested death, also after a restart', async () => {
      const onDeath = vi.fn<(words: string) => void>();
      const haproxy = await start({ onDeath });
      await haproxy.restart();
      expect(onDeath).not.toHaveBeenCalled();
      process.kill(haproxy.pid(), 'SIGKILL');
      await vi.waitFor(() => expect(onDeath).toHaveBeenCalledOnce(), 20_000);
      await allEnded();
    });

    test('can be abandoned at once', async () => {
      const onDeath = vi.fn<(words: string) => void>();
      (await start({ onDeath })).abandon();
      await allEnded();
      expect(onDeath).not.toHaveBeenCalled();
    });

    test('ends with a killed process, also after a restart', async () => {
      const module = new URL('../../../emulators/haproxy/haproxy-process.ts', import.meta.url);
      const code = `const { startHaproxy } = await import(${JSON.stringify(fileURLToPath(module))});
      const haproxy = await startHaproxy({ dir: ${JSON.stringify(dir)} });
      await haproxy.restart();
      console.log('ready'); setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      await once(child.stdout, 'data');
      expect(processes().length).toBeGreaterThan(2);
      child.kill('SIGKILL');
      await once(child, 'exit');
      await allEnded();
      await vi.waitFor(() => expect(existsSync(join(dir, 'master.sock'))).toBe(false), 20_000);
    });
  },
);
