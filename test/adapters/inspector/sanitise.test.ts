import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createActor, createMachine } from 'xstate';
import { sanitise } from '../../../src/adapters/inspector/sanitise.ts';
import { testRows } from '../../support/rows.ts';

describe('the sanitiser', () => {
  testRows([
    [{ apiToken: 'x', PASSWORD: 'x', hostKey: 'x', privatePart: 'x', clientSecret: { a: 1 } }],
    [{ Authorization: 'Bearer x', cookies: ['x'], userdata: 'x', credentials: 5 }],
  ])('hides by name: %j', (value) => {
    expect(new Set(Object.values(sanitise(value) as object))).toEqual(new Set(['[hidden]']));
  });

  test('shows that a secret is absent', () => {
    expect(sanitise({ token: null })).toEqual({ token: null });
  });

  test('hides key material wherever it is', () => {
    const pem = `text\n-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA`;
    expect(sanitise({ note: [pem] })).toEqual({ note: ['[hidden]'] });
  });

  test('names bytes, writes bigints, dates and errors as text', () => {
    const cause = new Error('inner');
    expect(
      sanitise({
        buffer: Buffer.from('abc'),
        array: new Uint8Array(2),
        raw: new ArrayBuffer(7),
        big: 2n ** 70n,
        at: new Date(0),
        error: new Error('outer', { cause }),
        call: () => 1,
      }),
    ).toEqual({
      buffer: '[3 bytes]',
      array: '[2 bytes]',
      raw: '[7 bytes]',
      big: '1180591620717411303424',
      at: '1970-01-01T00:00:00.000Z',
      error: 'outer: inner',
      call: '[function]',
    });
  });

  test('looks into maps and sets', () => {
    const value = {
      map: new Map<unknown, unknown>([
        ['token', 1],
        [2n, 'two'],
      ]),
      set: new Set([1n]),
    };
    expect(sanitise(value)).toEqual({ map: { token: '[hidden]', '2': 'two' }, set: ['1'] });
  });

  test('does not descend into actors', () => {
    const actor = createActor(createMachine({}));
    expect(sanitise({ actor })).toEqual({ actor: `[actor ${actor.sessionId}]` });
  });

  test('survives circular values and getters that throw', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(JSON.stringify(sanitise(circle))).toContain('too deep');
    const hostile = Object.defineProperty({}, 'x', {
      enumerable: true,
      get: () => {
        throw new Error('no');
      },
    });
    expect(sanitise(hostile)).toBe('[unreadable: no]');
  });

  test('turns any value into JSON of limited size', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true }), (value) => {
        expect(() => JSON.stringify(sanitise(value))).not.toThrow();
      }),
    );
    const huge = Array.from({ length: 500 }, () =>
      Array.from({ length: 500 }, () => 'y'.repeat(9)),
    );
    expect(JSON.stringify(sanitise(huge)).length).toBeLessThan(300_000);
    expect(String(sanitise('z'.repeat(100_000))).length).toBeLessThan(2_100);
  });
});
