import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { takeoverInitCodec, takeoverResponseCodec } from '../../src/wire/codec.ts';
import type { TakeoverInit } from '../../src/wire/codec.ts';
import { readTakeoverResponse } from '../../src/wire/takeover.ts';
import { takeoverInits } from './arbitraries.ts';
import { testRows } from '../support/rows.ts';

const sent: TakeoverInit = {
  machineId: 'cd3b4a8e-7f5e-4d3c-9a57-0f6dfe6c3a11',
  bmaasEndpoint: 'shepherd.lan:8080',
  caCertificate: randomBytes(300),
};
const key = randomBytes(32);
const success = (initMessage: TakeoverInit, answerKey: Uint8Array = key) =>
  takeoverResponseCodec.encode({ success: { initMessage, key: answerKey, warning: ['w'] } });
const malformed = (message: RegExp) => ({
  kind: 'malformed',
  message: expect.stringMatching(message) as string,
});

describe('the takeover response', () => {
  test('accepts the right echo and a key of 32 bytes', () => {
    expect(readTakeoverResponse(sent, success(sent))).toEqual({
      kind: 'started',
      publicKey: new Uint8Array(key),
      warnings: ['w'],
    });
  });

  test('accepts any message as its own echo', () => {
    fc.assert(
      fc.property(takeoverInits, (init) => {
        expect(readTakeoverResponse(init, success(init)).kind).toBe('started');
      }),
    );
  });

  test('accepts another encoding of the same message', () => {
    const [id, endpoint, ca] = [
      { machineId: sent.machineId! },
      { bmaasEndpoint: sent.bmaasEndpoint! },
      { caCertificate: sent.caCertificate! },
    ].map((part) => Buffer.from(takeoverInitCodec.encode(part)));
    const reversed = Buffer.concat([ca!, endpoint!, id!]);
    expect(readTakeoverResponse(sent, rawSuccess(reversed)).kind).toBe('started');
  });

  test('refuses an unknown field in the echo', () => {
    const echo = Buffer.concat([takeoverInitCodec.encode(sent), Buffer.from('9a060178', 'hex')]);
    expect(readTakeoverResponse(sent, rawSuccess(echo))).toEqual(malformed(/echoed/));
  });

  testRows([
    ['another machine', { ...sent, machineId: 'x' }],
    ['another endpoint', { ...sent, bmaasEndpoint: 'evil:1' }],
    ['another authority', { ...sent, caCertificate: randomBytes(300) }],
    ['no authority', { machineId: sent.machineId!, bmaasEndpoint: sent.bmaasEndpoint! }],
  ])('refuses %s in the echo', (_name, echo) => {
    expect(readTakeoverResponse(sent, success(echo))).toEqual(malformed(/echoed/));
  });

  testRows([0, 31, 33, 64])('refuses a key of %i bytes', (length) => {
    const answer = success(sent, randomBytes(length));
    expect(readTakeoverResponse(sent, answer)).toEqual(malformed(/key has \d+ bytes/));
  });

  test('reports an error as a refusal with its message', () => {
    const answer = takeoverResponseCodec.encode({ error: { message: 'no kernel' } });
    expect(readTakeoverResponse(sent, answer)).toEqual({ kind: 'refused', message: 'no kernel' });
  });

  test('reports an empty, invalid or unknown result as malformed', () => {
    for (const bytes of ['', 'ffff', '1a0161']) {
      const verdict = readTakeoverResponse(sent, Buffer.from(bytes, 'hex'));
      expect(verdict.kind).toBe('malformed');
    }
  });
});

/** A success around an echo given as bytes. All lengths here fit in two bytes. */
function rawSuccess(echo: Uint8Array): Uint8Array {
  const field = (number: number, value: Uint8Array) =>
    Buffer.concat([
      Buffer.from([(number << 3) | 2, (value.length & 0x7f) | 0x80, value.length >> 7]),
      value,
    ]);
  return field(1, Buffer.concat([field(1, echo), field(2, key)]));
}
