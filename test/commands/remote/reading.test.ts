import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ProviderError } from '../../../src/domain/errors.ts';
import { providerName, sessionId } from '../../../src/domain/ids.ts';
import { installationReportCodec } from '../../../src/wire/codec.ts';
import { KEY, KEY_HEX } from '../../contracts/bmdb-rows.ts';
import { ladderRow } from '../../support/facts.ts';
import { takenIn } from '../../support/ingest.ts';
import { advance } from '../../doubles/simulated-clock.ts';
import { idOf, slotName } from '../machine-stand.ts';
import { commandStand, type CommandStand } from '../shown.ts';

/** The texts of every command that only reads, in full. */

let s: CommandStand;
beforeEach(async () => {
  s = await commandStand();
});
afterEach(() => s.close());

const MINUTE = 60_000;
const run = (...args: string[]) => s.run(args);
const text = async (...args: string[]) => {
  const { stdout, stderr, code } = await run(...args);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return stdout;
};
const json = async (...args: string[]) => JSON.parse(await text(...args, '-o', 'json')) as object;
const fitting = (told: string) =>
  expect(told.split('\n').filter((line) => line.length > 80)).toEqual([]);
/** What a command tells is what the file of this name holds, and fits into 80 columns. */
async function golden(name: string, ...args: string[]) {
  const told = await text(...args);
  fitting(told);
  await expect(told).toMatchFileSnapshot(`golden/${name}.txt`);
}

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
    await golden('machines', 'machines');
  });

  test('A8: a provider that cannot be listed is named below them, and in JSON', async () => {
    await s.close();
    let isAway = true;
    const listMachines = async () => {
      if (isAway) throw new ProviderError('transient', 'connect ECONNREFUSED');
      return { machines: [], complete: true };
    };
    s = await commandStand({ listMachines });
    await s.daemon();
    await advance(s.clock, 20 * MINUTE);
    await golden('machines-unlisted', 'machines');
    expect(await json('fleet', 'status')).toMatchObject({
      unlisted: [{ provider: 'metal', cause: expect.stringContaining('connect ECONNREFUSED') }],
    });
    isAway = false;
    await advance(s.clock, 2 * MINUTE);
    expect(await text('machines')).not.toContain('LISTED');
  });

  test('are chosen by state, provider, location, hold, and by what waits for a person', async () => {
    addFleet();
    await s.daemon();
    await s.file({ verb: 'hold', kind: 'no-start', untilMs: null }, slotName(4));
    const cases: [string[], number[]][] = [
      [
        ['--state', 'Quarantined'],
        [2, 3],
      ],
      [
        ['--state', 'quarantined/byOperator,Provisioned'],
        [3, 5],
      ],
      [['--state', 'silent'], [4]],
      [['--location', 'fr'], [5]],
      [
        ['--provider', 'metal', '--state', 'Running'],
        [1, 4],
      ],
      [['--needs-human'], [2, 5]],
      [['--held'], [4]],
      [['--held', '--location', 'fr'], []],
      [['--filter', 'heard>10m'], [4]],
      [
        ['--sort', '-slot', '--limit', '2'],
        [5, 4],
      ],
    ];
    for (const [flags, slots] of cases) {
      const told = await text('machines', ...flags, '-o', 'name').catch(() => '');
      const found = told.split('\n').filter((line) => line !== '');
      expect(found, flags.join(' ')).toEqual(slots.map(slotName));
    }
    expect(await text('machines', '--held')).toMatch(
      /\n {4}hold no-start\n\n1 shown; the fleet is 1 healthy · 1 silent /,
    );
    for (const wrong of [
      ...[
        ['--state', 'Broken'],
        ['--state', 'Running/healty'],
      ],
      ...[
        ['--provider', 'other'],
        ['--location', 'rf'],
        ['--sort', 'colour'],
      ],
    ]) {
      expect(await run('machines', ...wrong), wrong.join(' ')).toMatchObject({
        code: 2,
        stdout: '',
      });
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
    await golden('machines-long-slot', 'machines');
    moveTo(long);
    await golden('machines-longer-slot', 'machines');
  });

  test('none are told, too, and that nobody is at work', async () => {
    expect(await text('machines')).toMatch(
      /^no machines\nrecovery waits for the fleet: no daemon is alive: nothing is done/,
    );
  });

  test('more than a page of the API are put together', async () => {
    for (let at = 1; at <= 1_203; at++) s.add(at);
    const found = (await text('machines', '-o', 'name')).trimEnd().split('\n');
    expect(found).toHaveLength(1_203);
    expect(new Set(found).size).toBe(1_203);
    expect(await json('machines', '--limit', '1001')).toMatchObject({ total: 1_203 });
  });

  test('text of others has no effect on the terminal', async () => {
    const reason = 'bad\u001b[31m\u009b2J news\n\tand\r more';
    s.add(1, { quarantine: { kind: 'conflict', reason, untilMs: null } });
    for (const told of [await text('machines'), await text('machine', 'show', slotName(1))]) {
      expect(told.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
      expect(told).toContain('news');
    }
  });
});

describe('one machine', () => {
  test('is shown with everything a person needs', async () => {
    const nowMs = s.clock.now();
    const key = Buffer.from('a host key');
    const recovery = ladderRow({
      ...{ attempts: 2, nextAtMs: nowMs + 5 * MINUTE, askedAtMs: nowMs - MINUTE },
      ...{ askedRung: 'rebooting', operationRef: 'op-7', bootIdBefore: 'boot-1' },
    });
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
    await s.daemon();
    await s.file({ verb: 'hold', kind: 'preserve', untilMs: nowMs + 3_600_000 }, slotName(1));
    await s.file({ verb: 'reboot', force: false }, idOf(1));
    await golden('machine-show', 'machine', 'show', slotName(1));
    const fingerprint = createHash('sha256').update(key).digest('base64').replace(/=+$/, '');
    expect(await text('machine', 'show', slotName(1))).toContain(`SHA256:${fingerprint}`);
  });

  test('as JSON is what the API has of it, with its explanation', async () => {
    s.add(1);
    expect(await json('machine', 'show', idOf(1))).toMatchObject({
      ...{ slot: 'metal/slot-1', provider: 'metal', slotId: 'slot-1', state: 'Running' },
      explanation: {
        sentence: expect.stringMatching(/^Running · healthy for .* because its agent reports;/),
        blockedBy: [],
      },
      ...{ hostKey: null, holdRows: [], requests: [] },
    });
  });

  test('is explained in a sentence, with what would end it', async () => {
    s.add(1, { quarantine: { kind: 'conflict', reason: 'its key changed', untilMs: null } });
    await golden('machine-explain', 'machine', 'explain', slotName(1));
  });

  test('C6: is shown with what the agent before its own could tell nobody else', async () => {
    s.add(1, { agentStarted: null, heartbeat: null });
    const session = await s.daemon();
    const work = await session.claim('ShepherdAgentStart', idOf(1));
    const warnings = ['the agent before this one wrote: heartbeats fail:\nnot trusted'];
    const publicKey = new Uint8Array(32).fill(7);
    await work.finish({ kind: 'agentStarted', publicKey, warnings, bootId: null, hostKey: null });
    expect(await text('machine', 'show', slotName(1))).toMatch(
      /its start warned: the agent before this one wrote:\s+heartbeats fail:\s+not trusted/,
    );
  });

  test('that is not there, and what is no name', async () => {
    expect(await run('machine', 'show', 'metal/free')).toMatchObject({ code: 1 });
    expect(await run('machine', 'show', idOf(9))).toMatchObject({ code: 1 });
    expect(await run('machine', 'show', '')).toMatchObject({ code: 2 });
  });
});

describe('an installation', () => {
  const installed = (change: object) => ({
    ...{ requestGeneration: 1n, handedOutAtMs: s.clock.now() },
    ...{ reportGeneration: null, reportResult: null },
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
    expect(await text('machine', 'show', slotName(1))).toMatch(
      /^install +FAILED: .*\n(?: +.*\n)? +its agent says: no disk; \ufffd\[31msda$/m,
    );
  });

  test('that something forbids is shown with that', async () => {
    s.add(1, {
      installation: installed({ handedOutAtMs: null }),
      quarantine: { kind: 'byOperator', reason: 'x', untilMs: null },
    });
    expect(await text('machine', 'show', slotName(1))).toContain(
      'it is kept from its agent: it is quarantined',
    );
  });
});

describe('the history of a machine', () => {
  const history = async (name: string, ...flags: string[]) =>
    (await text('machine', 'history', name, ...flags)).trimEnd().split('\n');

  test('has its work and what happened to its slot, in the order of time', async () => {
    const id = s.add(1, { agentStarted: null, heartbeat: null });
    const session = await s.daemon();
    await s.file({ verb: 'hold', kind: 'no-recover', untilMs: null }, slotName(1));
    await advance(s.clock, MINUTE);
    const work = await session.claim('ShepherdAgentStart', id);
    await advance(s.clock, MINUTE);
    await work.fail({ initialMs: 1_000, exponent: 1, maximumMs: 0 }, 'no route\nto host');
    await advance(s.clock, MINUTE);
    await s.file({ verb: 'unhold', kind: 'no-recover' }, slotName(1));
    await golden('machine-history', 'machine', 'history', slotName(1));
    expect(await history(slotName(1), '--limit', '1')).toEqual([
      expect.stringMatching(/Z +ann unheld/),
    ]);
    expect(await json('machine', 'history', id, '--limit', '2')).toMatchObject({
      of: id,
      lines: [{}, {}],
    });
  });

  test('stays when the machine is gone', async () => {
    const id = s.add(1);
    const atMs = s.clock.now();
    s.bmdb.tables.events.push({
      ...{ slot: slotName(1), machineId: id, atMs, kind: 'deprovisioned', actor: 'shepherd' },
      ...{ reason: 'device device-1', from: null, to: null },
    });
    s.bmdb.tables.history.push({
      ...{ seq: 1, atMs, machineId: id, process: 'ShepherdDeprovision', event: 'Finished' },
      ...{ cause: null, sessionId: sessionId('x'), component: 'shepherd', epoch: '1' },
    });
    s.bmdb.tables.machines.delete(id);
    const lines = await history(slotName(1));
    expect(lines).toHaveLength(2);
    expect((await history(id)).toSorted()).toEqual(lines.toSorted());
    expect(await run('machine', 'history', slotName(2))).toMatchObject({ code: 1 });
    expect(await run('machine', 'history', 'rack7')).toMatchObject({ code: 2 });
  });

  test('A10: says when it fell silent and was heard again, with the states', async () => {
    const id = s.add(1, {
      agentStarted: { atMs: s.clock.now(), publicKey: KEY_HEX, bootId: null },
      heartbeat: { atMs: s.clock.now(), bootId: null },
    });
    takenIn(s.bmdb.tables);
    s.clock.increment(11 * MINUTE);
    await s.bmdb.sweep();
    const beat = { machineId: id, publicKey: KEY, bootId: null };
    for (let beats = 0; beats < 3; beats++) await s.bmdb.heartbeats.recordHeartbeats([beat]);
    await s.bmdb.sweep();
    const words = (await text('machine', 'history', slotName(1))).replaceAll(/\s+/g, ' ');
    expect(words).toContain('fellSilent, Running · healthy → Running · silent: no heartbeat');
    expect(words).toContain('heardAgain, Running · silent → Running · healthy: 3 heartbeats');
  });
});

describe('the fleet', () => {
  const guard = (verb: string, ...flags: string[]) =>
    run('fleet', verb, '--reason', 'storm', ...flags);

  test('is frozen and thawed by the guard of a daemon', async () => {
    s.add(1);
    const alone = await guard('freeze', '--wait', '1s', '--valid-for', '5s', '--key', 'one');
    expect(alone.code).toBe(3);
    expect(alone.stdout.replaceAll(/\s+/g, ' ')).toContain('no daemon is alive');
    await advance(s.clock, 10_000);
    await s.daemon();
    const done = await guard('freeze', '--key', 'two');
    expect(done).toMatchObject({ code: 0, stdout: expect.stringMatching(/^freeze fleet: done/) });
    for (const told of [await text('fleet', 'status'), await text('machines')]) {
      expect(told.replaceAll(/\s+/g, ' ')).toMatch(
        /recovery is FROZEN for the fleet since .* ago\): token:ann: storm/,
      );
      fitting(told);
    }
    expect((await guard('thaw', '--key', 'three')).code).toBe(0);
    expect(await text('fleet', 'status')).not.toContain('FROZEN');
  });

  test('is frozen for one provider, and for none that is not there', async () => {
    s.add(1);
    await s.daemon();
    await guard('freeze', '--provider', 'metal');
    expect((await text('fleet', 'status')).replaceAll(/\s+/g, ' ')).toContain(
      'FROZEN for provider metal since',
    );
    expect(await guard('freeze', '--provider', 'mettal')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no provider is named mettal; there is metal'),
    });
  });

  test('is told to whoever asks whether all is well', async () => {
    addFleet();
    await s.daemon();
    await golden('status', 'status');
    expect(await json('status')).toMatchObject({
      headline: {
        total: 5,
        tone: 'bad',
        shares: [{ word: 'healthy' }, { word: 'silent' }, {}, {}, {}],
      },
      status: { needs: [{ kind: 'guard' }, { kind: 'machines' }], doing: [] },
    });
  });

  test('is told with its budget, its daemons, and what is asked of it', async () => {
    addFleet();
    s.bmdb.tables.machines.get(idOf(4))!.permitGrantedAtMs = s.clock.now();
    s.bmdb.tables.machines.get(idOf(4))!.permitScope = {
      provider: providerName('metal'),
      location: 'ny',
    };
    await s.daemon();
    await s.file({ verb: 'reboot', force: false }, slotName(1));
    await golden('fleet-status', 'fleet', 'status');
    expect(await json('fleet', 'status')).toMatchObject({
      needHuman: 2,
      counts: { Quarantined: 2 },
      budget: [
        { scope: 'fleet', permits: 1, budget: 2 },
        { scope: 'provider metal', permits: 1 },
        { scope: 'location ny' },
      ],
      requests: [{ verb: 'reboot' }],
    });
  });
});
