import protobuf from 'protobufjs/light.js';
import { expect, test } from 'vitest';
import { readAcceptanceResult } from '../../../src/adapters/agents/acceptance.ts';
import {
  acceptanceRequestCodec,
  acceptanceResultCodec,
  heartbeatRequestCodec,
  heartbeatResponseCodec,
  writeHeartbeatResponse,
} from '../../../src/wire/codec.ts';
import { descriptor } from '../../../src/wire/descriptor.ts';
import { startAgentStand } from './agent-stand.ts';

const PROFILE = { memoryGiB: 64, disks: [{ sizeGB: 480, count: 2 }], readMBps: 100 };

test('hands a request of acceptance to the agent, and the result to the store', async () => {
  const { agent } = await startAgentStand();
  const { beat, stored } = agent();
  expect((await beat()).acceptance ?? null).toBeNull();
  stored.acceptance = { id: 5n, profile: PROFILE };
  const { acceptance } = await beat();
  expect(acceptance).toMatchObject({
    id: 5n,
    profile: { memoryGib: 64, disks: [{ sizeGb: 480, count: 2 }], readMegabytes: 100 },
  });
  const memory = { name: 'memory', expected: '64 GiB', found: `32\nGiB\0${'x'.repeat(300)}` };
  const answer = await beat({
    acceptance: {
      id: 5n,
      check: [{ ...memory, status: 2 }, { name: 'clock' }, { status: 9 }],
      found: {
        memoryGib: 32,
        cpus: 0,
        disks: [
          { sizeGb: 480, count: 1 },
          { sizeGb: Infinity, count: 1 },
        ],
      },
    },
  });
  expect(answer.acceptance ?? null).toBeNull();
  expect(stored.accepted).toEqual({
    id: 5n,
    checks: [
      { ...memory, found: expect.stringMatching(/^32 GiB\ufffdx+/) as string, status: 'failed' },
      { name: 'clock', expected: '', found: '', status: 'unknown' },
      { name: '', expected: '', found: '', status: 'unknown' },
    ],
    found: { memoryGiB: 32, disks: [{ sizeGB: 480, count: 1 }] },
  });
  expect(stored.accepted!.checks[0]!.found).toHaveLength(200);
});

test('drops a result that is too large, has too many checks or no id', () => {
  const checks = (count: number) => Array.from({ length: count }, () => ({ name: 'memory' }));
  const read = (id: bigint, count: number, text = '') =>
    readAcceptanceResult(
      acceptanceResultCodec.encode({ id, check: [...checks(count), { found: text }] }),
    );
  expect(read(1n, 255)?.checks).toHaveLength(256);
  expect([read(1n, 256), read(0n, 1), read(1n, 1, 'x'.repeat(70_000))]).toEqual([null, null, null]);
  expect(readAcceptanceResult(Buffer.from('ff', 'hex'))).toBeNull();
});

test('is understood by older agents and servers', () => {
  const nested = structuredClone(descriptor.nested) as unknown as protobuf.INamespace['nested'];
  const root = protobuf.Root.fromJSON({ nested: nested! });
  const old = (name: string) => {
    const type = root.lookupType(`cloud.bmaas.server.api.${name}`);
    type.remove(type.fields['acceptance']!);
    return (bytes: Uint8Array) => type.toObject(type.decode(bytes), { longs: BigInt });
  };
  const sent = { machineId: 'm', uptimeSeconds: 7n };
  const result = { id: 3n, check: [{ name: 'memory' }] };
  const request = heartbeatRequestCodec.encode({ ...sent, acceptance: result });
  expect(old('HeartbeatRequest')(request)).toEqual(sent);
  const acceptance = acceptanceRequestCodec.encode({ id: 3n, profile: { cpus: 8 } });
  const told = {
    installationRequest: null,
    heartbeatIntervalSeconds: 30,
    sendHardwareReport: true,
  };
  const response = writeHeartbeatResponse({ ...told, acceptance });
  expect(heartbeatResponseCodec.decode(response).acceptance).toMatchObject({ id: 3n });
  expect(old('HeartbeatResponse')(response)).toMatchObject({ heartbeatIntervalSeconds: 30n });
});
