import { parse } from 'yaml';
import { expect, test } from 'vitest';
import { secretsIn } from '../../../../src/adapters/provider/latitude/api.ts';
import {
  cloudConfigOf,
  NOTHING_TO_RUN,
  claimOf,
  readRecord,
  writeRecord,
  type Mark,
} from '../../../../src/adapters/provider/latitude/records.ts';

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

test('a record reads as it was written', () => {
  expect(readRecord(written())).toEqual(MARK);
  expect(readRecord(writeRecord(MARK, NOTHING_TO_RUN))).toEqual({ ...MARK, hasScript: false });
});

test('its description says whose machine it is, and is short', () => {
  expect(written().description).toBe(`shepherd ${SET} shep-ash-abcdefgh ${WITNESS}`);
  const longest = { ...MARK, hostname: 'h'.repeat(29) };
  expect(written(longest).description.length).toBeLessThanOrEqual(106);
});

test('its content is a cloud-config whose second line is the mark', () => {
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
  // The mode is a text: as a number it would be another one.
  expect(rest.join('\n')).toMatch(/permissions: ["']0700["']/);
});

test('without a script nothing of it is left but the two lines', () => {
  const [, , ...rest] = textOf(writeRecord(MARK, NOTHING_TO_RUN)).split('\n');
  expect(rest).toEqual(['{}', '']);
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
])('vector 28: %s is no mark', (_, change) => {
  expect(readRecord({ ...written(), ...change })).toBeNull();
});

test('a description claims a machine whatever the content holds, in lower case', () => {
  const claim = { set: SET, hostname: 'shep-ash-abcdefgh', witness: WITNESS };
  expect(claimOf(`shepherd ${SET} SHEP-ASH-ABCDEFGH ${WITNESS}`)).toEqual(claim);
  expect(claimOf('shepherd of my own')).toBeNull();
  expect(claimOf(undefined)).toBeNull();
});

test('what is secret in a body: the script in every form in which it is sent', () => {
  const { content } = written();
  const found = secretsIn({ data: { type: 'user_data', attributes: { content } } });
  expect(found).toEqual([content, contentOf(SCRIPT), ...SCRIPT.trim().split('\n')]);
  expect(secretsIn({ data: { attributes: {} } })).toEqual([]);
  expect(secretsIn(undefined)).toEqual([]);
});
