import { expect, test } from 'vitest';
import { fingerprintOf, parseAddress } from '../../../src/adapters/ssh/port.ts';
import { Malformed } from '../../../src/domain/errors.ts';
import { testRows } from '../../support/rows.ts';

testRows([
  ['192.0.2.1', '192.0.2.1', 22],
  ['192.0.2.1:2222', '192.0.2.1', 2222],
  ['rack-7.example', 'rack-7.example', 22],
  ['2001:db8::1', '2001:db8::1', 22],
  ['[2001:db8::1]', '2001:db8::1', 22],
  ['[2001:db8::1]:2222', '2001:db8::1', 2222],
])('reads %s as host %s, port %i', (address, host, port) => {
  expect(parseAddress(address, 22)).toEqual({ host, port });
});

testRows(['192.0.2.1:abc', '192.0.2.1:99999', '192.0.2.1:0', '192.0.2.1:', '[2001:db8::1]:0'])(
  'refuses %s, which has no valid port, by its name',
  (address) => {
    expect(() => parseAddress(address, 22)).toThrow(Malformed);
    expect(() => parseAddress(address, 22)).toThrow(address);
  },
);

// The empty text, whose SHA-256 is well known.
test('computes the fingerprint of ssh-keygen: base64 of the SHA-256, without padding', () => {
  const empty = 'SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU';
  expect(fingerprintOf(Buffer.alloc(0))).toBe(empty);
  expect(fingerprintOf('')).toBe(empty);
});
