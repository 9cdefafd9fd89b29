import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import grpc from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readUuid } from '../../../src/domain/ids.ts';
import { hardwareReportCodec, heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import type { HardwareReport } from '../../../src/wire/codec.ts';
import { GrpcStatus } from '../../../src/wire/grpc.ts';
import { HEARTBEAT_PATH } from '../../../src/wire/codec.ts';
import { openRawCall } from './raw-client.ts';
import { startAgentStand } from './agent-stand.ts';

/**
 * Requests of agents in other languages that ours never sends, made with another client library.
 */
describe('C7: agents of other programs', () => {
  const start = async () => {
    const stand = await startAgentStand();
    const { machine, stored, identity } = stand.agent();
    const own = await identity();
    const credentials = grpc.credentials.createSsl(
      ...([stand.trust, own.key, own.cert].map((pem) => Buffer.from(pem)) as [
        Buffer,
        Buffer,
        Buffer,
      ]),
    );
    const call = (request: Uint8Array, options: grpc.ClientOptions = {}) => {
      const client = new grpc.Client(stand.address, credentials, options);
      onTestFinished(() => client.close());
      const same = (message: Buffer) => message;
      return new Promise<number>((resolve) =>
        client.makeUnaryRequest(HEARTBEAT_PATH, same, same, Buffer.from(request), (error) =>
          resolve(error?.code ?? grpc.status.OK),
        ),
      );
    };
    const session = stand.session(own);
    const report = (hardwareReport: HardwareReport) =>
      call(heartbeatRequestCodec.encode({ machineId: machine, hardwareReport }));
    return { machine, stored, session, call, report };
  };

  test('learn the accepted encoding when they compress, and their next call works', async () => {
    const { machine, stored, session, call } = await start();
    const agentVersion = 'x'.repeat(2_000);
    const request = heartbeatRequestCodec.encode({ machineId: machine, agentVersion });
    expect(await call(request, { 'grpc.default_compression_algorithm': 2 })).toBe(
      GrpcStatus.unimplemented,
    );
    const stream = openRawCall(session, { 'grpc-encoding': 'gzip' });
    const [head] = (await once(stream, 'response')) as [Record<string, string>];
    stream.destroy();
    expect(head).toMatchObject({
      'grpc-status': String(GrpcStatus.unimplemented),
      'grpc-accept-encoding': 'identity',
    });
    expect(await call(request)).toBe(GrpcStatus.ok);
    expect(stored.heartbeats).toBe(1);
  });

  test.each([
    ['with dashes', (id: string) => id],
    ['in capitals', (id: string) => id.toUpperCase()],
    ['without dashes', (id: string) => id.replaceAll('-', '')],
    ['in braces', (id: string) => `{${id}}`],
    ['as a URN', (id: string) => `urn:uuid:${id}`],
  ])('are the same machine with the id %s', async (_form, write) => {
    const { machine, stored, call } = await start();
    const request = heartbeatRequestCodec.encode({ machineId: write(machine) });
    expect(await call(request)).toBe(GrpcStatus.ok);
    expect(stored.heartbeats).toBe(1);
  });

  test.each(['', 'x', '{', '{}', 'urn:uuid:', `{${randomUUID()}`, `${randomUUID()} `])(
    'rejects %j as a UUID',
    (text) => expect(readUuid(text)).toBeNull(),
  );

  test('keep their report except a ratio that is no number', async () => {
    const { stored, report } = await start();
    const hardwareReport = {
      report: {
        product: 'X',
        memoryInstalledBytes: 0n,
        memoryUsableRatio: Infinity,
        blockDevice: [
          { serialNumber: 'one', availableSpareRatio: NaN, usageRatio: 0.5 },
          { serialNumber: 'two', usageRatio: -Infinity },
        ],
      },
      warning: ['no memory found'],
    };
    expect(await report(hardwareReport)).toBe(GrpcStatus.ok);
    const kept = hardwareReportCodec.decode(stored.hardwareReport!);
    expect(kept).toMatchObject({
      report: {
        product: 'X',
        blockDevice: [{ serialNumber: 'one', usageRatio: 0.5 }, { serialNumber: 'two' }],
      },
      warning: ['no memory found'],
    });
    expect(kept.report!.memoryUsableRatio ?? 0).toBe(0);
    expect(kept.report!.blockDevice![0]).not.toHaveProperty('availableSpareRatio');
    expect(kept.report!.blockDevice![1]).not.toHaveProperty('usageRatio');
  });
});
