import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import protobuf from 'protobufjs/light.js';
import { expect, onTestFinished, test } from 'vitest';
import { createConditions } from '../../../src/agent/hardware/conditions.ts';
import { collectHardwareReport } from '../../../src/agent/hardware/report.ts';
import { runHeartbeatLoop } from '../../../src/agent/heartbeat-loop.ts';
import { createHostPrograms } from '../../../src/agent/host-programs.ts';
import { heartbeatRequestCodec } from '../../../src/wire/codec.ts';
import { descriptor } from '../../../src/wire/descriptor.ts';
import { Condition_Status as Status } from '../../../src/wire/messages.ts';
import { plantTree } from '../../agent/tree-fixture.ts';
import { recordingLog } from '../../doubles/recording-log.ts';
import { PATIENCE } from '../../support/patience.ts';
import { startAgentStand } from './agent-stand.ts';

const TRUE = { status: Status.STATUS_TRUE, reason: 'broken', detail: '' };

test('hands the conditions of an agent to the store, as short plain texts', async () => {
  const { agent } = await startAgentStand();
  const { beat, stored } = agent();
  await beat();
  expect(stored.conditions).toBeUndefined();
  const wild = { reason: `a\n b\0 ${'c'.repeat(300)}`, detail: 'd'.repeat(3_000) };
  await beat({
    condition: [
      { type: 'disk-failing', ...TRUE, ...wild },
      { type: 'raid-degraded', status: Status.STATUS_FALSE },
      { type: 'memory-errors' },
    ],
  });
  const [disk, ...others] = stored.conditions!;
  expect(disk).toMatchObject({ type: 'disk-failing', status: 'True' });
  expect(disk!.reason).toMatch(/^a b\ufffd c+/);
  expect([disk!.reason.length, disk!.detail.length]).toEqual([200, 2_000]);
  expect(others).toEqual([
    { type: 'raid-degraded', status: 'False', reason: '', detail: '' },
    { type: 'memory-errors', status: 'Unknown', reason: '', detail: '' },
  ]);
  await beat();
  expect(stored.conditions, 'an absent field changes nothing').toHaveLength(3);
});

test('drops conditions of unknown types, and those beyond 20, with a warning', async () => {
  const log = recordingLog();
  const { agent } = await startAgentStand({ log });
  const { beat, stored } = agent();
  const types = ['coffee-cold', 'Disk-Failing', '', 'toString', 'disk-failing', 'disk-worn'];
  await beat({ condition: types.map((type) => ({ type, ...TRUE })) });
  expect(stored.conditions!.map(({ type }) => type)).toEqual(['disk-failing', 'disk-worn']);
  const many = Array.from({ length: 20 }, () => ({ type: 'disk-worn', ...TRUE }));
  await beat({ condition: [...many, { type: 'clock-skewed', ...TRUE }] });
  expect(stored.conditions!.map(({ type }) => type)).toEqual(['disk-worn']);
  await beat({ condition: [{ type: 'disk-worn', status: 9 }] });
  expect(log.count('conditions of an agent dropped')).toBe(3);
  const huge = { type: 'disk-worn', ...TRUE, detail: 'x'.repeat(20_000) };
  await beat({ condition: [huge, { type: 'raid-degraded', ...TRUE }] });
  expect(stored.conditions!.map(({ type }) => type)).toEqual(['raid-degraded']);
});

test('sends heartbeats that servers without conditions can read', () => {
  const { nested } = descriptor;
  const old = structuredClone(nested) as unknown as protobuf.INamespace['nested'];
  const root = protobuf.Root.fromJSON({ nested: old! });
  const type = root.lookupType('cloud.bmaas.server.api.HeartbeatRequest');
  type.remove(type.fields['condition']!);
  const message = { machineId: 'm', uptimeSeconds: 7n };
  const condition = [{ type: 'disk-failing', ...TRUE }];
  const bytes = heartbeatRequestCodec.encode({ ...message, condition });
  expect(type.toObject(type.decode(bytes), { longs: BigInt })).toEqual(message);
});

/** A program that prints this, whatever it is asked. */
function programs(name: string) {
  const directory = mkdtempSync(join(tmpdir(), 'shepherd-programs-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const answer = (value: unknown) =>
    writeFileSync(join(directory, 'answer.json'), JSON.stringify(value));
  writeFileSync(join(directory, name), `#!/bin/sh\ncat "${directory}/answer.json"\n`);
  chmodSync(join(directory, name), 0o755);
  return { answer, programs: createHostPrograms(10_000, [directory]) };
}

test('tells the server of a disk that smartctl says is failing, and when it no longer is', async () => {
  const { agent, clients } = await startAgentStand();
  const { key, machine, stored } = agent();
  const root = plantTree({
    'sys/class/block/nvme0n1/size': '2048',
    'sys/class/block/nvme0n1/device/serial': 'S4',
  });
  const smartctl = programs('smartctl');
  const health = (warning: number) =>
    smartctl.answer({
      nvme_smart_health_information_log: { critical_warning: warning, media_errors: 0 },
    });
  health(4);
  const stop = new AbortController();
  // Each look at the clock is an hour later, so that each heartbeat is followed by a check.
  let nowMs = 0;
  const loop = runHeartbeatLoop(
    {
      client: await clients.of(key),
      ...{ machineId: machine, bootId: 'b', agentVersion: 'v', isThrowAway: false },
      uptime: () => 1,
      hardwareReport: () => collectHardwareReport(root, smartctl.programs),
      judge: createConditions(root),
      install: () => Promise.resolve(),
      time: {
        now: () => (nowMs += 3_600_000),
        wallMs: () => 0,
        random: () => 0.5,
        sleep: (_, signal) => delay(20, undefined, { signal }).catch(() => undefined),
      },
      log: () => undefined,
    },
    stop.signal,
  );
  const disk = () => stored.conditions?.find(({ type }) => type === 'disk-failing');
  await expect
    .poll(disk, PATIENCE)
    .toMatchObject({ status: 'True', reason: 'nvme0n1 (serial number S4) warns that it fails' });
  health(0);
  await expect.poll(disk, PATIENCE).toMatchObject({ status: 'False' });
  stop.abort();
  await loop;
});
