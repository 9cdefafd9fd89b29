import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { PLAIN_ORDER } from '../../../src/simulator/fakequinix/state/device-order.ts';
import { judgedChild } from '../../published/children.ts';
import { clientOf, createDevice, KEY, start } from './harness.ts';

async function stateFilePath(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
  // A write of the state may still be under way.
  onTestFinished(() => rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 }));
  return join(directory, 'state.json');
}

describe('the state file', () => {
  it('carries ids, states, tokens and remaining times over a restart', async () => {
    const stateFile = await stateFilePath();
    const first = await start({ stateFile });
    await clientOf(first)('POST', '/ssh-keys', { label: 'fleet', key: KEY });
    const early = await createDevice(first, 0, { tags: ['witness'] });
    await first.advance(100_000);
    const late = await createDevice(first, 1);
    await first.advance(45_000);
    const before = [first.tokens, first.projectId, first.devices(), first.reservations()];
    await first.close();

    const second = await start({ stateFile, reservations: 99 });
    expect([second.tokens, second.projectId, second.devices(), second.reservations()]).toEqual(
      before,
    );
    const states = () => second.devices().map((one) => one.state);
    await second.advance(99_999);
    expect(states()).toEqual(['provisioning', 'provisioning']);
    await second.advance(1);
    expect(states()).toEqual(['active', 'provisioning']);
    await second.advance(100_000);
    expect(states()).toEqual(['active', 'active']);
    const { body } = await clientOf(second)('GET', `/devices/${early}`);
    expect(body['tags']).toEqual(['witness']);
    expect(body['ssh_keys']).toHaveLength(1);
    const third = await createDevice(second, 2);
    expect(new Set([early, late, third]).size).toBe(3);
    expect(second.violations()).toEqual([]);
  });

  it('never gives an id a second time', async () => {
    const stateFile = await stateFilePath();
    const first = await start({ stateFile });
    const given = [first.organizationId, first.projectId, await createDevice(first)];
    await first.close();
    const second = await start({ stateFile });
    expect(given).not.toContain(await createDevice(second, 1));
  });

  it('carries a cleaning on', async () => {
    const stateFile = await stateFilePath();
    const first = await start({ stateFile });
    const id = await createDevice(first);
    await first.advance(245_000);
    await clientOf(first)('DELETE', `/devices/${id}`);
    await first.advance(100_000);
    await first.close();
    const second = await start({ stateFile });
    expect(second.reservations()[0]!.cleaning).toBe(true);
    await second.advance(200_000);
    expect(second.reservations()[0]!.cleaning).toBe(false);
  });

  it('never shows an earlier time than before, whatever the clock says', async () => {
    const stateFile = await stateFilePath();
    const nothing = () => undefined;
    const clockAt = (nowMs: number) => ({
      now: () => nowMs,
      setTimeout: nothing,
      clearTimeout: nothing,
    });
    const first = await start({ stateFile, clock: clockAt(1_800_000_000_000) });
    await createDevice(first);
    await first.close();
    const second = await start({ stateFile, clock: clockAt(1_000_000_000_000) });
    await createDevice(second, 1);
    const [early, late] = second.devices();
    expect(late!.createdAtMs).toBeGreaterThanOrEqual(early!.createdAtMs);
  });

  it('keeps the date of a termination, though everything else waits', async () => {
    const stateFile = await stateFilePath();
    const nowMs = { value: Date.parse('2026-08-01T10:00:00Z') };
    const running = new Set<() => void>();
    const clock = {
      now: () => nowMs.value,
      setTimeout: (run: () => void) => (running.add(run), run),
      clearTimeout: (run: unknown) => void running.delete(run as () => void),
    };
    const first = await start({ stateFile, clock });
    await createDevice(first, 0, { termination_time: '2026-08-01T11:00:00Z' });
    await first.close();
    nowMs.value += 3_600_000;
    const second = await start({ stateFile, clock });
    await createDevice(second, 1);
    for (const run of [...running]) run();
    expect(second.devices().map(({ state }) => state)).toEqual(['deprovisioning', 'queued']);
  });

  it('of an earlier release has devices of which nothing special was ordered', async () => {
    const stateFile = await stateFilePath();
    const first = await start({ stateFile });
    const id = await createDevice(first);
    await first.close();
    const state = JSON.parse(await readFile(stateFile, 'utf8')) as { devices: object[] };
    state.devices = state.devices.map((device) =>
      Object.fromEntries(Object.entries(device).filter(([name]) => !(name in PLAIN_ORDER))),
    );
    await writeFile(stateFile, JSON.stringify(state), { mode: 0o600 });
    const second = await start({ stateFile });
    await second.advance(30_000);
    const { body } = await clientOf(second)('GET', `/devices/${id}`);
    expect(body).toMatchObject({ billing_cycle: 'hourly', network_frozen: false });
    expect(body['ip_addresses']).toHaveLength(3);
  });

  it('is refused when it is something else', async () => {
    const stateFile = await stateFilePath();
    for (const content of ['not JSON', '{"version":99}', '[]']) {
      await writeFile(stateFile, content);
      await expect(start({ stateFile })).rejects.toThrow(stateFile);
    }
  });

  it('holds every acknowledged create when the process is killed', async () => {
    const stateFile = await stateFilePath();
    const script = fileURLToPath(new URL('./child.ts', import.meta.url));
    const child = spawn(process.execPath, [script, stateFile], {
      env: { ...process.env, ...judgedChild },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const { url, token, projectId } = JSON.parse(line) as Record<string, string>;
    const create = async (i: number) => {
      const response = await fetch(`${url}/projects/${projectId}/devices`, {
        method: 'POST',
        headers: { 'x-auth-token': token!, 'content-type': 'application/json' },
        body: JSON.stringify({
          hostname: `m-${i}`,
          plan: 'm3.large.x86',
          operating_system: 'ubuntu_22_04',
          hardware_reservation_id: 'next-available',
        }),
      });
      return ((await response.json()) as { id: string }).id;
    };
    const acknowledged: string[] = [];
    const creates = Array.from({ length: 20 }, async (_, i) => {
      acknowledged.push(await create(i));
      if (acknowledged.length === 10) child.kill('SIGKILL');
    });
    const exited = once(child, 'exit');
    await Promise.allSettled(creates);
    await exited;

    const again = await start({ stateFile });
    const known = new Set(again.devices().map((one) => one.id));
    expect(acknowledged.length).toBeGreaterThanOrEqual(10);
    expect(acknowledged.filter((id) => !known.has(id))).toEqual([]);
    expect(again.violations()).toEqual([]);
  });

  it('leaves no temporary file behind', async () => {
    const stateFile = await stateFilePath();
    const fake = await start({ stateFile });
    await Promise.all([0, 1, 2].map((index) => createDevice(fake, index)));
    await fake.close();
    expect(await readdir(join(stateFile, '..'))).toEqual(['state.json']);
  });
});
