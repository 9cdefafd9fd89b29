import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { fleetStatus, runGuardVerb } from '../../src/commands/machine/fleet.ts';
import { showHistory } from '../../src/commands/machine/history.ts';
import { listMachines, type ListFilter } from '../../src/commands/machine/listing.ts';
import { showMachine } from '../../src/commands/machine/show.ts';
import { NotFound, UsageError } from '../../src/domain/errors.ts';
import { providerName, sessionId } from '../../src/domain/ids.ts';
import type { LadderRow } from '../../src/domain/machine.ts';
import { installationReportCodec } from '../../src/wire/codec.ts';
import { KEY_HEX } from '../contracts/bmdb-rows.ts';
import { idOf, machineStand, slotName, type MachineStand } from './machine-stand.ts';

let s: MachineStand;
beforeEach(() => {
  s = machineStand();
});

const MINUTE = 60_000;
const list = async (filter: ListFilter = {}) =>
  (await listMachines({ ...filter, json: false }, s.means)).text;
const listedBy = async (filter: ListFilter) => {
  const { text } = await listMachines({ ...filter, json: true }, s.means);
  return (JSON.parse(text) as { machines: { slot: string }[] }).machines.map(({ slot }) => slot);
};
const show = async (name: string) => (await showMachine(name, false, s.means)).text;
const fitting = (text: string) =>
  expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);

/** One of each kind that a person looks for. */
function addFleet(): void {
  const nowMs = s.clock.now();
  s.add(1);
  s.add(2, { quarantine: { kind: 'needsHuman', reason: 'all was tried', untilMs: null } });
  s.add(3, { quarantine: { kind: 'byOperator', reason: 'being moved', untilMs: null } });
  const started = { atMs: nowMs - 60 * MINUTE, publicKey: KEY_HEX, bootId: null };
  s.add(4, { agentStarted: started, heartbeat: { atMs: nowMs - 20 * MINUTE, bootId: null } });
  const provided = s.bmdb.tables.machines.get(idOf(1))!.row.provided!;
  s.add(5, {
    agentStarted: null,
    heartbeat: null,
    provided: {
      ...provided,
      providerId: 'device-5',
      reservationId: 'slot-5',
      location: 'fr',
      status: 'ProvisioningFailedPermanent',
    },
  });
}

describe('machines', () => {
  test('are listed with the words of the page, what they wait for, and a line of counts', async () => {
    addFleet();
    await s.daemon();
    const text = await list();
    expect(text).toMatch(/^slot +state +heard +location\n/);
    expect(text).toMatch(/^metal\/slot-1 +Running · healthy +0s +ny$/m);
    expect(text).toMatch(/^metal\/slot-2 +Quarantined · needsHuman +0s +ny\n {4}all was tried$/m);
    expect(text).toMatch(/^metal\/slot-4 +Running · silent +20m +ny$/m);
    expect(text).toMatch(/^metal\/slot-5 +Provisioned · failed +- +fr$/m);
    expect(text).toMatch(/^5 machines: 1 Provisioned · 2 Running · 2 Quarantined$/m);
    expect(text).toContain('recovery waits: no daemon takes heartbeats in now');
    expect(text).toContain('from the database alone');
    fitting(text);
  });

  test('A8: a provider that cannot be listed is named below them, and in JSON', async () => {
    const session = await s.daemon();
    const { sessionId: by } = session;
    const found = { provider: providerName('metal'), sessionId: by, cause: 'connect ECONNREFUSED' };
    await s.bmdb.listings.failed(found);
    s.clock.increment(20 * MINUTE);
    await session.poke();
    const text = await list();
    expect(text.replaceAll('\n', ' ')).toMatch(
      /provider metal CANNOT BE LISTED since \S+ \S+ \(20m ago\): connect ECONNREFUSED/,
    );
    fitting(text);
    const json = JSON.parse((await listMachines({ json: true }, s.means)).text);
    expect(json.unlisted).toMatchObject([found]);
    await s.bmdb.listings.succeeded(found.provider, by);
    expect(await list()).not.toContain('LISTED');
  });

  test('are chosen by state, provider, location, hold, and by what waits for a person', async () => {
    addFleet();
    await s.daemon();
    await s.verb({ verb: 'hold', kind: 'no-start', untilMs: null }, slotName(4));
    const cases: [ListFilter, number[]][] = [
      [{ states: ['Quarantined'] }, [2, 3]],
      [{ states: ['quarantined/byOperator', 'Provisioned'] }, [3, 5]],
      [{ location: 'fr' }, [5]],
      [{ provider: 'metal', states: ['Running'] }, [1, 4]],
      [{ needsHuman: true }, [2, 5]],
      [{ held: true }, [4]],
      [{ held: true, location: 'fr' }, []],
    ];
    for (const [filter, slots] of cases) {
      expect(await listedBy(filter), JSON.stringify(filter)).toEqual(slots.map(slotName));
    }
    expect(await list({ held: true })).toMatch(
      /hold no-start by ann until it is taken away: because/,
    );
    expect(await list({ held: true })).toMatch(/^1 of 5 machines/m);
    for (const wrong of [
      ...[{ states: ['Broken'] }, { states: ['Running/healty'] }],
      ...[{ provider: 'other' }, { location: 'rf' }],
    ]) {
      await expect(list(wrong), JSON.stringify(wrong)).rejects.toBeInstanceOf(UsageError);
    }
  });

  test('holds of slots that nothing is recorded of are not forgotten', async () => {
    addFleet();
    await s.daemon();
    await s.verb({ verb: 'hold', kind: 'no-allocate', untilMs: null }, 'metal/free');
    expect(await list({ held: true })).toMatch(
      /^holds of slots .*:\nmetal\/free\n {4}hold no-allocate by ann until .*: because\n\n0 of 5/,
    );
    const { text } = await listMachines({ held: true, json: true }, s.means);
    expect(JSON.parse(text)).toMatchObject({
      holdsElsewhere: [{ slotId: 'free', kind: 'no-allocate' }],
    });
    for (const other of [{}, { held: true, location: 'fr' }, { held: true, needsHuman: true }]) {
      expect(await list(other)).not.toContain('metal/free');
    }
  });

  test('take no more columns than there are: what finds no room goes below', async () => {
    const long = '06aacaaf-0de0-4d89-911a-6088ad7c16b3-at-the-end-of-the-row';
    addFleet();
    const { provided } = s.bmdb.tables.machines.get(idOf(2))!.row;
    const moveTo = (reservationId: string) =>
      s.add(2, {
        provided: { ...provided!, reservationId },
        quarantine: { kind: 'needsHuman', reason: 'all was tried', untilMs: null },
      });
    moveTo(long.slice(0, 36));
    fitting(await list());
    expect(await list()).toMatch(/c16b3 +Quarantined · needsHuman +0s\n {4}location ny\n {4}all/);
    moveTo(long);
    fitting(await list());
    expect(await list()).toMatch(
      /row\n {4}Quarantined · needsHuman, heard 0s, location ny\n {4}all/,
    );
  });

  test('as JSON are what the API of the page has, with requests and guard', async () => {
    s.add(1);
    s.add(2, { provided: null });
    await s.verb({ verb: 'reboot', force: true }, slotName(1));
    const { text } = await listMachines({ json: true }, s.means);
    expect(JSON.parse(text)).toMatchObject({
      total: 1,
      withoutHardware: 1,
      daemons: 0,
      counts: { Running: 1, Quarantined: 0 },
      machines: [
        {
          slot: 'metal/slot-1',
          machineId: idOf(1),
          state: 'Running',
          substate: 'healthy',
          requests: [{ verb: 'reboot', by: 'ann' }],
        },
      ],
    });
    expect(await list()).toMatch(/^1 more have no hardware yet/m);
  });

  test('none are told, too, and that nobody is at work', async () => {
    expect(await list()).toMatch(/^0 machines\nno daemon is alive/);
  });

  test('text of others has no effect on the terminal', async () => {
    const reason = 'bad\u001b[31m\u009b2J news\n\tand\r more';
    s.add(1, { quarantine: { kind: 'conflict', reason, untilMs: null } });
    for (const text of [await list(), await show(slotName(1))]) {
      expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
      expect(text).toContain('news');
    }
  });
});

describe('one machine', () => {
  test('is shown with everything a person needs', async () => {
    const nowMs = s.clock.now();
    const key = Buffer.from('a host key');
    const recovery: LadderRow = {
      rung: 'rebooting',
      attempts: 2,
      nextAtMs: nowMs + 5 * MINUTE,
      askedAtMs: nowMs - MINUTE,
      askedRung: 'rebooting',
      orderKey: null,
      operationRef: 'op-7',
      bootIdBefore: 'boot-1',
      hostKeyBefore: null,
      offSeenAtMs: null,
      powerOffAskedAtMs: null,
    };
    s.add(1, {
      recovery,
      hostKey: key.toString('base64'),
      bootTimes: { reboot: [210, 190], reinstall: [] },
      quarantine: { kind: 'needsHuman', reason: 'two power cycles did not help', untilMs: null },
      backoffs: [
        {
          process: 'ShepherdRecovery',
          untilMs: nowMs + 90_000,
          lastIntervalSeconds: 60,
          cause: 'the provider does not answer',
        },
      ],
    });
    s.bmdb.tables.machines.get(idOf(1))!.quarantinedBy = 'shepherd';
    await s.daemon();
    await s.verb({ verb: 'hold', kind: 'preserve', untilMs: nowMs + 3_600_000 }, slotName(1));
    await s.verb({ verb: 'reboot', force: false }, idOf(1), { waitMs: 1_000 });
    const text = await show(slotName(1));
    const fingerprint = createHash('sha256').update(key).digest('base64').replace(/=+$/, '');
    for (const line of [
      /^slot +metal\/slot-1$/m,
      /^machine +00000000-0000-4000-8000-000000000001\nrecorded +\S+ \S+ \(0s ago\)$/m,
      /^state +Quarantined · needsHuman$/m,
      /^why +two power cycles did not help$/m,
      /^device +device-1, Running$/m,
      /^heartbeat .* ago\)$/m,
      /^boot id +boot-1$/m,
      /^quarantine +needsHuman by shepherd: two power cycles did not help\n.*a person ends it/m,
      /^ladder +rebooting, attempt 2 of 3\n +nothing before .*\(in \dm\)\n +rebooting was asked for/m,
      /ago\), operation\s+op-7; not proved yet$/m,
      /^permit +none$/m,
      /^boots took +210s, 190s$/m,
      /^backoff +ShepherdRecovery until [^]* the provider\s+does not answer$/m,
      /^holds +preserve by ann until /m,
      /^requests +reboot by ann .*: because\n +-> refused: it is quarantined/m,
    ]) {
      expect(text).toMatch(line);
    }
    expect(text).toContain(`SHA256:${fingerprint}`);
    fitting(text);
  });

  test('as JSON is shown with its rows', async () => {
    s.add(1, {
      installation: {
        requestGeneration: 3n,
        handedOutAtMs: null,
        reportGeneration: null,
        reportResult: null,
      },
    });
    const { text } = await showMachine(idOf(1), true, s.means);
    expect(JSON.parse(text)).toMatchObject({
      slot: 'metal/slot-1',
      provider: 'metal',
      slotId: 'slot-1',
      summary: { state: 'Running', needsHuman: false },
      machine: { machineId: idOf(1), installation: { requestGeneration: '3' } },
      hostKeyFingerprint: null,
      holds: [],
      requests: [],
    });
  });

  test('a slot without a machine is shown as far as anything is known of it', async () => {
    await expect(show('metal/free')).rejects.toThrow(/nothing is recorded of slot metal\/free/);
    await s.daemon();
    await s.verb({ verb: 'hold', kind: 'no-allocate', untilMs: null }, 'metal/free');
    const text = await show('metal/free');
    expect(text).toMatch(/^machine +none$/m);
    expect(text).toMatch(/^holds +no-allocate by ann/m);
    await expect(show(idOf(9))).rejects.toBeInstanceOf(NotFound);
    await expect(show('rack 7')).rejects.toBeInstanceOf(UsageError);
  });
});

describe('an installation', () => {
  const installed = (change: object) => ({
    requestGeneration: 1n,
    handedOutAtMs: s.clock.now(),
    reportGeneration: null,
    reportResult: null,
    ...change,
  });

  test('that failed is shown with what its agent said', async () => {
    const id = s.add(1, { installation: installed({}) });
    const raw = installationReportCodec.encode({
      generation: 1n,
      error: { error: 'no disk\n\u001b[31msda' },
      result: 'error',
    });
    const report = { generation: 1n, result: 'Error', raw } as const;
    const publicKey = Buffer.from(KEY_HEX, 'hex');
    await s.bmdb.heartbeats.recordHeartbeats([
      { machineId: id, publicKey, bootId: 'boot-1', installationReport: report },
    ]);
    expect(await show(slotName(1))).toMatch(
      /^install +FAILED: .*\n(?: +.*\n)? +its agent says: no disk; \ufffd\[31msda$/m,
    );
    const { text } = await showMachine(slotName(1), true, s.means);
    expect(JSON.parse(text)).toMatchObject({ installFailure: 'no disk; \ufffd[31msda' });
  });

  test('that something forbids is shown with that', async () => {
    s.add(1, {
      installation: installed({ handedOutAtMs: null }),
      quarantine: { kind: 'byOperator', reason: 'x', untilMs: null },
    });
    expect(await show(slotName(1))).toContain('it is kept from its agent: it is quarantined');
  });
});

describe('the history of a machine', () => {
  const history = async (name: string, limit = 50) =>
    (await showHistory({ name, limit, json: false }, s.means)).text.split('\n');

  test('has its work and what happened to its slot, in the order of time', async () => {
    const id = s.add(1, { agentStarted: null, heartbeat: null });
    const session = await s.daemon();
    await s.verb({ verb: 'hold', kind: 'no-recover', untilMs: null }, slotName(1));
    s.clock.increment(MINUTE);
    const work = await session.claim('ShepherdAgentStart', id);
    s.clock.increment(MINUTE);
    await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'no route\nto host');
    s.clock.increment(MINUTE);
    await s.verb({ verb: 'unhold', kind: 'no-recover' }, slotName(1));
    const lines = (await history(slotName(1))).map((line) => line.replace(/^\S+ \S+ +/, ''));
    expect(lines.map((line) => line.trim())).toEqual([
      'ann held: no-recover: because',
      'shepherd ShepherdAgentStart Started',
      ...['shepherd workFailed: ShepherdAgentStart: no route', 'to host'],
      ...['shepherd ShepherdAgentStart Failed: no route', 'to host'],
      'ann unheld: no-recover: because',
    ]);
    expect(await history(slotName(1), 1)).toEqual([expect.stringMatching(/Z +ann unheld/)]);
    const { text } = await showHistory({ name: id, limit: 2, json: true }, s.means);
    const parsed = JSON.parse(text) as { lines: { of: string; atMs: number }[] };
    expect(parsed.lines).toHaveLength(2);
  });

  test('stays when the machine is gone', async () => {
    const id = s.add(1);
    s.bmdb.tables.events.push({
      slot: slotName(1),
      machineId: id,
      atMs: s.clock.now(),
      kind: 'deprovisioned',
      actor: 'shepherd',
      reason: 'device device-1',
      from: null,
      to: null,
    });
    s.bmdb.tables.history.push({
      seq: 1,
      atMs: s.clock.now(),
      machineId: id,
      process: 'ShepherdDeprovision',
      event: 'Finished',
      cause: null,
      sessionId: sessionId('x'),
      component: 'shepherd',
      epoch: '1',
    });
    s.bmdb.tables.machines.delete(id);
    const lines = await history(slotName(1));
    expect(lines).toHaveLength(2);
    expect(await history(id)).toEqual(lines);
    await expect(history(slotName(2))).rejects.toBeInstanceOf(NotFound);
  });
});

describe('the fleet', () => {
  const guard = (verb: 'freeze' | 'thaw', change: object = {}) =>
    s.driven(runGuardVerb({ verb, reason: 'storm', by: 'ann', json: false, ...change }, s.means));
  const status = async () => (await fleetStatus(false, s.means)).text;

  test('is frozen and thawed by the guard of a daemon', async () => {
    s.add(1);
    const alone = await guard('freeze', { waitMs: 1_000, validForMs: 5_000 });
    expect(alone.exitCode).toBe(3);
    expect(alone.text).toContain('no daemon is alive');
    s.clock.increment(10_000);
    await s.daemon();
    const done = await guard('freeze');
    expect(done).toMatchObject({ exitCode: 0, text: expect.stringMatching(/^freeze fleet: done/) });
    for (const text of [await status(), await list()]) {
      expect(text.replaceAll(/\s+/g, ' ')).toMatch(
        /recovery is FROZEN for the fleet since .* by ann: storm \(until "shepherd fleet thaw"\)/,
      );
      fitting(text.replaceAll(/^recovery is .*$/gm, ''));
    }
    expect((await guard('thaw')).exitCode).toBe(0);
    expect(await status()).not.toContain('FROZEN');
  });

  test('is frozen for one provider, and for none that is not there', async () => {
    s.add(1);
    await s.daemon();
    await guard('freeze', { provider: 'metal' });
    expect((await status()).replaceAll(/\s+/g, ' ')).toContain('FROZEN for provider metal since');
    await expect(guard('freeze', { provider: 'mettal' })).rejects.toThrow(
      'no provider is named mettal; there is metal',
    );
    await expect(guard('thaw', { reason: '' })).rejects.toBeInstanceOf(UsageError);
  });

  test('is told with its budget, its daemons, and what is asked of it', async () => {
    addFleet();
    s.bmdb.tables.machines.get(idOf(4))!.permitGrantedAtMs = s.clock.now();
    s.bmdb.tables.machines.get(idOf(4))!.permitScope = {
      provider: providerName('metal'),
      location: 'ny',
    };
    await s.daemon();
    await s.verb({ verb: 'reboot', force: false }, slotName(1));
    const text = await status();
    expect(text).toMatch(/^recovering +fleet: 1 of at most 1\n +provider metal: 1 of at most 1$/m);
    expect(text).toMatch(/^needs you +2 \(1 failed, 1 needsHuman\): /m);
    expect(text).toMatch(/^requests +1 open\n +reboot of metal\/slot-1 by ann/m);
    expect(text).toMatch(/^daemons +1 alive\n +shepherd, session /m);
    fitting(text);
    const { text: json } = await fleetStatus(true, s.means);
    expect(JSON.parse(json)).toMatchObject({
      needsHuman: 2,
      counts: { Quarantined: 2 },
      budgets: [
        { scope: 'fleet', permits: 1, limit: 1 },
        { scope: 'provider metal', permits: 1 },
        { scope: 'location ny' },
      ],
      requests: [{ verb: 'reboot' }],
    });
  });
});
