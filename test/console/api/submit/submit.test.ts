import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { Role } from '../../../../src/console/access/port.ts';
import { AmbiguousCommit, Unreachable } from '../../../../src/domain/errors.ts';
import { providerName } from '../../../../src/domain/ids.ts';
import { idOf } from '../../../commands/machine-stand.ts';
import { device, free, provided } from '../../../support/facts.ts';
import { playScenes } from '../../../support/scenes.ts';
import {
  createSubmissionStand,
  person,
  SIGNAL,
  slotName,
  type SubmissionStand,
} from './submit-stand.ts';

let s: SubmissionStand;
beforeEach(async () => {
  s = await createSubmissionStand();
});
afterEach(() => s.close());

const reason = 'it hangs';
const reboot = (...at: number[]) => ({ verb: 'reboot', slots: at.map(slotName), reason });
const hold = { verb: 'hold', kind: 'no-recover', reason };
const inQuarantine = {
  quarantine: { kind: 'needsHuman', reason: 'the ladder has ended', untilMs: null, cause: null },
} as const;

async function fleetOf(count: number, on = s) {
  for (let at = 1; at <= count; at++) on.add(at);
  await on.look();
}

/** `verb 1 2 {more: parts} key=k`: a request about machines 1 and 2; or a method, and a path. */
async function asked(stand: SubmissionStand, line: string) {
  const { clock } = stand;
  const body = /\{.*\}/.exec(line)?.[0] ?? '{}';
  const [verb = '', ...words] = line.replace(body, '').split(' ').filter(Boolean);
  if (verb === 'GET') return stand.get(words[0]!);
  if (verb === 'DELETE') return stand.remove(words[0]!);
  const options = new Map(words.filter((word) => word.includes('=')).map(optionIn));
  const slots = words
    .filter((word) => !word.includes('=') && word !== 'dry')
    .map((word) => (/^\d+$/.test(word) ? slotName(Number(word)) : word));
  const past = body.includes('untilMs: past') && { untilMs: clock.now() - 1 };
  return stand.ask(
    {
      ...{ verb, ...(slots.length > 0 && { slots }) },
      ...(verb !== 'note' && verb !== 'label' && { reason }),
      ...{ ...(parse(body) as object), ...past },
    },
    {
      ...{ dryRun: words.includes('dry'), key: options.get('key')?.replaceAll('+', ' ') },
      ...(options.has('seen') && { seen: options.get('seen')! }),
      ...(options.has('wait') && { prefer: `wait=${options.get('wait')!}` }),
    },
  );
}
const optionIn = (word: string): [string, string] => {
  const at = word.indexOf('=');
  return [word.slice(0, at), word.slice(at + 1)];
};

test('stores, refuses, previews and reports requests by the table', () =>
  playScenes<SubmissionStand>(import.meta.dirname, 'submit', {
    open: createSubmissionStand,
    close: (stand) => stand.close(),
    async run(stand, _, line) {
      const { status, headers, body, text } = await asked(stand, line);
      const marks = [headers.location, headers['retry-after'], headers['content-disposition']];
      const { code, detail, current, refusals } = body;
      const told = code === undefined ? body : { code, detail, current, refusals };
      const said = JSON.stringify(told, (_key, value: unknown) => value ?? undefined);
      return [
        [status, ...marks.flatMap((mark) => mark ?? [])].join(' '),
        said === '{}' ? text : said,
      ].join('\n');
    },
    steps: {
      machines: (stand, count) => fleetOf(Number(count), stand),
      looks: (stand) => stand.look(),
      daemon: (stand) => stand.daemon().then(() => undefined),
      'a second passes': (stand) => stand.clock.increment(1_000),
      'the machine goes': async (stand) => {
        stand.bmdb.tables.machines.delete(idOf(1));
        await stand.look();
      },
      'the provider lists a slot without a machine': async (stand) => {
        const machines = [free({ reservationId: 'free' })];
        stand.listings.set(providerName('metal'), { machines, complete: true });
        await stand.look();
      },
      'the provider reboots and reinstalls nothing': (stand) => {
        stand.means = { reboot: false, power: false, reinstall: false, deprovision: true };
      },
      asker: (stand, change) => void (stand.asker = person(parse(change) as object)),
      'the database is away': (stand) => stand.breakSubmission(new Unreachable('no database')),
      'the database loses the connection': (stand) =>
        stand.breakSubmission(new AmbiguousCommit('lost the connection')),
      'the database is back': (stand) => stand.breakSubmission(null),
      keys: async (stand) => (await stand.keys()).join('\n'),
      counted: (stand) => stand.asks.join('\n'),
      events: (stand) =>
        stand.bmdb.tables.events
          .map((event) => [event.slot, event.actor, event.kind, event.reason].join(' '))
          .join('\n'),
    },
  }));

test('an order is refused for a machine that lacks the means, and not for its neighbour', async () => {
  await fleetOf(2);
  s.means = { reboot: true, power: true, reinstall: false, deprovision: true };
  const machines = [
    device({ id: 'one', reservationId: 'slot-1', lacks: ['reboot', 'power'] }),
    device({ id: 'two', reservationId: 'slot-2' }),
  ];
  s.listings.set(providerName('metal'), { machines, complete: true });
  await s.look();
  const why = 'provider metal cannot reboot the machine: this machine has no means for it';
  expect(await s.ask(reboot(1))).toMatchObject({ status: 422, body: { detail: why } });
  const { body } = await s.get('machines/metal/slot-1/verbs');
  expect(body['verbs']).toContainEqual({ verb: 'reboot', refusal: why });
  expect((await s.ask(reboot(2))).status).toBe(202);
});

test('an adopted machine is installed only if it is named alone', async () => {
  const means = { reboot: true, power: true, reinstall: true, deprovision: true };
  s.means = { ...means, adopted: { ...means, reinstall: false } };
  const adopted = s.add(1, { provided: provided({ reservationId: null }) });
  const created = s.add(2);
  await s.look();
  const image = {
    ...{ url: 'https://images.example/a', sha256: '0'.repeat(64) },
    rootDevice: { name: 'sda' },
  };
  const install = { verb: 'install', reason, image, expectCount: 2 };
  const why = 'this machine is adopted, and its disk is written only if it is named alone';
  for (const which of [{ selector: { all: true } }, { slots: [adopted, created] }]) {
    const answers = [
      await s.ask({ ...install, ...which }),
      await s.ask({ ...install, ...which }, { dryRun: true }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 200]);
    for (const { body } of answers) {
      expect(body['refusals']).toEqual([expect.objectContaining({ reason: why, count: 1 })]);
    }
  }
  s.means = null;
  expect((await s.ask({ ...install, selector: { all: true } })).status, 'unknown here').toBe(422);
  expect(await s.keys()).toEqual([]);
  const alone = await s.ask({ ...install, expectCount: 1, slots: [adopted] });
  expect(alone.status).toBe(202);
});

test('a machine that is not known yet is not said to be gone', async () => {
  s.isWhole = false;
  const early = [
    s.ask(reboot(1)),
    s.ask({ ...hold, selector: { all: true }, expectCount: 1 }),
    s.ask({ verb: 'freeze', scope: 'third', reason }),
    s.get('machines/metal/slot-1/verbs'),
  ];
  for (const { status, headers } of await Promise.all(early)) {
    expect([status, headers['retry-after']]).toEqual([503, '1']);
  }
  expect((await s.ask({ verb: 'freeze', scope: 'fleet', reason })).status).toBe(202);
  s.isWhole = true;
  expect((await s.ask(reboot(1))).status).toBe(404);
  await fleetOf(1);
  expect((await s.ask(reboot(1))).status).toBe(202);
});

describe('a key', () => {
  test('V39: stores one of two simultaneous requests, and tells the other that it is being filed', async () => {
    await fleetOf(3);
    for (const body of [reboot(1), { ...reboot(2, 3), expectCount: 2 }]) {
      const key = `${body.slots.length}`;
      const both = await Promise.all([s.ask(body, { key }), s.ask(body, { key })]);
      expect(both.map(({ status }) => status).toSorted()).toEqual([202, 409]);
      expect((await s.ask(body, { key })).status).toBe(202);
    }
  });

  test('is required', async () => {
    await fleetOf(1);
    const about = { method: 'POST', url: '/api/v1/requests', payload: reboot(1) } as const;
    const bare = await s.app.inject(about);
    expect([bare.statusCode, bare.body]).toEqual([400, expect.stringContaining('idempotency-key')]);
  });
});

test('V24: reports a machine that changed meanwhile as it is now, and stores nothing', async () => {
  await fleetOf(1);
  const changed = await s.ask(reboot(1), { seen: '"as it was"' });
  expect(changed).toMatchObject({
    status: 412,
    body: {
      code: 'changed',
      detail: 'The machine changed since you read it: it is Running · healthy now',
    },
  });
  expect(await s.keys()).toEqual([]);
  const { etag } = changed.body['current'] as { etag: string };
  expect((await s.ask(reboot(1), { seen: etag })).status).toBe(202);
  await s.look();
  const ordered = await s.ask({ ...hold, slots: [slotName(1)] }, { seen: etag });
  expect(ordered.status, 'its order is another thing that may have been seen').toBe(412);
});

test('V25: 300 of 5,000: lists obstacles by reason; with one more match: nothing is stored', async () => {
  for (let at = 1; at <= 5_000; at++) s.add(at, at <= 300 ? inQuarantine : {});
  await s.look();
  const selector = { states: ['Quarantined/needsHuman'] };
  const body = { verb: 'reboot', reason, selector, expectCount: 300 };
  const barred = { reason: expect.stringContaining('release it first') };
  const preview = await s.ask(body, { dryRun: true });
  expect(preview).toMatchObject({
    status: 200,
    body: { dryRun: true, count: 300, refusals: [{ ...barred, count: 300 }] },
  });
  expect(preview.body['machines']).toHaveLength(300);
  s.add(301, inQuarantine);
  await s.look();
  const more = await s.ask(body, { key: 'bulk' });
  expect(more).toMatchObject({ status: 412, body: { code: 'changed', current: { count: 301 } } });
  expect(await s.keys()).toEqual([]);
  const submitted = await s.ask({ ...body, expectCount: 301 }, { key: 'bulk' });
  expect(submitted).toMatchObject({ status: 202, body: { counts: { open: 301 } } });
  const session = await s.daemon();
  for (const key of await s.keys()) await session.applyRequest(key);
  const { body: settled } = await s.get('batches/bulk');
  expect(settled).toMatchObject({
    counts: { open: 0, refused: 301 },
    refusals: [{ ...barred, count: 301 }],
  });
});

test('writes the whole audit into a file, however long, with its filter', async () => {
  await fleetOf(1);
  await s.ask({ ...hold, slots: [slotName(1)] }, { key: 'k1' });
  const [first] = await s.bmdb.requests.list({ limit: 1 }, SIGNAL);
  const many = Array.from({ length: 2_300 }, (_, at) => `m${String(at).padStart(4, '0')}`);
  for (const [at, key] of many.entries()) {
    const by = at === 7 ? 'db:bob@host' : 'token:ann';
    const kept = s.bmdb.tables.requests.get('k1')!;
    s.bmdb.tables.requests.set(key, { ...kept, ...first!, key, by });
  }
  const file = await s.get('requests?format=ndjson&limit=3');
  const keys = file.text.trim().split('\n');
  expect(keys.map((line) => (JSON.parse(line) as { key: string }).key)).toEqual(
    many.toReversed().concat('k1'),
  );
  const his = await s.get('requests?format=ndjson&by=db:bob@host');
  expect(JSON.parse(his.text)).toMatchObject({ key: 'm0007' });
  expect((await s.get('requests?format=ndjson&by=db:eve@host')).text).toBe('');
  const lines = await s.get('requests', { accept: 'application/x-ndjson' });
  expect(lines.headers['content-type']).toBe('application/x-ndjson');
});

/** The least role that may make the request, written by hand. */
const MATRIX: Readonly<Record<'operator' | 'admin', readonly string[]>> = {
  operator: [
    ...['freeze', 'thaw', 'hold 1 {kind: preserve}', 'unhold 1 {kind: preserve}', 'quarantine 1'],
    ...['release 1', 'note 1 {text: seen}', 'label 1 {set: rack=b4}', 'clear-backoff 1'],
    ...['restart-agent 1', 'reboot 1', 'cancel-install 1', 'withdraw 1'],
    'clear-provider {provider: metal, hold: quota}',
  ],
  admin: [
    ...['reinstall 1', 'deprovision 1', 'release 1 {forgetHostKey: true}'],
    `install 1 {image: {url: "https://images.example/a", sha256: ${'"0"'.replace('0', '0'.repeat(64))}, rootDevice: {name: sda}}}`,
    'hold {kind: preserve, selector: {all: true}, expectCount: 51}',
  ],
};
const ROLES: readonly Role[] = ['viewer', 'checker', 'operator', 'admin'];

describe('V26: requests permitted to each role', () => {
  const rows = Object.entries(MATRIX).flatMap(([least, lines]) =>
    lines.flatMap((line) => ROLES.map((role) => ({ role, least: least as Role, line }))),
  );
  test.each(rows)('$line by $role (from $least on)', async ({ role, least, line }) => {
    await fleetOf(51);
    s.asker = person({ role });
    const may = ROLES.indexOf(role) >= ROLES.indexOf(least);
    expect((await asked(s, `${line} dry`)).status).toBe(may ? 200 : 403);
    expect((await asked(s, line)).status).toBe(may ? 202 : 403);
    expect((await s.keys()).length > 0).toBe(may);
  });
});

test('V27: refuses an operator 51 machines, and says why', async () => {
  await fleetOf(51);
  s.asker = person({ role: 'operator', name: 'token:op' });
  const slots = Array.from({ length: 51 }, (_, at) => slotName(at + 1));
  const many = await s.ask({ verb: 'clear-backoff', reason, slots, expectCount: 51 });
  expect(many.status).toBe(403);
  expect(many.body['detail']).toContain('more than 50 machines at once needs the role admin');
  const fifty = { verb: 'clear-backoff', reason, slots: slots.slice(1), expectCount: 50 };
  expect((await s.ask(fifty)).status).toBe(202);
});
