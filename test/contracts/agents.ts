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

/** One heartbeat of an agent that has this key. */
export interface Beat {
  readonly machineId: MachineId;
  readonly key: RawKeyPair;
  readonly bootId?: string;
  readonly hardwareReport?: HardwareReport;
  readonly installationReport?: InstallationReport;
}

/** What the agent learns; `text` is all the words it gets. */
export type AgentAnswer =
  | { readonly kind: 'accepted'; readonly generation: bigint | null }
  | { readonly kind: 'unauthenticated' | 'invalid' | 'unavailable'; readonly text: string };

export interface ServerUnderTest {
  readonly server: AgentServer;
  beat(beat: Beat): Promise<AgentAnswer>;
  /** Ends the clients, after the server was closed. */
  dispose(): void;
}

const accepted = (generation: bigint | null): AgentAnswer => ({ kind: 'accepted', generation });
const request = (generation: bigint) => ({
  generation,
  raw: installationRequestCodec.encode({ generation, genericImage: { imageUrl: 'http://image' } }),
});

/** What every agent server does, whatever agents reach it by. */
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

    test('a made-up machine is refused', async () => {
      expect(await beat(newBeat())).toMatchObject({ kind: 'unauthenticated' });
    });

    test('the right machine with the right key is heard', async () => {
      const { own, stored } = startedBeat();
      expect(await beat(own)).toEqual(accepted(null));
      expect(stored.heartbeats).toBe(1);
    });

    test('wrong key and unknown machine look the same', async () => {
      const { own } = startedBeat();
      const wrongKey = await beat({ ...own, key: generateRawKeyPair() });
      const unknown = await beat(newBeat());
      expect(wrongKey).toMatchObject({ kind: 'unauthenticated' });
      expect(wrongKey).toEqual(unknown);
    });

    test('a request is answered until its success is reported, then the next one', async () => {
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

    test('a report of a generation nobody asked for yet is invalid', async () => {
      const { own, stored } = startedBeat();
      stored.request = request(5n);
      const early = { ...own, installationReport: { generation: 6n, success: {} } };
      expect(await beat(early)).toMatchObject({ kind: 'invalid' });
      expect(stored.report).toBeNull();
      expect(stored.heartbeats).toBeGreaterThan(0);
    });

    test('the hardware report reaches the store', async () => {
      const { own, stored } = startedBeat();
      const report: HardwareReport = { report: { product: 'X', memoryInstalledBytes: 2n ** 40n } };
      await beat({ ...own, hardwareReport: report });
      const kept = hardwareReportCodec.decode(stored.hardwareReport ?? new Uint8Array());
      expect(kept.report).toMatchObject(report.report!);
    });

    test('heard$ tells of heartbeats once they are committed, and of no others', async () => {
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

    test('without the database calls fail, and succeed when it is back', async () => {
      const { own, stored } = startedBeat();
      store.broken = true;
      expect(await beat(own)).toMatchObject({ kind: 'unavailable' });
      expect(stored.heartbeats).toBe(0);
      store.broken = false;
      expect(await beat(own)).toEqual(accepted(null));
    });

    test('while it is not ready calls fail, and never reach the database', async () => {
      const { own, stored } = startedBeat();
      ready = false;
      expect(await beat(own)).toMatchObject({ kind: 'unavailable' });
      expect(store.batches).toEqual([]);
      ready = true;
      expect(await beat(own)).toEqual(accepted(null));
      expect(stored.heartbeats).toBe(1);
    });

    test('many at once share transactions, and each gets its own answer', async () => {
      const machines = Array.from({ length: 40 }, startedBeat);
      // Connecting may take longer than a batch waits for the next one.
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

    test('two calls of one machine at once are both answered, in two transactions', async () => {
      const { own, stored } = startedBeat();
      expect(await Promise.all([beat(own), beat(own)])).toEqual([accepted(null), accepted(null)]);
      expect(stored.heartbeats).toBe(2);
      expect(store.batches).toEqual([1, 1]);
    });

    test('a refusal is remembered: asking again costs no transaction', async () => {
      const stranger = newBeat();
      await beat(stranger);
      await beat(stranger);
      expect(store.batches).toEqual([1]);
    });

    test('close answers what is under way, completes heard$, and refuses what comes', async () => {
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
