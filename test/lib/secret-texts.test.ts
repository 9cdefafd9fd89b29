import { expect, test } from 'vitest';
import { withoutSecrets } from '../../src/lib/secret-texts.ts';

const BEGIN = '-----BEGIN OPENSSH PRIVATE KEY-----';
const key = (end = '-----END OPENSSH PRIVATE KEY-----') => `${BEGIN}\nb3Blbn\nNzaC1r\n${end}`;

test.each([
  ['a key', `a ${key()} b`, 'a [secret] b'],
  ['a key whose end was cut off', `a ${key('')}`, 'a [secret]'],
  ['a begin without an end before a key', `${BEGIN} ${key()}`, '[secret][secret]'],
  [
    'an option of the kernel',
    'ro rd.iscsi.password=s3 quiet',
    'ro rd.iscsi.password=[secret] quiet',
  ],
  ['an option of an address', 'http://h/?a=1&token=s3&b=2', 'http://h/?a=1&token=[secret]&b=2'],
])('removes %s', (_, text, expected) => {
  expect(withoutSecrets(text)).toBe(expected);
});

test('removes as many begins as fit into an output, in a time that grows with its length', () => {
  const count = 38_000;
  expect(withoutSecrets(BEGIN.repeat(count))).toBe('[secret]'.repeat(count));
});
