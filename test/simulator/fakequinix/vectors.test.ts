import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createManualClock } from '../../../src/simulator/fakequinix/time/clock.ts';
import { judgedChild } from '../../published/children.ts';
import { adminOf, clientOf, createDevice, createOn, start } from './harness.ts';

const SECOND = 1_000;
const directoryOf = async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
  // A write of the state may still be under way.
  onTestFinished(() => rm(directory, { recursive: true, maxRetries: 20, retryDelay: 50 }));
  return directory;
};

describe('vector 36: create, then delete in provisioning; wait; delete', () => {
  it('vector 36: 422, later 204; in use, cleaning, provisionable at the tabled times', async () => {
    const fake = await start();
    const id = await createDevice(fake);
    const path = `/hardware-reservations/${fake.reservations()[0]!.id}`;
    const remove = async () => (await clientOf(fake)('DELETE', `/devices/${id}`)).status;
    const reservation = async () => {
      const { body } = await clientOf(fake)('GET', path);
      return [body['device'] === null ? 'empty' : 'in use', body['provisionable']];
    };
    const seen: unknown[] = [await remove()];
    for (const [waitMs, deletes] of [
      [5 * SECOND, true],
      [240 * SECOND - 1, true],
      [1, true],
      [60 * SECOND - 1, false],
      [1, false],
      [240 * SECOND - 1, false],
      [1, false],
    ] as const) {
      await fake.advance(waitMs);
      seen.push(deletes ? await remove() : await reservation());
    }
    expect(seen).toEqual([
      422,
      422,
      422,
      204,
      ['in use', false],
      ['empty', false],
      ['empty', false],
      ['empty', true],
    ]);
    expect(fake.violations()).toEqual([]);
  });
});

/** The emulator as a process of its own; answers what it printed. */
async function launch(stateFile: string) {
  const script = fileURLToPath(new URL('./child.ts', import.meta.url));
  const child = spawn(process.execPath, [script, stateFile], {
    env: { ...process.env, ...judgedChild },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { child, ...(JSON.parse(line) as { url: string; token: string; projectId: string }) };
}
const kill = async (child: ChildProcess) => {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
};

describe('vector 37: restarted from its file mid-provisioning', () => {
  it('vector 37: same ids, states and remaining times', async () => {
    const stateFile = join(await directoryOf(), 'state.json');
    const first = await start({ stateFile });
    for (const index of [0, 1, 2]) {
      await createDevice(first, index);
      await first.advance(40 * SECOND);
    }
    const timers = async (fake: typeof first) => {
      const { body } = await adminOf(fake)('GET', '/state');
      return body['timers'];
    };
    const before = [first.devices(), first.reservations(), first.tokens, await timers(first)];
    await first.close();
    const second = await start({ stateFile });
    const after = [second.devices(), second.reservations(), second.tokens, await timers(second)];
    expect(after).toEqual(before);
    const active = () => second.devices().filter((one) => one.state === 'active').length;
    const counts: number[] = [];
    for (const ms of [125 * SECOND - 1, 1, 40 * SECOND, 40 * SECOND]) {
      await second.advance(ms);
      counts.push(active());
    }
    expect(counts).toEqual([0, 1, 2, 3]);
  });

  it('vector 37: on the real clock what was left to wait is left, however long it was away', async () => {
    const stateFile = join(await directoryOf(), 'state.json');
    const startMs = 1_000_000;
    const begin = createManualClock(startMs);
    const first = await start({ stateFile, clock: begin });
    await createDevice(first);
    while (begin.stepTowards(startMs + 100 * SECOND));
    await first.close();
    const dayMs = 86_400 * SECOND;
    const later = createManualClock(startMs + dayMs);
    const second = await start({ stateFile, clock: later });
    const states = [0, 144, 145].map((seconds) => {
      while (later.stepTowards(startMs + dayMs + seconds * SECOND));
      return second.devices()[0]!.state;
    });
    expect(states).toEqual(['provisioning', 'provisioning', 'active']);
  });

  it('vector 37: a client notices only a connection error', async () => {
    const stateFile = join(await directoryOf(), 'state.json');
    const read = async ({ url, token, projectId }: Awaited<ReturnType<typeof launch>>) => {
      const init = { headers: { 'x-auth-token': token } };
      return (await fetch(`${url}/projects/${projectId}/devices`, init)).json() as Promise<object>;
    };
    const one = await launch(stateFile);
    const response = await fetch(`${one.url}/projects/${one.projectId}/devices`, {
      method: 'POST',
      headers: { 'x-auth-token': one.token, 'content-type': 'application/json' },
      body: JSON.stringify({
        hostname: 'm',
        plan: 'm3.large.x86',
        operating_system: 'ubuntu_22_04',
        hardware_reservation_id: 'next-available',
      }),
    });
    expect(response.status).toBe(201);
    const seen = await read(one);
    await kill(one.child);
    await expect(read(one)).rejects.toThrow('fetch failed');
    const two = await launch(stateFile);
    expect([two.token, two.projectId]).toEqual([one.token, one.projectId]);
    expect(await read(two)).toEqual(seen);
    await kill(two.child);
  });

  it('vector 37: faults go on where they were, and the journal counts on', async () => {
    const stateFile = join(await directoryOf(), 'state.json');
    const first = await start({ stateFile });
    first.addFault({ match: { nth: 3 }, effect: { type: 'status', code: 503 } });
    first.addFault({ match: { probability: 0 }, effect: { type: 'status', code: 500 } });
    for (const _ of [1, 2]) await clientOf(first)('GET', '/user');
    const seq = first.requests().at(-1)!.seq;
    const rules = first.faults();
    await first.close();
    const second = await start({ stateFile });
    expect(second.faults()).toEqual(rules);
    expect((await clientOf(second)('GET', '/user')).status).toBe(503);
    expect(second.requests().map((one) => one.seq)).toEqual([seq + 1]);
    const added = second.addFault({ effect: { type: 'stuck' } });
    expect(rules.map((one) => one.id)).not.toContain(added.id);
  });
});

describe('the same seed', () => {
  /** Everything that clients and observers see of a busy life. */
  async function life(seed: number): Promise<string> {
    const fake = await start({ seed, knobs: { shuffleUnsorted: true } });
    const call = clientOf(fake);
    const seen: unknown[] = [fake.projectId];
    fake.addFault({ match: { probability: 0.3 }, effect: { type: 'status', code: 503 } });
    fake.addFault({ match: { every: 4 }, effect: { type: 'unstablePages', mode: 'duplicate' } });
    fake.addFault({
      match: { every: 3 },
      times: 9,
      effect: { type: 'race', when: 'betweenCheckAndCreate' },
    });
    for (let i = 0; i < 30; i++) {
      const path = `/projects/${fake.projectId}/devices`;
      seen.push(await call('POST', path, createOn(fake, i % 6)).then(({ body }) => body));
      seen.push((await call('GET', `/projects/${fake.projectId}/hardware-reservations`)).body);
      await fake.advance(20 * SECOND);
    }
    seen.push(fake.devices(), fake.requests(), await adminOf(fake)('GET', '/state'));
    expect(fake.violations()).toEqual([]);
    // What lets somebody in is random always.
    return JSON.stringify(seen).replaceAll(/"root_password":"\w+"/g, '');
  }

  it('with the same clock and requests gives the same answers, and another seed others', async () => {
    const [one, again, other] = [await life(5), await life(5), await life(6)];
    expect(again).toBe(one);
    expect(other).not.toBe(one);
  });
});
