import { X509Certificate, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTls } from 'node:tls';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createMemAgentServer } from '../../doubles/mem-agent-server.ts';
import { createTakeoverProtocol } from '../../../src/adapters/agents/takeover-protocol.ts';
import { createDevCertificates } from '../../../src/adapters/agents/tls-material.ts';
import type { TlsMaterial } from '../../../src/adapters/agents/tls-material.ts';
import { startTlsRenewal } from '../../../src/adapters/agents/tls-renewal.ts';
import { createSimulatedClock } from '../../doubles/simulated-clock.ts';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { UsageError } from '../../../src/domain/errors.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';
import { takeoverInitCodec, takeoverResponseCodec } from '../../../src/wire/codec.ts';
import { createMemHeartbeatStore } from '../../doubles/mem-heartbeat-store.ts';
import { PATIENCE } from '../../support/patience.ts';
import { startAgentStand } from './agent-stand.ts';
import { createClients } from './test-server.ts';

const { signal } = new AbortController();
const never = () => Promise.resolve();
const fingerprint = ({ cert }: TlsMaterial) => new X509Certificate(cert).fingerprint256;

/** A server with its first certificate and a later one. */
async function start(inThread = false) {
  const material = () => createDevCertificates({ names: [] });
  const [old, fresh] = await Promise.all([material(), material()]);
  const { server, host, port, agent } = await startAgentStand({}, { tls: old, inThread });
  /** The certificate that a new connection receives. */
  const shown = async (tls: TlsMaterial, maxVersion: 'TLSv1.2' | 'TLSv1.3' = 'TLSv1.3') => {
    const ca = [new X509Certificate(tls.caDer).toString()];
    const options = { host, port, ca, maxVersion, ALPNProtocols: ['h2'] };
    const socket = connectTls(options).on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    await once(socket, 'secureConnect');
    return socket.getPeerCertificate().fingerprint256;
  };
  return { old, fresh, server, shown, agent };
}
type StartedServer = Awaited<ReturnType<typeof start>>;

describe.each([false, true])(
  'the certificate of the agent server (in a thread: %s)',
  (inThread) => {
    let { old, fresh, server, shown, agent } = {} as StartedServer;
    beforeEach(async () => {
      ({ old, fresh, server, shown, agent } = await start(inThread));
    });
    /** A thread learns of it a moment later. */
    const showsFresh = async () => {
      await expect.poll(() => shown(fresh).catch(String), PATIENCE).toBe(fingerprint(fresh));
    };

    test('changes for new connections while open ones live on', async () => {
      const { beat, stored } = agent();
      await beat();
      server.present(fresh);
      await showsFresh();
      // The agent would no longer trust a new connection.
      await beat();
      expect(stored.heartbeats).toBe(2);
      await expect(shown(old)).rejects.toThrow();
    });

    test('keeps refusing old TLS and asking for client keys', async () => {
      const older = { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' };
      await expect(shown(old, 'TLSv1.2')).rejects.toMatchObject(older);
      server.present(fresh);
      await showsFresh();
      await expect(shown(fresh, 'TLSv1.2')).rejects.toMatchObject(older);
      const clients = createClients(server.address, new X509Certificate(fresh.caDer).toString());
      onTestFinished(clients.close);
      const { key, machine, stored } = agent();
      await (await clients.of(key)).heartbeat({ machineId: machine }, signal);
      expect(stored.heartbeats).toBe(1);
    });

    test('stays when the new one is unusable', async () => {
      for (const wrong of [
        { ...fresh, key: old.key },
        { key: 'x', cert: 'y' },
      ]) {
        expect(() => server.present(wrong)).toThrow(UsageError);
      }
      expect(await shown(old)).toBe(fingerprint(old));
    });
  },
);

describe('a certificate that is replaced on disk', () => {
  let { old, fresh, server, shown } = {} as StartedServer;
  beforeEach(async () => {
    ({ old, fresh, server, shown } = await start());
  });

  const startRenewal = (kept: { tls: TlsMaterial | Error }) => {
    const clock = createSimulatedClock();
    const said: string[] = [];
    const say = (_fields: object, message: string) => void said.push(message);
    const presented: TlsMaterial[] = [];
    const renewal = startTlsRenewal({
      read: () =>
        kept.tls instanceof Error ? Promise.reject(kept.tls) : Promise.resolve(kept.tls),
      served: old,
      present(keys) {
        server.present(keys);
        presented.push(keys as TlsMaterial);
      },
      checkMs: 1_000,
      clock,
      log: { ...silentLog, info: say, error: say },
    });
    onTestFinished(() => renewal.stop());
    return { renewal, clock, said, presented };
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  test('is served once, within the period of checks', async () => {
    const kept = { tls: old };
    const { renewal, clock, said, presented } = startRenewal(kept);
    kept.tls = fresh;
    for (let look = 0; look < 3; look += 1) {
      clock.increment(1_000);
      await settle();
    }
    expect(presented).toEqual([fresh]);
    expect(said).toEqual(['agent server: the certificate was replaced']);
    expect([renewal.served, await shown(fresh)]).toEqual([fresh, fingerprint(fresh)]);
  });

  test('is served at once on request, and no more after the stop', async () => {
    const kept = { tls: fresh };
    const { renewal, presented } = startRenewal(kept);
    await renewal.renew();
    expect(presented).toEqual([fresh]);
    renewal.stop();
    kept.tls = old;
    await renewal.renew();
    expect(presented).toEqual([fresh]);
  });

  test('is reported once and awaited when it is incomplete or missing', async () => {
    const kept: { tls: TlsMaterial | Error } = { tls: { ...fresh, cert: old.cert } };
    const { renewal, said } = startRenewal(kept);
    await renewal.renew();
    await renewal.renew();
    kept.tls = new Error('no such file');
    await renewal.renew();
    expect(said).toHaveLength(2);
    expect([renewal.served, await shown(old)]).toEqual([old, fingerprint(old)]);
    kept.tls = fresh;
    await renewal.renew();
    expect(await shown(fresh)).toBe(fingerprint(fresh));
  });
});

test('keeps judging an agent start by the authority that it was given', async () => {
  const [old, fresh] = [Buffer.from('old'), Buffer.from('fresh')];
  const authority = { der: old };
  const protocol = createTakeoverProtocol({
    endpoint: 'shepherd.lan:8080',
    caCertificate: () => authority.der,
  });
  const id = machineId(randomUUID());
  const answerTo = (request: Uint8Array) =>
    takeoverResponseCodec.encode({
      success: { initMessage: takeoverInitCodec.decode(request), key: Buffer.alloc(32, 1) },
    });
  const before = answerTo(protocol.request(id));
  authority.der = fresh;
  const after = answerTo(protocol.request(id));
  for (const answer of [before, after]) {
    expect(protocol.answer(id, answer).publicKey).toHaveLength(32);
  }
  const other = takeoverInitCodec.encode({ machineId: id, bmaasEndpoint: 'x:1' });
  expect(() => protocol.answer(id, answerTo(other))).toThrow(/echoed a different message/);
  expect(() => protocol.answer(machineId(randomUUID()), after)).toThrow(/echoed a different/);
});

describe('accepting heartbeats', () => {
  const agent = () => ({ machineId: machineId(randomUUID()), publicKey: Buffer.alloc(32) });
  const setUp = () => {
    const store = createMemHeartbeatStore();
    const clock = createSimulatedClock();
    let isReady = true;
    const server = createMemAgentServer({ store, clock, isReady: () => isReady });
    const report = async () => {
      const answer = server.report({ ...agent(), bootId: null }).catch(() => undefined);
      await Promise.resolve();
      clock.increment(1);
      await answer;
    };
    return { store, clock, server, report, setReady: (ready: boolean) => (isReady = ready) };
  };

  test('counts when the last batch was stored and a session exists', async () => {
    const { store, server, report, setReady } = setUp();
    expect(server.isTakingIn()).toBe(true);
    store.broken = true;
    await report();
    expect(server.isTakingIn()).toBe(false);
    store.broken = false;
    await report();
    expect(server.isTakingIn()).toBe(true);
    setReady(false);
    expect(server.isTakingIn()).toBe(false);
    setReady(true);
    await server.close(0);
    expect(server.isTakingIn()).toBe(false);
  });

  test('forgets a failure when no more calls come', async () => {
    const { store, clock, server, report } = setUp();
    store.broken = true;
    await report();
    clock.increment(119_000);
    expect(server.isTakingIn()).toBe(false);
    clock.increment(1_000);
    expect(server.isTakingIn()).toBe(true);
  });

  test('lasts from the listener’s start to its close', async () => {
    const { server } = await startAgentStand();
    expect(server.isTakingIn()).toBe(true);
    const closing = server.close(100);
    expect(server.isTakingIn()).toBe(false);
    await closing;
  });
});

describe('missing hardware reports', () => {
  test('are requested now and then, with one read for all agents', async () => {
    const clock = createSimulatedClock();
    const missing = new Set<MachineId>();
    let looks = 0;
    const store = {
      ...createMemHeartbeatStore(),
      withoutHardware: () => {
        looks += 1;
        return Promise.resolve([...missing]);
      },
    };
    const { agent } = await startAgentStand({
      ...{ store, clock, batch: { gapMs: 0, enough: 1, max: 1 } },
      limits: { idleMs: 24 * 3600_000 },
    });
    const { machine, beat } = agent();
    const isAsked = async () => (await beat()).sendHardwareReport ?? false;
    const pass = async (ms: number) => {
      clock.increment(ms);
      await never();
      await never();
    };
    expect(await isAsked()).toBe(false);
    missing.add(machine);
    await pass(300_000);
    expect([await isAsked(), await isAsked(), looks]).toEqual([true, false, 1]);
    for (let look = 0; look < 12; look += 1) await pass(300_000);
    expect(await isAsked()).toBe(true);
    missing.clear();
    for (let look = 0; look < 13; look += 1) await pass(300_000);
    expect(await isAsked()).toBe(false);
  });
});
