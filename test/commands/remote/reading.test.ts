import { expect, test } from 'vitest';
import { ProviderError } from '../../../src/domain/errors.ts';
import { providerName, sessionId, slot } from '../../../src/domain/ids.ts';
import type { MachineRow } from '../../../src/domain/machine.ts';
import { installationReportCodec } from '../../../src/wire/codec.ts';
import { KEY, KEY_HEX } from '../../contracts/bmdb-rows.ts';
import { ladderRow } from '../../support/facts.ts';
import { takenIn } from '../../support/ingest.ts';
import { playScenes } from '../../support/scenes.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { idOf, slotName } from '../machine-stand.ts';
import { commandStand, type CommandStand } from '../shown.ts';

const MINUTE = 60_000;
type ReadingStand = CommandStand & { readonly provider: { isAway: boolean } };

async function open(): Promise<ReadingStand> {
  const provider = { isAway: false };
  const stand = await commandStand({
    listMachines: async () => {
      if (provider.isAway) throw new ProviderError('transient', 'connect ECONNREFUSED');
      return { machines: [], complete: true };
    },
  });
  return { ...stand, provider };
}

const quarantine = (kind: 'needsHuman' | 'byOperator' | 'conflict', reason: string) =>
  ({ kind, reason, untilMs: null, cause: null }) as const;
const silent = { agentStarted: null, heartbeat: null };
const rowOf = (s: ReadingStand, at: number): MachineRow =>
  s.bmdb.tables.machines.get(idOf(at))!.row;
/** Machine 2 on a slot whose id is so long. */
const long = (s: ReadingStand, length: number) => {
  const id = '06aacaaf-0de0-4d89-911a-6088ad7c16b3-at-the-end-of-the-row'.slice(0, length);
  const { provided } = rowOf(s, 2);
  const stuck = quarantine('needsHuman', 'all was tried');
  s.add(2, { provided: { ...provided!, reservationId: id }, quarantine: stuck });
};
const installation = (handedOutAtMs: number | null) => ({
  ...{ requestGeneration: 1n, handedOutAtMs, reportGeneration: null, reportResult: null },
});

const steps: Record<string, (s: ReadingStand, about: string) => unknown> = {
  machine: (s) => void s.add(1),
  daemon: (s) => s.daemon().then(() => undefined),
  pass: (s, seconds) => advance(s.clock, Number(seconds) * 1000),
  'one machine of each kind that a person looks for': (s) => {
    const nowMs = s.clock.now();
    s.add(1);
    s.add(2, { quarantine: quarantine('needsHuman', 'all was tried') });
    s.add(3, { quarantine: quarantine('byOperator', 'being moved') });
    const agentStarted = { atMs: nowMs - 60 * MINUTE, publicKey: KEY_HEX, bootId: null };
    s.add(4, { agentStarted, heartbeat: { atMs: nowMs - 20 * MINUTE, bootId: null } });
    const failed = { location: 'fr', status: 'ProvisioningFailedPermanent' } as const;
    const device = { providerId: 'device-5', reservationId: 'slot-5' };
    s.add(5, { ...silent, provided: { ...rowOf(s, 1).provided!, ...device, ...failed } });
  },
  'the provider cannot be listed': (s) => void (s.provider.isAway = true),
  'the provider is listed again': (s) => void (s.provider.isAway = false),
  'held no-start': (s, slot) => s.submit({ verb: 'hold', kind: 'no-start', untilMs: null }, slot),
  'held no-recover': (s, slot) =>
    s.submit({ verb: 'hold', kind: 'no-recover', untilMs: null }, slot),
  unheld: (s, slot) => s.submit({ verb: 'unhold', kind: 'no-recover' }, slot),
  'machine 2 on a slot of so many letters': (s, length) => long(s, Number(length)),
  'a machine with text of others': (s) =>
    void s.add(1, {
      quarantine: quarantine('conflict', 'bad\u001b[31m\u009b2J news\n\tand\r more'),
    }),
  'a machine with everything that may be known of one': async (s) => {
    const nowMs = s.clock.now();
    s.add(1, {
      recovery: ladderRow({
        ...{ attempts: 2, nextAtMs: nowMs + 5 * MINUTE, askedAtMs: nowMs - MINUTE },
        ...{ askedRung: 'rebooting', operationRef: 'op-7', bootIdBefore: 'boot-1' },
      }),
      hostKey: Buffer.from('a host key').toString('base64'),
      bootTimes: { reboot: [210, 190], reinstall: [] },
      quarantine: quarantine('needsHuman', 'two power cycles did not help'),
      backoffs: [
        {
          ...{ process: 'ShepherdRecovery', untilMs: nowMs + 90_000, lastIntervalSeconds: 60 },
          cause: 'the provider does not answer',
        },
      ],
    });
    await s.daemon();
    await s.submit({ verb: 'hold', kind: 'preserve', untilMs: nowMs + 3_600_000 }, slotName(1));
    await s.submit({ verb: 'reboot', force: false }, idOf(1));
  },
  'a machine whose key changed': (s) =>
    void s.add(1, { quarantine: quarantine('conflict', 'its key changed') }),
  'a start that warned': async (s) => {
    s.add(1, silent);
    const session = await s.daemon();
    const work = await session.claim('ShepherdAgentStart', idOf(1));
    const warnings = ['the previous agent wrote: heartbeats fail:\nnot trusted'];
    const publicKey = new Uint8Array(32).fill(7);
    await work.finish({ kind: 'agentStarted', publicKey, warnings, bootId: null, hostKey: null });
  },
  'an installation that failed': async (s) => {
    const machineId = s.add(1, { installation: installation(s.clock.now()) });
    const error = { error: 'no disk\n\u001b[31msda' };
    const raw = installationReportCodec.encode({ generation: 1n, error, result: 'error' });
    const installationReport = { generation: 1n, result: 'Error', raw } as const;
    const publicKey = Buffer.from(KEY_HEX, 'hex');
    await s.bmdb.heartbeats.recordHeartbeats([
      { machineId, publicKey, bootId: 'boot-1', installationReport },
    ]);
  },
  'an installation that something forbids': (s) =>
    void s.add(1, { installation: installation(null), quarantine: quarantine('byOperator', 'x') }),
  'a start that fails a minute later': async (s) => {
    s.add(1, silent);
    const session = await s.daemon();
    await s.submit({ verb: 'hold', kind: 'no-recover', untilMs: null }, slotName(1));
    await advance(s.clock, MINUTE);
    const work = await session.claim('ShepherdAgentStart', idOf(1));
    await advance(s.clock, MINUTE);
    await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'no route\nto host');
  },
  'one recovery of each rung for machine 1, and a machine without any': (s) => {
    const nowMs = s.clock.now();
    const createdAtMs = nowMs - 10 * 24 * 60 * MINUTE;
    s.add(1, { createdAtMs });
    const base = rowOf(s, 1).provided!;
    const elsewhere = { providerId: 'device-2', reservationId: 'slot-2', location: 'fr' };
    s.add(2, { createdAtMs, provided: { ...base, ...elsewhere } });
    const rungs = ['restartingAgent', 'rebooting', 'rebooting', 'powerCycling'] as const;
    for (const [at, rung] of rungs.entries()) {
      const silentSinceMs = nowMs - (4 - at) * 24 * 60 * MINUTE;
      const healedAtMs = at === 3 ? null : silentSinceMs + (at + 10) * MINUTE;
      s.bmdb.tables.episodes.push({
        ...{ slot: slot('metal', 'slot-1'), machineId: idOf(at === 0 ? 9 : 1), location: 'ny' },
        ...{ silentSinceMs, beganAtMs: silentSinceMs + MINUTE, rung, attempts: 1 },
        ...{ healedAtMs, endedAtMs: healedAtMs, counted: true },
      });
    }
    s.add(3, {
      createdAtMs,
      provided: { ...base, providerId: 'device-3', reservationId: 'slot-3' },
    });
    const hold = {
      provider: base.provider,
      slotId: 'slot-3',
      setBy: 'ann',
      reason: 'x',
      untilMs: null,
    };
    s.bmdb.tables.holds = [{ ...hold, kind: 'retired' }];
    s.bmdb.tables.touch(idOf(3));
  },
  'a case of machine 1 with evidence and a condition': async (s) => {
    const machineId = s.add(1);
    const place = { provider: providerName('metal'), slotId: 'slot-1' };
    const condition = {
      type: 'disk-failing',
      source: 'agent',
      status: 'True',
      detail: '',
    } as const;
    const report = { ...place, ...condition, machineId, reason: 'sda fails', validForMs: null };
    await s.bmdb.conditions.report([report]);
    await s.bmdb.cases.addLine({
      ...{ ...place, kind: 'evidence-before', author: 'shepherd' },
      text: '$ uptime\nup 9 days \u001b[31m',
    });
    await s.bmdb.cases.open({ ...place, machineId, title: 'all was tried', by: 'shepherd' });
  },
  'a machine that is gone': (s) => {
    const machineId = s.add(1);
    const atMs = s.clock.now();
    s.bmdb.tables.events.push({
      ...{ slot: slotName(1), machineId, atMs, kind: 'deprovisioned', actor: 'shepherd' },
      ...{ reason: 'device device-1', from: null, to: null },
    });
    s.bmdb.tables.history.push({
      ...{ seq: 1, atMs, machineId, process: 'ShepherdDeprovision', event: 'Finished' },
      ...{ cause: null, sessionId: sessionId('x'), component: 'shepherd', epoch: '1' },
    });
    s.bmdb.tables.machines.delete(machineId);
  },
  'a machine that falls silent and is heard again': async (s) => {
    const atMs = s.clock.now();
    const agentStarted = { atMs, publicKey: KEY_HEX, bootId: null };
    const machineId = s.add(1, { agentStarted, heartbeat: { atMs, bootId: null } });
    takenIn(s.bmdb.tables);
    s.clock.increment(11 * MINUTE);
    await s.bmdb.sweep();
    const beat = { machineId, publicKey: KEY, bootId: null };
    for (let beats = 0; beats < 3; beats++) await s.bmdb.heartbeats.recordHeartbeats([beat]);
    await s.bmdb.sweep();
  },
  'a permit for machine 4, and a reboot asked for': async (s) => {
    const machine = s.bmdb.tables.machines.get(idOf(4))!;
    machine.permitGrantedAtMs = s.clock.now();
    machine.permitScope = { provider: providerName('metal'), location: 'ny' };
    s.bmdb.tables.touch(idOf(4));
    await s.daemon();
    await s.submit({ verb: 'reboot', force: false }, slotName(1));
  },
};

test('commands that only read say what they say', async () => {
  await playScenes<ReadingStand>(import.meta.dirname, 'reading', {
    open,
    close: (s) => s.close(),
    steps,
    async run(s, words) {
      const told = await s.run(words);
      if (words.includes('-o')) return told;
      const wide = told.stdout.split('\n').filter((line) => line.length > 80);
      expect(wide, words.join(' ')).toEqual([]);
      return told;
    },
  });
});

test('more machines than a page of the API has are put together', async () => {
  const s = await open();
  for (let at = 1; at <= 1_203; at++) s.add(at);
  const { stdout } = await s.run(['machines', '-o', 'name']);
  expect(new Set(stdout.trimEnd().split('\n')).size).toBe(1_203);
  const all = await s.run(['machines', '--limit', '1001', '-o', 'json']);
  expect(JSON.parse(all.stdout)).toMatchObject({ total: 1_203 });
  await s.close();
});
