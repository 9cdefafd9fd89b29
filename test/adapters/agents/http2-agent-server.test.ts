import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import fc from 'fast-check';
import protobuf from 'protobufjs/minimal.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLog } from '../../../src/adapters/log/port.ts';
import { generateRawKeyPair } from '../../../src/agent/keys.ts';
import { UsageError, explain } from '../../../src/domain/errors.ts';
import { machineId, type MachineId } from '../../../src/domain/ids.ts';
import {
  hardwareReportCodec,
  heartbeatRequestCodec,
  installationRequestCodec,
} from '../../../src/wire/codec.ts';
import type { HardwareReport, HeartbeatRequest } from '../../../src/wire/codec.ts';
import { GrpcStatus, writeFrame } from '../../../src/wire/grpc.ts';
import {
  ED25519,
  P256,
  RSA,
  openRawCall,
  rawCall,
  selfSigned,
  signedByOther,
  twoSelfSigned,
} from './raw-client.ts';
import { startAgentStand } from './agent-stand.ts';
import type { AgentStand, StandAgent, AgentStandOptions } from './agent-stand.ts';

const status = (code: number) => ({ status: String(code) });
const frame = (request: HeartbeatRequest) => writeFrame(heartbeatRequestCodec.encode(request));

const from = (hex: string) => Buffer.from(hex, 'hex');

const HARDWARE = 2;
const INSTALLATION = 3;
/** A heartbeat with these bytes as its report. */
function withReport(machine: MachineId, field: number, report: Uint8Array): Buffer {
  const head = heartbeatRequestCodec.encode({ machineId: machine });
  const tag = protobuf.Writer.create().uint32((field << 3) | 2);
  return writeFrame(Buffer.concat([head, tag.bytes(report).finish()]));
}

describe('the HTTP/2 agent server', () => {
  let { store, server, host, port, clients, session: raw } = {} as AgentStand;
  let { machine, stored, beat, identity } = {} as StandAgent;
  const start = async (options: AgentStandOptions = {}) => {
    const stand = await startAgentStand(options);
    ({ store, server, host, port, clients, session: raw } = stand);
    ({ machine, stored, beat, identity } = stand.agent());
  };
  const rawAgent = async () => raw(await identity());

  test('tells the agent its period and asks for the hardware report', async () => {
    await start({ heartbeatIntervalSeconds: 7, hardwareReportWanted: (id) => id === machine });
    expect(await beat()).toMatchObject({ heartbeatIntervalSeconds: 7n, sendHardwareReport: true });
  });

  test.each([
    ['no certificate', () => Promise.resolve(null)],
    ['an RSA certificate', () => selfSigned(RSA)],
    ['an EC certificate', () => selfSigned(P256)],
    ['a certificate that another key signed', () => signedByOther({ chained: false })],
    ['a chain of certificates', () => signedByOther({ chained: true })],
    ['two certificates', twoSelfSigned],
  ])('refuses %s without asking the database', async (_name, identity) => {
    await start();
    const answer = await rawCall(raw(await identity()), frame({ machineId: machine }));
    expect(answer).toMatchObject(status(GrpcStatus.unauthenticated));
    expect(store.batches).toEqual([]);
  });

  test('refuses everything but gRPC calls of its one method', async () => {
    await start();
    const session = await rawAgent();
    const body = frame({ machineId: machine });
    const other = { ':path': '/cloud.bmaas.server.api.AgentCallback/Reboot' };
    const json = { 'content-type': 'application/json' };
    expect(await rawCall(session, body, other)).toMatchObject(status(GrpcStatus.unimplemented));
    expect(await rawCall(session, body, json)).toMatchObject(status(GrpcStatus.unimplemented));
  });

  test('refuses malformed, torn and compressed messages and lives on', async () => {
    await start();
    const session = await rawAgent();
    const whole = frame({ machineId: machine });
    const compressed = Buffer.from(whole);
    compressed[0] = 1;
    const call = (body: Uint8Array) => rawCall(session, body);
    expect(await call(writeFrame(Buffer.from('ff', 'hex')))).toMatchObject(
      status(GrpcStatus.invalidArgument),
    );
    expect(await call(whole.subarray(0, -1))).toMatchObject(status(GrpcStatus.internal));
    expect(await call(Buffer.concat([whole, whole]))).toMatchObject(status(GrpcStatus.internal));
    expect(await call(compressed)).toMatchObject(status(GrpcStatus.internal));
    expect(await call(whole)).toMatchObject(status(GrpcStatus.ok));
  });

  test('fails only the call of a message with arbitrary bytes', async () => {
    await start({ limits: { callsPerKey: { perSecond: 1e6, burst: 1e6 }, refusedCallsMax: 1e6 } });
    const session = await rawAgent();
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (message) => {
        const answer = await rawCall(session, writeFrame(message));
        expect(answer).toMatchObject(status(GrpcStatus.invalidArgument));
      }),
      { numRuns: 100 },
    );
  });

  test('keeps the heartbeat of an impossible or unreadable hardware report', async () => {
    const dropped: object[] = [];
    await start({ log: { ...silentLog, warn: (fields: object) => dropped.push(fields) } });
    const session = await rawAgent();
    // An unknown agent and a known one.
    for (let time = 0; time < 2; time += 1) {
      const unreadable = withReport(machine, HARDWARE, from('ffff'));
      expect(await rawCall(session, unreadable)).toMatchObject(status(GrpcStatus.ok));
    }
    const wrong: HardwareReport[] = [
      { report: { memoryInstalledBytes: -1n } },
      { warning: ['all went wrong'] },
      { report: { product: 'x'.repeat(2_000_000) } },
      { report: { networkInterface: [{ mac: randomBytes(7) }] } },
      { report: { cpu: Array.from({ length: 40_000 }, () => ({})) } },
      { report: { networkInterface: [{ supportedSpeedBytes: Array(40_000).fill(1n) }] } },
    ];
    for (const hardwareReport of wrong) await beat({ hardwareReport });
    expect(stored).toMatchObject({ heartbeats: 8, hardwareReport: null });
    expect(dropped).toEqual(Array(8).fill(expect.objectContaining({ machine })));
  });

  test('drops a boot id that is no plain text', async () => {
    await start();
    const heard: unknown[] = [];
    server.heard$.subscribe((event) => heard.push(event.bootId));
    for (const bootId of ['', 'a\0b', 'x'.repeat(100), randomUUID()]) await beat({ bootId });
    expect(heard).toEqual([null, null, null, expect.any(String)]);
  });

  test.each([
    ['without result', from('0801')],
    ['that is garbage', from('ffff')],
    ['that is too large', Buffer.alloc(1_100_000)],
  ])('rejects an installation report %s and counts its heartbeat', async (_name, report) => {
    await start();
    const session = await rawAgent();
    const call = () => rawCall(session, withReport(machine, INSTALLATION, report));
    expect(await call()).toMatchObject(status(GrpcStatus.invalidArgument));
    expect(await call()).toMatchObject(status(GrpcStatus.invalidArgument));
    expect(stored).toMatchObject({ heartbeats: 2, report: null });
  });

  test('stores the report of an agent on its first call', async () => {
    await start();
    const hardwareReport = { report: { product: 'X' } };
    stored.request = { generation: 2n, raw: installationRequestCodec.encode({ generation: 2n }) };
    const installationReport = { generation: 2n, success: {} };
    const answer = await beat({ hardwareReport, installationReport });
    expect(answer.installationRequest).toBeUndefined();
    expect(hardwareReportCodec.decode(stored.hardwareReport!)).toMatchObject(hardwareReport);
    expect(stored.report).toMatchObject({ generation: 2n, result: 'Success' });
    expect(store.batches).toEqual([1, 1]);
  });

  test('neither reads nor logs the reports of a stranger', async () => {
    const said: string[] = [];
    const say = (_fields: object, message: string) => void said.push(message);
    await start({ log: { ...silentLog, info: say, warn: say, error: say } });
    const session = raw(await selfSigned(ED25519));
    for (const field of [HARDWARE, INSTALLATION]) {
      const answer = await rawCall(
        session,
        withReport(machine, field, Buffer.alloc(3_000_000, 255)),
      );
      expect(answer).toMatchObject(status(GrpcStatus.unauthenticated));
    }
    // A key that is valid for another machine is refused like any other key.
    const agent = await rawAgent();
    expect(await rawCall(agent, frame({ machineId: machine }))).toMatchObject(
      status(GrpcStatus.ok),
    );
    const other = withReport(machineId(randomUUID()), INSTALLATION, from('ffff'));
    expect(await rawCall(agent, other)).toMatchObject(status(GrpcStatus.unauthenticated));
    expect(said).toEqual([]);
  });

  test('survives a call whose time ends before the database answers', async () => {
    // Long enough for an honest second call on a busy machine.
    await start({ limits: { callMs: 2_000 } });
    const session = await rawAgent();
    let open = () => {};
    store.gate = new Promise((resolve) => (open = resolve));
    await rawCall(session, frame({ machineId: machine }));
    open();
    // On a busy machine the next call may be too late as well.
    await expect
      .poll(async () => (await rawCall(session, frame({ machineId: machine }))).status)
      .toBe(String(GrpcStatus.ok));
  });

  test('asks nothing of a call while it is not ready', async () => {
    await start({ isReady: () => false });
    const stream = openRawCall(await rawAgent());
    const [head] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(head['grpc-status']).toBe(String(GrpcStatus.unavailable));
  });

  test('reports an unreachable database once, not per call', async () => {
    const said: string[] = [];
    await start({ log: { ...silentLog, warn: (_fields, message) => void said.push(message) } });
    store.broken = true;
    for (let index = 0; index < 3; index += 1) await beat().catch(() => undefined);
    expect(said).toHaveLength(1);
  });

  test('passes a stored request unchanged and drops an unreadable one', async () => {
    await start();
    const known = installationRequestCodec.encode({ generation: 3n, metropolis: {} });
    const unknownField = Buffer.from('c23e0161', 'hex');
    stored.request = { generation: 3n, raw: Buffer.concat([known, unknownField]) };
    const { installationRequest } = await beat();
    expect(installationRequest).toMatchObject({ generation: 3n, type: 'metropolis' });
    stored.request = { generation: 4n, raw: Buffer.from('ffff', 'hex') };
    expect((await beat()).installationRequest).toBeUndefined();
  });

  test.each([4n, 6n, 0n, -1n])(
    'B2: drops a request of generation 5 that calls itself %s and would be installed for ever',
    async (inner) => {
      const said: string[] = [];
      await start({ log: { ...silentLog, error: (_fields, message) => void said.push(message) } });
      const raw = installationRequestCodec.encode({ generation: inner, metropolis: {} });
      stored.request = { generation: 5n, raw };
      expect((await beat()).installationRequest).toBeUndefined();
      expect(said).toEqual(['a stored installation request has the wrong generation']);
    },
  );

  test('limits the calls of one key', async () => {
    await start({ limits: { callsPerKey: { perSecond: 0.001, burst: 2 } } });
    await beat();
    await beat();
    await expect(beat()).rejects.toMatchObject({ status: GrpcStatus.resourceExhausted });
  });

  test('limits refused calls per address, but not known agents there', async () => {
    await start({ limits: { refusalsPerAddress: { perSecond: 0.001, burst: 1 } } });
    await beat();
    const strange = async () =>
      (await clients.of(generateRawKeyPair())).heartbeat(
        { machineId: machine },
        new AbortController().signal,
      );
    await expect(strange()).rejects.toMatchObject({ status: GrpcStatus.unauthenticated });
    await expect(strange()).rejects.toMatchObject({ status: GrpcStatus.resourceExhausted });
    expect(await beat()).toBeDefined();
  });

  test('counts the ends of calls', async () => {
    const counted: string[] = [];
    const seconds: number[] = [];
    await start({
      onCall(outcome, took) {
        counted.push(outcome);
        seconds.push(took);
      },
    });
    await beat();
    await beat({ machineId: 'x' }).catch(() => undefined);
    await beat({ machineId: randomUUID() }).catch(() => undefined);
    store.broken = true;
    await beat().catch(() => undefined);
    expect(counted).toEqual(['ok', 'invalid', 'unauthenticated', 'unavailable']);
    expect(seconds.every((each) => each >= 0)).toBe(true);
  });

  test('cuts off a silent socket and a hanging call on close', async () => {
    await start();
    const silent = connectTcp({ host, port });
    onTestFinished(() => void silent.destroy());
    silent.on('error', () => undefined);
    await once(silent, 'connect');
    store.gate = new Promise(() => {});
    const hanging = beat().catch((error: unknown) => error);
    await expect.poll(() => store.batches.length).toBe(1);
    const gone = once(silent, 'close');
    await server.close(50);
    await gone;
    expect(await hanging).toMatchObject({ status: GrpcStatus.unavailable });
  });

  test('reports a used port and a key without its certificate in one line', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const listen = { host: '127.0.0.1', port: (other.address() as AddressInfo).port };
    const inUse = await startAgentStand({ listen }).catch((error: unknown) => error);
    other.close();
    expect(inUse).toBeInstanceOf(UsageError);
    expect(explain(inUse)).toMatch(/cannot listen on 127\.0\.0\.1:\d+: .*EADDRINUSE/);
    const noKey = startAgentStand({ tls: { key: 'x', cert: 'y' } });
    await expect(noKey).rejects.toBeInstanceOf(UsageError);
  });
});
