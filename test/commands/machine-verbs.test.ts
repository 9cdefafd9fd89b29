import { beforeEach, describe, expect, test } from 'vitest';
import { NotFound, Unreachable, UsageError } from '../../src/domain/errors.ts';
import type { Wish } from '../../src/domain/filing/verbs.ts';
import { idOf, machineStand, slotName, type MachineStand } from './machine-stand.ts';

let s: MachineStand;
beforeEach(() => {
  s = machineStand();
});

const HOLD = { verb: 'hold', kind: 'no-recover', untilMs: null } as const;
const REBOOT = { verb: 'reboot', force: false } as const;
const filed = () => s.bmdb.requests.list({ limit: 1_000 }, s.means.signal);
const inQuarantine = (kind: 'needsHuman' | 'conflict') => ({
  quarantine: { kind, reason: 'the ladder has ended', untilMs: null },
});

describe('one machine', () => {
  test('is named by its id or its slot, and a decision is waited for', async () => {
    const id = s.add(1);
    await s.daemon();
    const byId = await s.verb(HOLD, id);
    expect(byId.exitCode).toBe(0);
    expect(byId.text).toMatch(/^hold metal\/slot-1: done: .*\nkey: [0-9a-f-]{36}$/);
    const bySlot = await s.verb({ verb: 'unhold', kind: 'no-recover' }, slotName(1));
    expect(bySlot).toMatchObject({
      exitCode: 0,
      text: expect.stringMatching(/^unhold .*: done: /),
    });
    const [unhold, hold] = await filed();
    expect(hold).toMatchObject({ verb: 'hold', by: 'ann', reason: 'because', machineId: id });
    expect(unhold, 'a slot is held whatever is on it').toMatchObject({ machineId: null });
  });

  test('that is not there, and what is no name, are told apart', async () => {
    s.add(1);
    await expect(s.verb(REBOOT, idOf(2))).rejects.toThrow(NotFound);
    await expect(s.verb(REBOOT, 'metal/slot-2')).rejects.toThrow(
      'no machine is on slot metal/slot-2; "shepherd machines" has those there are',
    );
    for (const name of ['slot-1', 'rack7', 'Metal/slot-1', 'metal/']) {
      await expect(s.verb(REBOOT, name), name).rejects.toThrow(/is neither a machine's id/);
    }
    expect(await filed()).toEqual([]);
  });

  test('of a slot that two claim must be named by its id', async () => {
    s.add(1);
    const provided = { ...s.bmdb.tables.machines.get(idOf(1))!.row.provided!, providerId: 'other' };
    s.add(2, { provided });
    await expect(s.verb(REBOOT, slotName(1))).rejects.toThrow(
      /machines .* claim slot metal\/slot-1/,
    );
    expect((await s.verb(REBOOT, idOf(2))).exitCode).toBe(0);
  });

  test('a slot without a machine can be held, if there is such a provider', async () => {
    await s.daemon();
    const hold = { ...HOLD, kind: 'no-allocate' } as const;
    expect((await s.verb(hold, 'metal/free')).exitCode).toBe(0);
    expect((await s.bmdb.scan(s.means.signal)).holds).toMatchObject([{ slotId: 'free' }]);
    const meta = s.verb(hold, 'meta/free');
    await expect(meta).rejects.toThrow('no provider is named meta; there is metal');
    await expect(meta).rejects.toBeInstanceOf(UsageError);
  });

  test('a name that means no machine is held from nothing but getting one', async () => {
    s.add(1);
    await s.daemon();
    for (const kind of ['preserve', 'no-start', 'no-recover'] as const) {
      const mistyped = s.verb({ ...HOLD, kind }, 'metal/slot-l');
      await expect(mistyped).rejects.toThrow(
        'no machine is on slot metal/slot-l; without one, only a hold no-allocate makes sense',
      );
      await expect(mistyped).rejects.toBeInstanceOf(NotFound);
    }
    const several = { slots: [slotName(1), 'metal/slot-l'] };
    await expect(s.verb(HOLD, several, { expectCount: 2 })).rejects.toThrow(/slot-l/);
    expect(await filed()).toEqual([]);
    const says = 'no machine is recorded for slot metal/slot-l';
    const { text } = await s.verb({ ...HOLD, kind: 'no-allocate' }, 'metal/slot-l');
    expect(text).toContain(says);
    expect((await s.verb({ ...HOLD, kind: 'no-allocate' }, slotName(1))).text).not.toContain(says);
    expect(await s.verb({ verb: 'unhold', kind: 'preserve' }, 'metal/slot-l')).toMatchObject({
      exitCode: 0,
      text: expect.stringContaining('there was none'),
    });
  });

  test('an order is only filed, and is refused where a hold forbids it', async () => {
    s.add(1);
    const first = await s.verb(REBOOT, slotName(1));
    expect(first.exitCode).toBe(0);
    expect(first.text).toMatch(/^reboot metal\/slot-1: filed: valid until .*Z\n/);
    const second = await s.verb(REBOOT, slotName(1));
    expect(second.exitCode).toBe(1);
    expect(second.text).toMatch(/^reboot metal\/slot-1: REFUSED/);
    expect(second.text).toContain('by ann: because');
    await s.daemon();
    s.add(2);
    await s.verb(HOLD, slotName(2));
    const held = await s.verb(REBOOT, slotName(2), { waitMs: 5_000 });
    expect(held).toMatchObject({ exitCode: 1, text: expect.stringContaining('REFUSED: a hold') });
  });

  test('what nobody settles in time is told with what may be the reason', async () => {
    s.add(1);
    const before = s.clock.now();
    const alone = await s.verb(HOLD, slotName(1));
    expect(alone.exitCode).toBe(3);
    expect(alone.text).toContain('no daemon is alive');
    expect(s.clock.now() - before).toBeGreaterThanOrEqual(30_000);
    const short = await s.verb(HOLD, slotName(1), { waitMs: 1_000 });
    expect(short.exitCode).toBe(3);
    const none = await s.verb(HOLD, slotName(1), { waitMs: 0 });
    expect(none.exitCode).toBe(0);
  });

  test('what it is about must be said: who, why, which, and in one way', async () => {
    s.add(1);
    const wrong: [Parameters<MachineStand['verb']>[1], object, RegExp][] = [
      [slotName(1), { reason: ' ' }, /--by and --reason/],
      [slotName(1), { by: '' }, /--by and --reason/],
      [{}, {}, /say which machine/],
      [{ name: slotName(1), all: true }, {}, /say it in one way/],
      [{ provider: 'metal', slots: [slotName(1)] }, { expectCount: 1 }, /say it in one way/],
      [{ name: slotName(1) }, { expectCount: 2 }, /1 machine is meant, not 2/],
      [{ slots: [slotName(1), slotName(1)] }, { expectCount: 2 }, /names metal\/slot-1 twice/],
      [{ states: ['Runing'] }, { expectCount: 1 }, /"Runing" is no state; there is Reserved/],
      [slotName(1), { key: 'k'.repeat(201) }, /201|200/],
      [slotName(1), { key: `\u001b[2J${'k'.repeat(201)}` }, /^"\\u\{1b\}\[2Jk/],
      [{ slots: [slotName(1), idOf(1)] }, { expectCount: 2 }, /metal\/slot-1 twice, as .* and as/],
      [slotName(1), { expectCount: 2, dryRun: true }, /1 machine is meant, not 2/],
    ];
    for (const [selector, change, says] of wrong) {
      const attempt = s.verb(REBOOT, selector, change);
      await expect(attempt).rejects.toThrow(says);
      await expect(attempt).rejects.toBeInstanceOf(UsageError);
    }
    expect(await filed()).toEqual([]);
  });
});

describe('what cannot be undone', () => {
  const DESTRUCTIVE: readonly Wish[] = [
    { verb: 'reinstall' },
    { verb: 'deprovision' },
    {
      verb: 'install',
      image: {
        url: 'https://images.example/a',
        sha256: '0'.repeat(64),
        compression: 'none',
        rootDevice: { name: 'sda' },
      },
    },
  ];

  test.each(DESTRUCTIVE)('$verb is only told without --yes', async (wish) => {
    s.add(1);
    const { text, exitCode } = await s.verb(wish, slotName(1));
    expect(exitCode).toBe(0);
    expect(text).toMatch(/^would [^]*(lost|deleted)[^]*:\n {4}metal\/slot-1 +Running · healthy\n/);
    expect(text).toMatch(/nothing was done; confirm with --yes$/);
    expect(await filed()).toEqual([]);
    expect((await s.verb(wish, slotName(1), { yes: true, waitMs: 0 })).text).toContain(': filed');
    expect(await filed()).toMatchObject([{ verb: wish.verb }]);
  });

  test('deprovision is refused under a hold that preserves the machine', async () => {
    s.add(1);
    await s.daemon();
    await s.verb({ ...HOLD, kind: 'preserve' }, slotName(1));
    const refused = await s.verb({ verb: 'deprovision' }, slotName(1), { yes: true });
    expect(refused).toMatchObject({ exitCode: 1, text: expect.stringContaining('REFUSED') });
    expect((await s.bmdb.readMachine(idOf(1), s.means.signal)).row?.deprovision).toBeNull();
  });
});

describe('several machines', () => {
  beforeEach(async () => {
    for (const at of [1, 2, 3]) s.add(at, at === 3 ? {} : inQuarantine('needsHuman'));
    await s.daemon();
  });

  test('are only meant with their number', async () => {
    const all = { states: ['Quarantined/needsHuman'] };
    const release = { verb: 'release', forgetHostKey: false } as const;
    await expect(s.verb(release, all)).rejects.toThrow(
      '2 machines are meant; confirm with --expect-count 2, or see which with --dry-run',
    );
    await expect(s.verb(release, all, { expectCount: 3 })).rejects.toThrow(
      '2 machines are meant, not 3 as --expect-count says; nothing was done',
    );
    expect(await filed()).toEqual([]);
    const { text, exitCode } = await s.verb(release, all, { expectCount: 2, key: 'monday' });
    expect(exitCode).toBe(0);
    expect(text).toMatch(/^release metal\/slot-1: done/);
    expect(text).toMatch(/^release metal\/slot-2: done/m);
    expect(text).toContain('2 in all: 2 done\nkey: monday');
    expect((await filed()).map(({ key }) => key).toSorted()).toEqual([
      ...['monday/metal/slot-1', 'monday/metal/slot-2'],
    ]);
  });

  test('none at all is a mistake, and nothing is meant by default', async () => {
    await expect(s.verb(REBOOT, { states: ['running/LATE'] }, { expectCount: 0 })).rejects.toThrow(
      'no machine is so; nothing was done',
    );
    await expect(s.verb(REBOOT, { slots: [] }, { expectCount: 0 })).rejects.toThrow(/nothing/);
    for (const [selector, says] of [
      [{ provider: 'other' }, 'no provider is named other; there is metal'],
      [{ location: 'nowhere' }, 'no location is named nowhere; there is ny'],
      [
        { states: ['Running/lat'] },
        '"lat" is no substate of Running; there is awaitingHeartbeat, ',
      ],
    ] as const) {
      const mistyped = s.verb(REBOOT, selector, { expectCount: 0 });
      await expect(mistyped).rejects.toThrow(says);
      await expect(mistyped).rejects.toBeInstanceOf(UsageError);
    }
    await expect(s.verb(REBOOT, {}, { expectCount: 3 })).rejects.toThrow(/say which machine/);
    expect((await s.verb(HOLD, { all: true }, { expectCount: 3 })).exitCode).toBe(0);
  });

  test('one wrong name among the slots keeps all from being asked', async () => {
    const slots = [slotName(1), slotName(7), slotName(8)];
    await expect(s.verb(REBOOT, { slots }, { expectCount: 3 })).rejects.toThrow(
      /slot metal\/slot-7.*slot metal\/slot-8.*nothing was done/,
    );
    expect(await filed()).toEqual([]);
  });

  test('each have their own answer, and the exit code is the worst one', async () => {
    const slots = [1, 2, 3].map(slotName);
    const { text, exitCode } = await s.verb(REBOOT, { slots }, { expectCount: 3, waitMs: 2_000 });
    expect(exitCode).toBe(1);
    expect(text).toMatch(
      /^reboot metal\/slot-1: REFUSED\n +it is quarantined.*: release it first\n/,
    );
    expect(text).toMatch(/^reboot metal\/slot-3: filed/m);
    expect(text).toContain('3 in all: 1 filed, 2 refused');
  });

  test('what was half filed is finished by asking again with the same key', async () => {
    const { file } = s.bmdb.requests;
    let calls = 0;
    const broken: typeof file = async (request) => {
      if (++calls === 2) throw new Unreachable('the database does not answer');
      return file(request);
    };
    const means = s.means as { bmdb: object };
    const bmdb = s.bmdb;
    means.bmdb = { ...bmdb, requests: { ...bmdb.requests, file: broken } };
    const how = { expectCount: 3, key: 'tuesday' };
    const half = await s.verb(HOLD, { all: true }, how);
    expect(half.exitCode).toBe(1);
    expect(half.text).toMatch(/slot-1: done/);
    expect(half.text).toMatch(/slot-2: NOT FILED\n +not known to be filed: the database/);
    expect(half.text).toMatch(/slot-3: NOT FILED: one before it failed/);
    expect(half.text).toMatch(/repeat the same command with this --key/);
    expect(await filed()).toHaveLength(1);
    means.bmdb = bmdb;
    const whole = await s.verb(HOLD, { all: true }, how);
    expect(whole).toMatchObject({ exitCode: 0, text: expect.stringContaining('3 in all: 3 done') });
    expect(await filed()).toHaveLength(3);
  });

  test('a dry run tells which, and asks for nothing', async () => {
    const { text } = await s.verb(HOLD, { provider: 'metal' }, { dryRun: true });
    expect(text.split('\n')).toEqual([
      'would be put under the hold:',
      '    metal/slot-1  Quarantined · needsHuman',
      '    metal/slot-2  Quarantined · needsHuman',
      '    metal/slot-3  Running · healthy',
      'nothing was done; confirm with --expect-count 3',
    ]);
    expect(await filed()).toEqual([]);
  });
});

describe('as JSON', () => {
  test('there is one document, with an entry for each', async () => {
    s.add(1);
    await s.daemon();
    const { text } = await s.verb(HOLD, slotName(1), { json: true, key: 'k-1' });
    expect(JSON.parse(text)).toMatchObject({
      verb: 'hold',
      key: 'k-1',
      dryRun: false,
      requests: [{ slot: 'metal/slot-1', key: 'k-1', state: 'done', outcome: expect.any(String) }],
    });
    const dry = await s.verb({ verb: 'reinstall' }, slotName(1), { json: true });
    expect(JSON.parse(dry.text)).toEqual({
      verb: 'reinstall',
      key: null,
      dryRun: true,
      requests: [{ slot: 'metal/slot-1', machineId: idOf(1), state: 'untried' }],
    });
  });

  test('a key that was used for something else is a mistake', async () => {
    s.add(1);
    await s.daemon();
    await s.verb(HOLD, slotName(1), { key: 'k-1' });
    const again = await s.verb(HOLD, slotName(1), { key: 'k-1' });
    expect(again.exitCode).toBe(0);
    const other = await s.verb({ verb: 'unhold', kind: 'preserve' }, slotName(1), { key: 'k-1' });
    expect(other.exitCode).toBe(2);
    expect(other.text).toContain('MISTAKEN');
  });
});

describe('an interrupt', () => {
  const interrupted = (stop: AbortController) => {
    (s.means as { signal: AbortSignal }).signal = stop.signal;
  };

  test('ends the waiting, and what was filed stays filed', async () => {
    s.add(1);
    const stop = new AbortController();
    interrupted(stop);
    s.clock.setTimeout(() => stop.abort(), 1_000);
    const before = s.clock.now();
    const { text, exitCode } = await s.verb(HOLD, slotName(1), { waitMs: 600_000 });
    expect(exitCode).toBe(3);
    expect(text).toMatch(/^hold metal\/slot-1: filed/);
    expect(s.clock.now() - before).toBeLessThan(5_000);
    interrupted(new AbortController());
    expect(await filed()).toMatchObject([{ state: 'open' }]);
  });

  test('between two of several leaves the rest unfiled', async () => {
    for (const at of [1, 2, 3]) s.add(at);
    const stop = new AbortController();
    const { file } = s.bmdb.requests;
    const requests = {
      ...s.bmdb.requests,
      file: async (request: Parameters<typeof file>[0]) => {
        stop.abort();
        return file(request);
      },
    };
    interrupted(stop);
    (s.means as { bmdb: object }).bmdb = { ...s.bmdb, requests };
    const { text, exitCode } = await s.verb(HOLD, { all: true }, { expectCount: 3 });
    expect(exitCode).toBe(1);
    expect(text).toContain('3 in all: 1 filed, 2 not filed');
    expect(text).toMatch(/slot-2: NOT FILED: stopped before it/);
    interrupted(new AbortController());
    expect(await filed()).toHaveLength(1);
  });
});

test('while the database cannot be read, what was filed is waited for', async () => {
  s.add(1);
  await s.daemon();
  let failures = 3;
  const requests = {
    ...s.bmdb.requests,
    read: async (...args: Parameters<typeof s.bmdb.requests.read>) => {
      if (failures-- > 0) throw new Unreachable('the database does not answer');
      return s.bmdb.requests.read(...args);
    },
  };
  (s.means as { bmdb: object }).bmdb = { ...s.bmdb, requests };
  const { text, exitCode } = await s.verb(HOLD, slotName(1));
  expect({ exitCode, failures }).toEqual({ exitCode: 0, failures: -1 });
  expect(text).toMatch(/: done/);
});
