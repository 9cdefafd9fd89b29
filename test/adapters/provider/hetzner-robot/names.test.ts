import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  classifyName,
  freeName,
  leavingName,
  machineIdOf,
  ourName,
  serverOfId,
  serverOfSlot,
  witnessOfText,
  witnessText,
} from '../../../../src/adapters/provider/hetzner-robot/mapping.ts';

const WITNESS = '0b6e0000-1234-4abc-8def-0123456789ab';
const PREFIXES = { namePrefix: 'shep-prod-', freePrefix: 'free-' };

test('a witness is 26 digits of base32, and comes back', () => {
  expect(witnessText(WITNESS)).toMatch(/^[a-z2-7]{26}$/);
  fc.assert(
    fc.property(fc.uuid(), (uuid) => {
      expect(witnessOfText(witnessText(uuid))).toBe(uuid);
    }),
  );
});

test('its text is that of RFC 4648, in small letters', () => {
  expect(witnessText('00000000-0000-0000-0000-000000000000')).toBe('a'.repeat(26));
  expect(witnessText('ffffffff-ffff-ffff-ffff-ffffffffffff')).toBe(`${'7'.repeat(25)}4`);
  expect(witnessText('666f6f62-6172-6162-6364-656667686970')).toBe('mzxw6ytbojqwey3emvtgo2djoa');
});

test('what is no witness is none', () => {
  for (const text of ['', 'a'.repeat(25), 'a'.repeat(27), `${'a'.repeat(25)}b`, 'A'.repeat(26)]) {
    expect(witnessOfText(text)).toBeNull();
  }
  expect(() => witnessText('not-a-uuid')).toThrow('no UUID');
});

test('vector 2: one is free, one is ours, one is neither', () => {
  const names = ['free-a', ourName(PREFIXES, WITNESS), 'mail1', leavingName(PREFIXES, 321)];
  expect(names.map((name) => classifyName(name, PREFIXES))).toEqual([
    { kind: 'free' },
    { kind: 'ours', witness: WITNESS },
    { kind: 'other' },
    { kind: 'leaving' },
  ]);
  expect(classifyName('shep-prod-old', PREFIXES)).toEqual({ kind: 'other' });
});

test('the longest name has 47 characters of [a-z0-9-]', () => {
  const longest = { namePrefix: `${'p'.repeat(20)}-`, freePrefix: `${'f'.repeat(20)}-` };
  expect(ourName(longest, WITNESS)).toMatch(/^[a-z0-9-]{47}$/);
  expect(leavingName(longest, 999_999_999).length).toBeLessThanOrEqual(47);
  expect(freeName(longest, 321)).toBe(`${longest.freePrefix}321`);
});

test('an id is the server and the beginning of the witness', () => {
  const id = machineIdOf(321, WITNESS);
  expect(id).toBe(`321-${witnessText(WITNESS).slice(0, 8)}`);
  expect(serverOfId(id)).toBe(321);
  for (const other of ['321', '0-aaaaaaaa', '321-aaaa', '321-aaaaaaaa-x', 'x']) {
    expect(serverOfId(other)).toBeNull();
  }
  expect([serverOfSlot('321'), serverOfSlot('0321'), serverOfSlot('x')]).toEqual([321, null, null]);
});
