import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { secretsIn } from '../../../../src/adapters/provider/latitude/api.ts';
import {
  cloudConfigOf,
  NOTHING_TO_RUN,
  claimOf,
  readRecord,
  writeRecord,
  bodyIn,
  type Mark,
} from '../../../../src/adapters/provider/latitude/records.ts';
import type { FleetCreateRequest, FleetProvider } from '../../../../src/adapters/provider/port.ts';
import {
  HOUR_MS,
  live,
  nameOf,
  OTHER_SET,
  startStand,
  startWithMachine,
  type LatitudeStand,
} from './stand.ts';

const SET = 'shep0-ci000-000000000000000';
const WITNESS = '0b6e1111-1111-4111-8111-000000000001';
const MARK: Mark = {
  set: SET,
  hostname: 'shep-ash-abcdefgh',
  witness: WITNESS,
  tags: { 'shepherd-InstanceSetID': SET, 'shepherd-op': WITNESS, owner: 'Zoë' },
  t: 1_700_000_000_123,
  slot: 'c3-small-x86/ASH/1',
  hasScript: true,
};
const SCRIPT = '#!/bin/sh\nprintf %s the-secret > /var/lib/shepherd/instance-secret\n';
const written = (mark = MARK) => writeRecord(mark, cloudConfigOf(SCRIPT));
const textOf = ({ content }: { readonly content: string }) =>
  Buffer.from(content, 'base64').toString();
const contentOf = (text: string) => Buffer.from(text).toString('base64');

test('reads a record as it was written', () => {
  expect(readRecord(written())).toEqual(MARK);
  expect(readRecord(writeRecord(MARK, NOTHING_TO_RUN))).toEqual({ ...MARK, hasScript: false });
});

test('names the owner of the machine in a short description', () => {
  expect(written().description).toBe(`shepherd ${SET} shep-ash-abcdefgh ${WITNESS}`);
  const longest = { ...MARK, hostname: 'h'.repeat(29) };
  expect(written(longest).description.length).toBeLessThanOrEqual(106);
});

test('writes a cloud-config whose second line is the mark', () => {
  const [head, note, ...rest] = textOf(written()).split('\n');
  expect([head, note]).toEqual(['#cloud-config', expect.stringMatching(/^# shepherd [\w-]+$/)]);
  const json = Buffer.from(note!.slice('# shepherd '.length), 'base64url').toString();
  expect(JSON.parse(json)).toEqual({ tags: MARK.tags, t: MARK.t, v: 1, slot: MARK.slot });
  const path = '/root/.shepherd-first-boot';
  const file = { path, encoding: 'b64', owner: 'root:root', permissions: '0700' };
  expect(parse(rest.join('\n'))).toEqual({
    write_files: [{ ...file, content: contentOf(SCRIPT) }],
    runcmd: [
      ['/bin/sh', path],
      ['rm', '-f', path],
    ],
  });
  // The mode is a text: as a number it would differ.
  expect(rest.join('\n')).toMatch(/permissions: ["']0700["']/);
});

const DESCRIPTION = written().description;
const [HEAD, NOTE] = textOf(written()).split('\n') as [string, string];
test.each([
  ['another set', { description: DESCRIPTION.replace(SET, 'other-00000-000000000000000') }],
  ['another witness', { description: DESCRIPTION.replace(WITNESS, 'x') }],
  ['no description of ours', { description: 'my nginx' }],
  ['no description', { description: undefined }],
  ['no content', { content: undefined }],
  ['an empty content', { content: '' }],
  ['no cloud-config', { content: contentOf(`#!/bin/sh\n${NOTE}\n`) }],
  ['no note', { content: contentOf(`${HEAD}\nruncmd: []\n`) }],
  ['a note that is no JSON', { content: contentOf(`${HEAD}\n# shepherd e30x!\n`) }],
  ['a note of another form', { content: contentOf(`${HEAD}\n# shepherd e30\n`) }],
  ['a note that was cut', { content: contentOf(`${HEAD}\n${NOTE.slice(0, -9)}\n`) }],
  ['too much of it', { content: contentOf(`${HEAD}\n${NOTE}\n${'#'.repeat(80_000)}`) }],
])('vector 28: does not accept %s as a mark', (_, change) => {
  expect(readRecord({ ...written(), ...change })).toBeNull();
});

test('claims a machine by its lower-case description, for any content', () => {
  const claim = { set: SET, hostname: 'shep-ash-abcdefgh', witness: WITNESS };
  expect(claimOf(`shepherd ${SET} SHEP-ASH-ABCDEFGH ${WITNESS}`)).toEqual(claim);
  expect(claimOf('shepherd of my own')).toBeNull();
  expect(claimOf(undefined)).toBeNull();
});

test('finds the secrets of a body: the script in every form in which it is sent', () => {
  const { content } = written();
  const found = secretsIn({ data: { type: 'user_data', attributes: { content } } });
  expect(found).toEqual([content, contentOf(SCRIPT), ...SCRIPT.trim().split('\n')]);
  expect(secretsIn({ data: { attributes: {} } })).toEqual([]);
  expect(secretsIn(undefined)).toEqual([]);
});

/** The commands that the first record makes a machine run. */
async function scriptIn(stand: LatitudeStand): Promise<string | null> {
  const [record] = stand.fake.userData();
  const [shown] = await stand.api('GET', `/user_data/${record!.id}`);
  return bodyIn(shown!.attributes['content']);
}

test('vector 27: removes the script after two hours, keeps the tags, and changes nothing in a dry run', async () => {
  const { stand, provider, read } = await startWithMachine();
  const { tags } = await read();
  expect(await scriptIn(stand)).toContain('runcmd');
  expect(await stand.sweep(provider)).toEqual([]);
  await stand.wait(2 * HOUR_MS);
  const [record] = stand.fake.userData();
  const found = [{ kind: 'first-boot-script', id: record!.id }];
  expect(await stand.sweep(provider, true)).toEqual(found);
  expect(await scriptIn(stand)).toContain('runcmd');
  expect(await stand.sweep(provider)).toEqual(found);
  expect(await scriptIn(stand)).toBe('{}\n');
  expect((await read()).tags).toEqual(tags);
  expect(await stand.sweep(provider)).toEqual([]);
});

test('vector 27: removes the script during listings and tag writes, without a request', async () => {
  const { stand, provider, reinstall, id } = await startWithMachine();
  await stand.machines(provider);
  await stand.wait(1_000);
  expect(await scriptIn(stand)).toContain('runcmd');
  await stand.wait(HOUR_MS);
  await stand.machines(provider);
  await stand.wait(1_000);
  expect(await scriptIn(stand)).toBe('{}\n');

  await stand.run(reinstall());
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'run' }, live));
  expect(await scriptIn(stand)).toContain('runcmd');
  await stand.wait(2 * HOUR_MS);
  await stand.run(provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live));
  expect(await scriptIn(stand)).toBe('{}\n');
});

test('keeps the script of a machine that has not come up', async () => {
  const stand = await startStand();
  stand.fake.addFault({ effect: { type: 'deployFails' } });
  const provider = stand.fleet();
  await stand.made(provider);
  await stand.wait(2 * HOUR_MS);
  expect(await stand.sweep(provider)).toEqual([]);
});

test('removes our records without a server after an hour, and keeps those of another set', async () => {
  const { stand, provider, giveBack } = await startWithMachine();
  await stand.claim(OTHER_SET, nameOf(2));
  await stand.write({ description: 'my own', content: 'eA==' });
  await stand.wait(HOUR_MS);
  await giveBack();
  const [ours] = stand.fake.userData();
  const removed = [{ kind: 'user-data', id: ours!.id }];
  expect(await stand.sweep(provider, true)).toEqual(removed);
  expect(stand.fake.userData()).toHaveLength(3);
  expect(await stand.sweep(provider)).toEqual(removed);
  expect(stand.fake.userData().map(({ description }) => description)).toEqual([
    expect.stringContaining(OTHER_SET),
    'my own',
  ]);
});

test('removes nothing after a listing with gaps', async () => {
  const { stand, provider, giveBack } = await startWithMachine();
  await stand.wait(HOUR_MS);
  await giveBack();
  stand.fake.addFault({
    match: { method: 'GET', route: '/servers' },
    effect: { type: 'pages', does: 'drifting' },
  });
  expect(await stand.sweep(provider)).toEqual([]);
  expect(stand.fake.userData()).toHaveLength(1);
});

const SITE_SECRET = 'a-secret-line-of-the-site-4711';
const COMMENT = 'somebody@a-private-place';

/** Text that must appear nowhere. */
async function secretsOf(stand: LatitudeStand): Promise<string[]> {
  const scripts = (await stand.api('GET', '/user_data')).flatMap(({ attributes }) => {
    const content = attributes['content']!;
    const text = Buffer.from(content, 'base64').toString();
    const script = /content: (\S+)/.exec(text)?.[1] ?? '';
    const plain = Buffer.from(script, 'base64').toString();
    return [content, script, /printf %s (\w+)/.exec(plain)?.[1] ?? ''];
  });
  return [stand.fake.token, SITE_SECRET, COMMENT, ...scripts].filter((text) => text !== '');
}

test.each<
  [string, (provider: FleetProvider, id: string, order: FleetCreateRequest) => Promise<unknown>]
>([
  [
    'PATCH /user_data/{id}',
    (provider, id) => provider.setTags(id, { 'shepherd-IdleBehavior': 'hold' }, live),
  ],
  ['POST /user_data', (provider, id) => provider.reinstallMachine(id, live)],
  ['POST /servers/{id}/reinstall', (provider, id) => provider.reinstallMachine(id, live)],
  ['DELETE /servers/{id}', (provider, id) => provider.deprovisionMachine(id, live)],
  ['POST /servers', (provider, _, order) => provider.createMachine(order, live)],
])(
  'vector 32: reveals no secret in errors or log when %s fails and echoes everything',
  async (line, act) => {
    const stand = await startStand();
    const provider = stand.fleet({ fleet: { initCommand: `echo ${SITE_SECRET}` } });
    const { id } = await stand.made(provider);
    const order = await stand.orderFor(provider, { slot: 2 });
    const secrets = await secretsOf(stand);
    expect(secrets.length).toBeGreaterThanOrEqual(6);
    // A reply that repeats the whole request, and more.
    const sent = secrets.filter((secret) => secret !== COMMENT).join(' and ');
    const body = {
      errors: [{ code: 'INVALID', detail: `Bearer ${stand.fake.token} sent ${sent}` }],
    };
    const [method = '', route = ''] = line.split(' ');
    stand.fake.addFault({ match: { method, route }, effect: { type: 'status', code: 422, body } });
    const failed: unknown = await stand
      .run(act(provider, id!, order))
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(Error);
    const shown = `${inspect(failed, { depth: 20 })} ${inspect(stand.log.lines, { depth: 20 })}`;
    for (const secret of secrets) expect(shown.includes(secret), secret).toBe(false);
    expect(stand.log.lines.length).toBeGreaterThan(5);
  },
);
