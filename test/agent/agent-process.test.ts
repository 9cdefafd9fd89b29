import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { AgentServer } from '../../src/adapters/agents/port.ts';
import { createDevCertificates, type TlsMaterial } from '../../src/adapters/agents/tls-material.ts';
import { buildAgent, type AgentProgram } from '../../src/agent-bundle.ts';
import { machineId, type MachineId } from '../../src/domain/ids.ts';
import {
  hardwareReportCodec,
  installationRequestCodec,
  takeoverInitCodec,
  takeoverResponseCodec,
} from '../../src/wire/codec.ts';
import { readTakeoverResponse } from '../../src/wire/takeover.ts';
import { createMemHeartbeatStore, type MemHeartbeatStore } from '../doubles/mem-heartbeat-store.ts';
import { startTestServer } from '../adapters/agents/test-server.ts';
import { PATIENCE } from '../support/patience.ts';
import { serve, startImageServer } from './install/image-server.ts';
import { createTestMachine, ends, runs } from './machine-fixture.ts';
import type { TestMachine, TestMachineOptions } from './machine-fixture.ts';
import { bytesOf, plantTree } from './tree-fixture.ts';

describe('the agent program', () => {
  let program: AgentProgram;
  let store: MemHeartbeatStore;
  let server: AgentServer;
  let tls: TlsMaterial;
  let machine: TestMachine;
  let id: MachineId;

  const startServer = async (listen = { host: '127.0.0.1', port: 0 }) => {
    const options = { store, listen, heartbeatIntervalSeconds: 1 };
    ({ server } = await startTestServer(options, tls));
    const { close } = server;
    onTestFinished(() => close(100));
  };
  const newMachine = (options: TestMachineOptions = {}) => {
    machine = createTestMachine(program.content, options);
    onTestFinished(machine.dispose);
  };
  const init = () => ({
    machineId: id,
    bmaasEndpoint: server.address,
    caCertificate: Buffer.from(tls.caDer),
    throwAway: true,
  });
  /** A successful agent start; records its key like the daemon. */
  const takeOver = async () => {
    const { code, stdout, stderr } = await machine.takeOver(takeoverInitCodec.encode(init()));
    const verdict = readTakeoverResponse(init(), stdout);
    expect({ code, stderr, verdict }).toMatchObject({ code: 0, verdict: { kind: 'started' } });
    if (verdict.kind !== 'started') throw new Error(verdict.message);
    // An agent may report before its key is stored, and logs that.
    const others = verdict.warnings.filter((text) => !text.endsWith('unknown machine or key'));
    expect(others).toEqual([]);
    return store.start(id, verdict.publicKey);
  };

  beforeAll(async () => {
    program = await buildAgent();
  });
  beforeEach(async () => {
    store = createMemHeartbeatStore();
    id = machineId(randomUUID());
    tls = await createDevCertificates({ names: [] });
    await startServer();
    newMachine();
  });

  test('answers, detaches and reports, with its hardware in the second heartbeat', async () => {
    const heard: unknown[] = [];
    server.heard$.subscribe((event) => heard.push(event));
    const stored = await takeOver();
    expect(runs(machine.pid()!)).toBe(true);
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(0);
    expect(stored.hardwareReport).toBeNull();
    expect(heard[0]).toMatchObject({ machineId: id, bootId: machine.bootId });
    // It would take a minute with the agent's own period.
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(2);
    const { report } = hardwareReportCodec.decode(stored.hardwareReport!);
    expect(report?.memoryInstalledBytes).toBeGreaterThan(0n);
  });

  test('leads a process group of its own, and reveals its key to nobody', async () => {
    await takeOver();
    const pid = machine.pid()!;
    const [, group, session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) . /s, '')
      .split(' ');
    expect([group, session]).toEqual([String(pid), String(pid)]);
    const shown = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(1, -1);
    expect(shown).toEqual([machine.executable]);
    expect(statSync(`${machine.executable}.log`).mode & 0o777).toBe(0o600);
    expect(statSync(`${machine.executable}.pid`).mode & 0o777).toBe(0o600);
  });

  test('ends on SIGTERM and removes its pid file', async () => {
    await takeOver();
    // Not the server's record: the agent learns of that a moment later.
    await expect.poll(machine.log, PATIENCE).toContain('heartbeats are accepted');
    const pid = machine.pid()!;
    process.kill(pid, 'SIGTERM');
    await ends(pid);
    expect(machine.pid()).toBeNull();
    expect(machine.log()).toMatch(/heartbeats are accepted[^]*ended: stopped/);
  });

  test('survives a server’s end, and finds the server again', async () => {
    const stored = await takeOver();
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(0);
    const port = Number(server.address.split(':')[1]);
    await server.close(100);
    await expect.poll(machine.log, PATIENCE).toContain('heartbeats fail');
    const before = stored.heartbeats;
    await startServer({ host: '127.0.0.1', port });
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(before);
  });

  test('ends an agent start whose answer nobody read, and leaves no agent', async () => {
    const { code, stderr } = await machine.takeOverUnheard(takeoverInitCodec.encode(init()));
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringMatching(/EPIPE/) });
    await ends(machine.pid()!);
    // It was ended before it could find out by itself.
    expect(machine.log()).toBe('');
  });

  describe('C6: a server that the agent cannot trust', () => {
    /** The server keeps its certificate; agents are given another authority. */
    const tellOther = async () => {
      const right = tls.caDer;
      const { caDer } = await createDevCertificates({ names: [] });
      tls = { ...tls, caDer };
      return () => (tls = { ...tls, caDer: right });
    };
    const LINE =
      /heartbeats fail: the certificate of the server at 127\.0\.0\.1:\d+ is not trusted \(UNABLE_TO_VERIFY_LEAF_SIGNATURE.*this agent was given the authority CN=Shepherd development authority.*--check-config/;

    test('writes the problem, the place and the remedy; the next agent start tells the daemon', async () => {
      const mend = await tellOther();
      await takeOver();
      await expect.poll(machine.log, PATIENCE).toMatch(LINE);
      mend();
      const encoded = takeoverInitCodec.encode(init());
      const verdict = readTakeoverResponse(init(), (await machine.takeOver(encoded)).stdout);
      expect(verdict).toMatchObject({ kind: 'started' });
      const { warnings } = verdict as { readonly warnings: readonly string[] };
      expect(warnings).toEqual([expect.stringMatching(/^the previous agent wrote: /)]);
      expect(warnings[0]).toMatch(LINE);
      const { publicKey } = verdict as { readonly publicKey: Uint8Array };
      const stored = store.start(id, publicKey);
      await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(0);
      await takeOver();
    });

    test('names an address that the certificate lacks', async () => {
      await startServer({ host: '127.0.0.2', port: 0 });
      await takeOver();
      await expect
        .poll(machine.log, PATIENCE)
        .toMatch(/the server at 127\.0\.0\.2:\d+ is not trusted \(ERR_TLS_CERT_ALTNAME_INVALID/);
    });
  });

  test('a second agent start replaces the first agent', async () => {
    await takeOver();
    const first = machine.pid()!;
    const stored = await takeOver();
    expect(runs(first)).toBe(false);
    expect(machine.pid()).not.toBe(first);
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(0);
  });

  test('spares a foreign process that has the pid of an old agent', async () => {
    const record = { pid: process.pid, startTicks: '1' };
    writeFileSync(`${machine.executable}.pid`, JSON.stringify(record));
    await takeOver();
    expect(machine.pid()).not.toBe(process.pid);
  });

  test.each([
    ['nothing', () => new Uint8Array(), /no machine id/],
    ['garbage', () => Buffer.from('ffff', 'hex'), /cannot read TakeoverInit/],
    ['no endpoint', () => takeoverInitCodec.encode({ machineId: 'm' }), /not host:port/],
    [
      'an authority that is no certificate',
      () => takeoverInitCodec.encode({ ...init(), caCertificate: Buffer.from('x') }),
      /CA certificate/,
    ],
  ])('answers %s on standard input with an error', async (_name, input, message) => {
    const { code, stdout } = await machine.takeOver(input());
    expect(code).toBe(0);
    expect(takeoverResponseCodec.decode(stdout).error?.message).toMatch(message);
    expect(machine.pid()).toBeNull();
  });

  test('runs below a package.json that makes files ES modules', async () => {
    newMachine({ scope: '{"type":"module"}' });
    const stored = await takeOver();
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(0);
  });

  test('installs an image while it reports, then reboots; after an error it stays', async () => {
    const image = randomBytes(6_000_000);
    const images = await startImageServer(serve(image));
    const root = plantTree({
      'sys/class/block/vda/size': String(8_000_000 / 512),
      'dev/vda': bytesOf(Buffer.alloc(8_000_000)),
    });
    newMachine({ root, rebootCommand: `echo down >> '${join(root, 'rebooted')}'` });
    const ask = (generation: bigint, sha256: Uint8Array) => ({
      generation,
      raw: installationRequestCodec.encode({
        generation,
        genericImage: { imageUrl: images.url, sha256, rootDevice: { name: 'vda' } },
      }),
    });
    const stored = await takeOver();
    stored.request = ask(1n, randomBytes(32));
    await expect.poll(() => stored.report, PATIENCE).toMatchObject({ result: 'Error' });
    const { heartbeats } = stored;
    await expect.poll(() => stored.heartbeats, PATIENCE).toBeGreaterThan(heartbeats + 1);
    expect(images.requests).toHaveLength(1);

    const sha256 = createHash('sha256').update(image).digest();
    stored.request = ask(2n, sha256);
    const pid = machine.pid()!;
    await expect
      .poll(() => stored.report, PATIENCE)
      .toMatchObject({ generation: 2n, result: 'Success' });
    await ends(pid);
    const disk = readFileSync(join(root, 'dev/vda'));
    expect(Buffer.compare(disk.subarray(0, image.length), image)).toBe(0);
    expect(readFileSync(join(root, 'rebooted'), 'utf8')).toBe('down\n');
    expect(machine.log()).toMatch(/ended: installed/);
  });

  test('C2: ends without a key, or with an invalid one, and touches nothing', async () => {
    const root = plantTree({ 'sys/class/block/vda/size': '0' });
    newMachine({ root, rebootCommand: `touch '${join(root, 'rebooted')}'` });
    const none = await machine.runAgent(new Uint8Array());
    expect(none).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/the agent start was not completed/),
    });
    expect(existsSync(join(root, 'rebooted'))).toBe(false);
    const nonsense = await machine.runAgent(Buffer.from('0a00', 'hex'));
    expect(nonsense.stderr).toMatch(/cannot start: the agent start passed no AgentInit/);
    expect(nonsense.stderr).toMatch(/ended: unusable/);
    expect(existsSync(join(root, 'rebooted'))).toBe(false);
  });
});
