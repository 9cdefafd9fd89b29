import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AgentServer, Heard } from '../../src/adapters/agents/port.ts';
import { generateRawKeyPair } from '../../src/agent/keys.ts';
import type { RawKeyPair } from '../../src/agent/keys.ts';
import { machineId } from '../../src/domain/ids.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { hardwareReportCodec, installationRequestCodec } from '../../src/wire/codec.ts';
import type { HardwareReport, InstallationReport } from '../../src/wire/codec.ts';
import { createMemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import type { MemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';

/** One heartbeat of an agent with this key. */
export interface Beat {
  readonly machineId: MachineId;
  readonly key: RawKeyPair;
  readonly bootId?: string;
  readonly hardwareReport?: HardwareReport;
  readonly installationReport?: InstallationReport;
}

/** What the server answers to the agent; `text` is the whole error message. */
export type AgentAnswer =
  | { readonly kind: 'accepted'; readonly generation: bigint | null }
  | { readonly kind: 'unauthenticated' | 'invalid' | 'unavailable'; readonly text: string };

export interface ServerUnderTest {
  readonly server: AgentServer;
  beat(beat: Beat): Promise<AgentAnswer>;
  /** Closes the clients. The server has been closed before. */
  dispose(): void;
}

const accepted = (generation: bigint | null): AgentAnswer => ({ kind: 'accepted', generation });
const request = (generation: bigint) => ({
  generation,
  raw: installationRequestCodec.encode({ generation, genericImage: { imageUrl: 'http://image' } }),
});

/** The contract of every agent server, over any transport. */
export function agentServerContract(
  name: string,
  start: (store: MemHeartbeatStore, isReady: () => boolean) => Promise<ServerUnderTest>,
): void {
  describe(`agent server contract: ${name}`, () => {
    let store: MemHeartbeatStore;
    let server: AgentServer;
    let ready: boolean;
    let beat: ServerUnderTest['beat'];
    const newBeat = (): Beat => ({
      machineId: machineId(randomUUID()),
      key: generateRawKeyPair(),
      bootId: randomUUID(),
    });
    const startedBeat = () => {
      const own = newBeat();
      return { own, stored: store.start(own.machineId, own.key.publicKey) };
    };

    beforeEach(async () => {
      store = createMemHeartbeatStore();
      ready = true;
      const started = await start(store, () => ready);
      ({ server, beat } = started);
      onTestFinished(async () => {
        await server.close(1_000);
        started.dispose();
      });
    });

    test('refuses a machine id that does not exist', async () => {
      expect(await beat(newBeat())).toMatchObject({ kind: 'unauthenticated' });
    });

    test('accepts a heartbeat of the right machine with the right key', async () => {
      const { own, stored } = startedBeat();
      expect(await beat(own)).toEqual(accepted(null));
      expect(stored.heartbeats).toBe(1);
    });

    test('answers a wrong key and an unknown machine alike', async () => {
      const { own } = startedBeat();
      const wrongKey = await beat({ ...own, key: generateRawKeyPair() });
      const unknown = await beat(newBeat());
      expect(wrongKey).toMatchObject({ kind: 'unauthenticated' });
      expect(wrongKey).toEqual(unknown);
    });

    test('repeats an installation request until the agent reports success, then sends the next one', async () => {
      const { own, stored } = startedBeat();
      stored.request = request(123n);
      expect(await beat(own)).toEqual(accepted(123n));
      expect(await beat(own)).toEqual(accepted(123n));
      const failed = { generation: 123n, error: { error: 'no disk' } };
      expect(await beat({ ...own, installationReport: failed })).toEqual(accepted(123n));
      const success = { generation: 123n, success: {} };
      expect(await beat({ ...own, installationReport: success })).toEqual(accepted(null));
      expect(await beat(own)).toEqual(accepted(null));
      stored.request = request(234n);
      expect(await beat(own)).toEqual(accepted(234n));
    });

    test('rejects a report for a generation that was never requested', async () => {
      const { own, stored } = startedBeat();
      stored.request = request(5n);
      const early = { ...own, installationReport: { generation: 6n, success: {} } };
      expect(await beat(early)).toMatchObject({ kind: 'invalid' });
      expect(stored.report).toBeNull();
      expect(stored.heartbeats).toBeGreaterThan(0);
    });

    test('stores the hardware report', async () => {
      const { own, stored } = startedBeat();
      const report: HardwareReport = { report: { product: 'X', memoryInstalledBytes: 2n ** 40n } };
      await beat({ ...own, hardwareReport: report });
      const kept = hardwareReportCodec.decode(stored.hardwareReport ?? new Uint8Array());
      expect(kept.report).toMatchObject(report.report!);
    });

    test('emits heartbeats on heard$ only after they are committed', async () => {
      const heard: Heard[] = [];
      server.heard$.subscribe((event) => heard.push(event));
      const { own } = startedBeat();
      let open = () => {};
      store.gate = new Promise((resolve) => (open = resolve));
      const call = beat(own);
      await expect.poll(() => store.batches.length).toBe(1);
      expect(heard).toEqual([]);
      open();
      await call;
      await beat(newBeat());
      expect(heard).toMatchObject([{ machineId: own.machineId, bootId: own.bootId }]);
      expect(heard[0]!.atMs).toBeGreaterThan(0);
    });

    test('fails calls while the database is away and accepts them when it is back', async () => {
      const { own, stored } = startedBeat();
      store.broken = true;
      expect(await beat(own)).toMatchObject({ kind: 'unavailable' });
      expect(stored.heartbeats).toBe(0);
      store.broken = false;
      expect(await beat(own)).toEqual(accepted(null));
    });

    test('fails calls while it is not ready, without asking the database', async () => {
      const { own, stored } = startedBeat();
      ready = false;
      expect(await beat(own)).toMatchObject({ kind: 'unavailable' });
      expect(store.batches).toEqual([]);
      ready = true;
      expect(await beat(own)).toEqual(accepted(null));
      expect(stored.heartbeats).toBe(1);
    });

    test('puts simultaneous heartbeats into shared transactions and answers each one', async () => {
      const machines = Array.from({ length: 40 }, startedBeat);
      // Opening the connections may take longer than a batch waits.
      await Promise.all(machines.map(({ own }) => beat(own)));
      let open = () => {};
      store.gate = new Promise((resolve) => (open = resolve));
      store.batches.length = 0;
      machines.forEach(({ stored }, index) => (stored.request = request(BigInt(index + 1))));
      const calls = machines.map(({ own }) => beat(own));
      await expect.poll(() => store.batches.length).toBeGreaterThan(0);
      open();
      const generations = (await Promise.all(calls)).map((answer) => answer);
      expect(generations).toEqual(machines.map((_, index) => accepted(BigInt(index + 1))));
      expect(store.batches.length).toBeLessThan(machines.length);
    });

    test('answers two simultaneous calls of one machine in two transactions', async () => {
      const { own, stored } = startedBeat();
      expect(await Promise.all([beat(own), beat(own)])).toEqual([accepted(null), accepted(null)]);
      expect(stored.heartbeats).toBe(2);
      expect(store.batches).toEqual([1, 1]);
    });

    test('remembers a refusal, so that asking again costs no transaction', async () => {
      const stranger = newBeat();
      await beat(stranger);
      await beat(stranger);
      expect(store.batches).toEqual([1]);
    });

    test('answers pending calls on close, completes heard$ and refuses new calls', async () => {
      const { own, stored } = startedBeat();
      let completed = false;
      server.heard$.subscribe({ complete: () => (completed = true) });
      let open = () => {};
      store.gate = new Promise((resolve) => (open = resolve));
      const call = beat(own);
      await expect.poll(() => store.batches.length).toBe(1);
      const closed = server.close(5_000);
      open();
      expect(await call).toEqual(accepted(null));
      await closed;
      expect(completed).toBe(true);
      expect(await beat(own)).toMatchObject({ kind: 'unavailable' });
      expect(stored.heartbeats).toBe(1);
    });
  });
}
