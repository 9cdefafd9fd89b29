import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { MachineHooks } from '../../../src/simulator/hooks.ts';
import { clientOf, createDevice, start } from './harness.ts';

const SECOND = 1_000;
const ACTIVE_MS = 245 * SECOND;

/** Hooks that write down what is called. */
function recorder(overrides: Partial<MachineHooks> = {}) {
  const calls: string[] = [];
  const note = (what: string) => async () => void calls.push(what);
  const hooks: MachineHooks = {
    assign: async ({ hostname }) => {
      calls.push(`assign ${hostname}`);
      return { address: '127.0.0.1', sshPort: 2201 };
    },
    up: note('up'),
    down: note('down'),
    reinstalled: note('reinstalled'),
    gone: note('gone'),
    ...overrides,
  };
  return { calls, hooks };
}

describe('the machine behind a device', () => {
  it('is assigned at 30 s, published, and up when the device is active', async () => {
    const { calls, hooks } = recorder();
    const fake = await start({ hooks });
    const id = await createDevice(fake, 0, { customdata: { mine: 1 } });
    await fake.advance(30 * SECOND);
    expect(calls).toEqual(['assign machine-0']);
    const { body } = await clientOf(fake)('GET', `/devices/${id}`);
    expect(body['ip_addresses']![0]).toMatchObject({
      address: '127.0.0.1',
      address_family: 4,
      public: true,
      management: true,
    });
    expect(body['customdata']).toEqual({ mine: 1, ssh_port: 2201 });
    expect(fake.devices()[0]).toMatchObject({ address: '127.0.0.1', sshPort: 2201 });
    await fake.advance(ACTIVE_MS);
    expect(calls).toEqual(['assign machine-0', 'up']);
  });

  it('keeps its port in customdata when the client writes there', async () => {
    const { hooks } = recorder();
    const fake = await start({ hooks });
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS);
    const { body } = await clientOf(fake)('PUT', `/devices/${id}`, {
      customdata: { mine: 2, ssh_port: 1 },
    });
    expect(body['customdata']).toEqual({ mine: 2, ssh_port: 2201 });
  });

  it('goes down 10 s after a reboot and comes up after 90 s', async () => {
    const { calls, hooks } = recorder();
    const fake = await start({ hooks });
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS);
    calls.length = 0;
    await clientOf(fake)('POST', `/devices/${id}/actions`, { type: 'reboot' });
    await fake.advance(10 * SECOND - 1);
    expect(calls).toEqual([]);
    await fake.advance(1);
    expect(calls).toEqual(['down']);
    await fake.advance(80 * SECOND - 1);
    expect(calls).toEqual(['down']);
    await fake.advance(1);
    expect(calls).toEqual(['down', 'up']);
  });

  it('follows power, reinstall and delete', async () => {
    const { calls, hooks } = recorder();
    const fake = await start({ hooks });
    const id = await createDevice(fake);
    const act = async (type: string, ms: number) => {
      calls.length = 0;
      await clientOf(fake)('POST', `/devices/${id}/actions`, { type });
      await fake.advance(ms);
      return [...calls];
    };
    await fake.advance(ACTIVE_MS);
    expect(await act('power_off', 10 * SECOND)).toEqual(['down']);
    expect(await act('power_on', 20 * SECOND)).toEqual(['up']);
    expect(await act('reinstall', 180 * SECOND)).toEqual(['down', 'reinstalled', 'up']);
    calls.length = 0;
    await clientOf(fake)('DELETE', `/devices/${id}`);
    await fake.advance(60 * SECOND);
    expect(calls).toEqual(['down', 'gone']);
    expect(fake.devices()).toEqual([]);
  });

  it('is not asked twice while it is slow, and holds back the active state', async () => {
    const answered = Promise.withResolvers<void>();
    let assigns = 0;
    const { calls, hooks } = recorder({
      assign: async () => {
        assigns++;
        await answered.promise;
        return { address: '127.0.0.1', sshPort: 2201 };
      },
    });
    const timings = { queuedMs: 1, addressesMs: 2, provisioningMs: 10 };
    const fake = await start({ hooks, clock: 'real', timings });
    const id = await createDevice(fake);
    const installed = async () => {
      const { body } = await clientOf(fake)('GET', `/devices/${id}`);
      return body['provisioning_events']!.at(-1)!['created_at'] !== null;
    };
    await expect.poll(installed).toBe(true);
    expect([fake.devices()[0]!.state, calls]).toEqual(['provisioning', []]);
    answered.resolve();
    await fake.settled();
    expect(fake.devices()[0]).toMatchObject({ state: 'active', sshPort: 2201 });
    expect([assigns, calls]).toEqual([1, ['up']]);
  });

  it('may fail: the error is logged, the device goes on, and is asked again', async () => {
    const errors: object[] = [];
    let fails = 2;
    const { hooks } = recorder({
      assign: async () => {
        if (fails-- > 0) throw new Error('no port left');
        return { address: '127.0.0.1', sshPort: 2201 };
      },
    });
    const nothing = () => undefined;
    const log = {
      debug: nothing,
      info: nothing,
      warn: nothing,
      error: (fields: object) => void errors.push(fields),
    };
    const fake = await start({ hooks, log });
    const id = await createDevice(fake);
    await fake.advance(ACTIVE_MS);
    expect(errors).toHaveLength(2);
    expect(fake.devices()[0]).toMatchObject({ state: 'active', address: null });
    for (const type of ['power_off', 'power_on']) {
      await clientOf(fake)('POST', `/devices/${id}/actions`, { type });
      await fake.advance(20 * SECOND);
    }
    expect(fake.devices()[0]).toMatchObject({ state: 'active', address: '127.0.0.1' });
  });

  it('does not exist for a stranger', async () => {
    const { calls, hooks } = recorder();
    const fake = await start({ hooks });
    fake.snatch(fake.reservations()[0]!.id);
    await fake.settled();
    expect(calls).toEqual([]);
  });

  it('comes back after a restart as the state says it is', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fakequinix-'));
    onTestFinished(() => rm(directory, { recursive: true }));
    const stateFile = join(directory, 'state.json');
    const first = await start({ stateFile, hooks: recorder().hooks });
    for (const index of [0, 1, 2]) await createDevice(first, index);
    await first.advance(ACTIVE_MS);
    const [, off] = first.devices();
    await clientOf(first)('POST', `/devices/${off!.id}/actions`, { type: 'power_off' });
    await createDevice(first, 3);
    await first.advance(10 * SECOND);
    await first.close();

    const { calls, hooks } = recorder();
    const second = await start({ stateFile, hooks });
    await second.settled();
    expect(calls.toSorted()).toEqual([
      'assign machine-0',
      'assign machine-1',
      'assign machine-2',
      'up',
      'up',
    ]);
    await second.advance(ACTIVE_MS);
    expect(second.devices().map((one) => one.state)).toEqual([
      'active',
      'inactive',
      'active',
      'active',
    ]);
  });
});
